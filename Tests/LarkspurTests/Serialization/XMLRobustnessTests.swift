import Foundation
import LarkspurXML
import TestSupport
import Testing

@Suite("XML under stress", .limited)
struct XMLRobustnessTests {
    private static let sample = """
        <?xml version="1.0" encoding="UTF-8"?><!DOCTYPE s:e [<!ENTITY a "]>b"><!-- ' -->]>
        <s:e xmlns:s='urn:s' xmlns="urn:d" é="&lt;&#xE9;"><!--c--><b s:x='1'
        y="2"/>t&amp;é漢😀<![CDATA[<&]]]]>]<?p q?><c xmlns=''>\r\n</c></s:e>
        """

    @Test("Every truncated document fails, with an error at its end unless a keyword is cut")
    func truncations() throws {
        let bytes = Array(Self.sample.utf8)
        _ = try XML(data: Data(bytes))
        for count in 0..<bytes.count {
            let beginning = bytes.prefix(count)
            let markup = beginning[(beginning.lastIndex(of: UInt8(ascii: "<")) ?? 0)...]
            let isInsideOfWord =
                markup.starts(with: "<?xml".utf8) || markup.last == UInt8(ascii: "/")
                || ["<!DOCTYPE", "<!--", "<![CDATA["].contains { $0.utf8.starts(with: markup) }
            let isInsideOfCharacter = bytes[count] & 0xC0 == 0x80
            #expect {
                try XML(data: Data(beginning))
            } throws: {
                guard let reason = ($0 as? XMLError)?.reason else { return false }
                return isInsideOfWord || reason == (isInsideOfCharacter ? .malformedEncoding : .unexpectedEnd)
            }
        }
    }

    @Test(
        "No damage to a document makes the parser trap, and what it accepts can be written and read", arguments: 0..<4)
    func mutations(seed: UInt64) throws {
        var generator = SeededRandom(seed: seed &+ 2000)
        let fragments = [
            "<", ">", "/>", "</", "&", "&#", "&#x", ";", "]]>", "<![CDATA[", "<!--", "-->", "<?", "?>", "=", "'", "\"",
            "xmlns:", "xmlns=''", ":", "<!DOCTYPE", "[", "]", "\r", "\u{301}", "é",
        ]
        var accepted = 0
        let count = rounds(150, nightly: 1_500)
        for _ in 0..<count {
            var bytes = Array(Self.sample.utf8)
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let place = Int.random(in: 0..<max(bytes.count, 1), using: &generator)
                switch Int.random(in: 0..<5, using: &generator) {
                case 0 where place < bytes.count: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                case 1 where place < bytes.count: bytes.remove(at: place)
                case 2 where generator.once(in: 4): bytes.removeLast(bytes.count - place)
                case 3: bytes.insert(contentsOf: (fragments.randomElement(using: &generator) ?? "").utf8, at: place)
                default: bytes.insert(contentsOf: bytes[place...].prefix(20), at: place)
                }
            }
            switch Result(catching: { () throws(XMLError) in try XML(data: Data(bytes)) }) {
            case .success(let root):
                #expect(try XML(text: root.description) == root)
                for element in root.elements {
                    let read = try XML(text: element.description)
                    #expect(read.description == element.description && read.name == element.name)
                }
                accepted += 1
            case .failure(let error):
                #expect(error.line >= 1 && error.column >= 1 && error.description.utf8.count < 200)
            }
        }
        #expect(accepted > count / 50)
    }

    @Test("Random bytes never make the parser trap, in any encoding", arguments: [nil, "UTF-8", "ISO-8859-1"])
    func noise(charset: String?) {
        var generator = SeededRandom(seed: 8)
        let alphabet =
            Array("<>/?!-[]&#x;:='\"abxmlns \n\rCDATADOCTYPE".utf8) + [
                0x00, 0x80, 0xBF, 0xC3, 0xA9, 0xED, 0xEF, 0xFE, 0xFF,
            ]
        for _ in 0..<rounds(400, nightly: 4_000) {
            let count = Int.random(in: 0...24, using: &generator)
            let noise = (0..<count).map { _ in alphabet.randomElement(using: &generator) ?? 0 }
            _ = try? XML(data: Data(noise), charset: charset)
            _ = try? XML(data: Data([0x3C, 0x61] + noise), charset: charset)
            _ = try? XML(data: Data([0xFE, 0xFF] + noise))
        }
    }

    @Test("Elements and attributes beyond their limits fail at their beginning")
    func limits() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
        }
        _ = try XML(text: nested(XML.maximumDepth))
        for depth in [XML.maximumDepth + 1, 100_000] {
            #expect { try XML(text: nested(depth)) } throws: {
                ($0 as? XMLError)?.reason == .tooDeep && ($0 as? XMLError)?.column == 3 * XML.maximumDepth + 1
            }
        }
        // Only open elements count, not closed ones.
        let root = try XML(text: "<a>" + String(repeating: "<b><c/></b>", count: 1_000) + "</a>")
        #expect(root.elements.count == 1_000)
        func attributes(_ count: Int) -> String { "<a" + (0..<count).map { " a\($0)=''" }.joined() + "/>" }
        #expect(try XML(text: attributes(XML.maximumAttributes)).attributes.count == XML.maximumAttributes)
        #expect { try XML(text: attributes(XML.maximumAttributes + 1)) } throws: {
            ($0 as? XMLError)?.reason == .tooManyAttributes
        }
    }

    @Test("Declared entities are never expanded, and no external resource is requested")
    func entities() throws {
        let laughs = (1..<10).map { "<!ENTITY l\($0) \"" + String(repeating: "&l\($0 - 1);", count: 10) + "\">" }
            .joined()
        let bomb = "<!DOCTYPE a [<!ENTITY l0 \"ha\">\(laughs)]>"
        #expect(try XML(text: bomb + "<a>x</a>").text == "x")
        let declarations = [
            bomb, "<!DOCTYPE a [<!ENTITY l9 SYSTEM \"file:///etc/hostname\">]>",
            "<!DOCTYPE a SYSTEM \"http://127.0.0.1:1/\">",
            "<!DOCTYPE a [<!ENTITY % p SYSTEM \"file:///etc/hostname\"> %p;]>",
            "<!DOCTYPE a [<!ENTITY lt \"x\"><!ENTITY l9 \"&l9;\">]>",
        ]
        for declaration in declarations {
            for use in ["<a>&l9;</a>", "<a b='&l9;'/>"] {
                #expect { try XML(text: declaration + use) } throws: { ($0 as? XMLError)?.reason == .unknownEntity }
            }
            #expect(try XML(text: declaration + "<a>&lt;</a>").text == "<")
        }
        #expect(try XML(text: "<!DOCTYPE a [<!ATTLIST a b CDATA 'c'>]><a/>").attributes.isEmpty)
    }

    @Test("Names, namespaces and lists of any length are parsed in linear time")
    func longInput() throws {
        let long = String(repeating: "n", count: 100_000)
        // Each would take minutes if every use of a namespace compared its name, …
        let uses = String(repeating: "<p:b p:c='' p:d='' p:e='' p:f=''/>", count: 20_000)
        let namespace = String(repeating: "n", count: 1_000_000)
        let shared = try XML(text: "<p:a xmlns:p='\(namespace)'><d>\(uses)</d></p:a>")
        #expect(shared["d"].elements.count == 20_000)
        #expect(shared["d"].description.utf8.count == uses.utf8.count + 1_000_000 + 18)
        // … or if the prefixes in scope were copied or searched.
        let prefixes = (0..<1_000).map { "xmlns:p\($0)='\($0)'" }.joined(separator: " ")
        let scopes = String(repeating: "<b xmlns:x='y'/>", count: 20_000)
        let scoped = try XML(text: "<a \(prefixes)>\(scopes)</a>")
        #expect(scoped.elements.count == 20_000 && scoped.description.utf8.count > scopes.utf8.count)
        #expect(try XML(text: "<\(long)>\(long)<!--\(long)--></\(long)>").text == long)
        let references = String(repeating: "&#x00000000000000041;&amp;", count: 5_000)
        #expect(try XML(text: "<a b='\(references)'>\(references)</a>").text.utf8.count == 10_000)
        #expect { try XML(text: String(repeating: "<!--", count: 100_000)) } throws: { $0 is XMLError }
        #expect { try XML(text: "<!DOCTYPE a [" + String(repeating: "'<", count: 100_000)) } throws: { $0 is XMLError }
    }

    @Test("A value of the maximum depth can be used on the stack of a small thread")
    func smallStack() async throws {
        let depth = XML.maximumDepth - 1
        let text = String(repeating: "<a b=\"1\">", count: depth) + "<c>x</c>" + String(repeating: "</a>", count: depth)
        let isFine = await withCheckedContinuation { continuation in
            let thread = Thread {
                guard let value = try? XML(text: text), let twin = try? XML(text: text) else {
                    return continuation.resume(returning: false)
                }
                let isSame = value == twin && value.hashValue == twin.hashValue
                continuation.resume(returning: isSame && value.description == text && value.text == "x")
            }
            thread.stackSize = 512 * 1024
            thread.start()
        }
        #expect(isFine)
    }
}
