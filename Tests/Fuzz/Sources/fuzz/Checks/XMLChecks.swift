import Foundation
import LarkspurXML

/// Checks that a parsed element can be written, and that parsing the result gives the same element, as a whole and in
/// parts.
func checkXML(_ bytes: [UInt8]) throws {
    for charset in [nil, "ISO-8859-1", "UTF-16"] {
        guard let root = try? XML(data: Data(bytes), charset: charset) else { continue }
        try checkElement(root)
        for element in [root.elements.first, root.elements.last] {
            if let element { try checkElement(element) }
        }
        try checkEvents(bytes, charset)
    }
}

private func checkElement(_ element: XML) throws {
    let text = element.description
    let again = try XML(text: text)
    try require(again.description == text, "what is written is written the same again")
    try require(again.text == element.text && again.name == element.name, "what is written reads the same")
    try require(again.elements == element.elements, "elements read the same")
}

/// Checks that every start has its end, and that only comments follow the last end.
private func checkEvents(_ bytes: [UInt8], _ charset: String?) throws {
    var parser = try XMLEventParser(data: Data(bytes), charset: charset)
    var open: [XML.Name] = []
    var roots = 0
    while let event = try parser.next() {
        switch event {
        case .start(let name, _):
            if open.isEmpty { roots += 1 }
            open.append(name)
        case .end(let name): try require(open.popLast() == name, "an end is that of the innermost element")
        case .text(let text): try require(!open.isEmpty && !text.isEmpty, "text is inside, and not empty")
        default: break
        }
    }
    try require(open.isEmpty && roots == 1, "a document has one outermost element")
    try require(parser.next() == nil, "the parser returns nothing after the end")
}
