import Larkspur

/// A writer of JSON that is safe inside an element of HTML: no byte of it ends the element or begins another.
struct WaterfallJSON {
    private(set) var bytes: [UInt8] = []
    /// Whether the next member or element is the first of its object or list.
    private var isFirst = true

    mutating func raw(_ text: String) {
        bytes += text.utf8
        isFirst = true
    }

    /// Adds a document, and begins a line.
    mutating func line(_ document: WaterfallJSON) {
        bytes += document.bytes
        raw("\n")
    }

    // MARK: Structure

    mutating func object(_ members: (inout WaterfallJSON) -> Void) {
        separate()
        enclose("{", "}", members)
    }

    mutating func object(_ name: StaticString, _ members: (inout WaterfallJSON) -> Void) {
        key(name)
        enclose("{", "}", members)
    }

    mutating func list<Element>(
        _ elements: some Sequence<Element>, _ write: (inout WaterfallJSON, Element) -> Void
    ) {
        separate()
        enclose("[", "]") { list in for element in elements { write(&list, element) } }
    }

    mutating func list<Element>(
        _ name: StaticString, _ elements: some Sequence<Element>, _ write: (inout WaterfallJSON, Element) -> Void
    ) {
        key(name)
        enclose("[", "]") { list in for element in elements { write(&list, element) } }
    }

    private mutating func enclose(_ start: String, _ end: String, _ content: (inout WaterfallJSON) -> Void) {
        raw(start)
        content(&self)
        bytes += end.utf8
        isFirst = false
    }

    private mutating func separate() {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
    }

    private mutating func key(_ name: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        name.withUTF8Buffer { bytes += $0 }
        bytes += "\":".utf8
        isFirst = true
    }

    // MARK: Values

    mutating func member(_ name: StaticString, _ text: String?, limit: Int) {
        guard let text else { return }
        key(name)
        string(text, limit: limit)
    }

    mutating func member(_ name: StaticString, _ number: Double) {
        key(name)
        self.number(number)
    }

    /// Writes a number of at most three decimal places.
    mutating func number(_ number: Double) {
        separate()
        let thousandths = Int64(((number.isFinite ? min(max(number, -9e15), 9e15) : 0) * 1_000).rounded())
        let (whole, rest) = thousandths.magnitude.quotientAndRemainder(dividingBy: 1_000)
        bytes += "\(thousandths < 0 ? "-" : "")\(whole)".utf8
        if rest != 0 { bytes += ".\(String(rest + 1_000).dropFirst())".utf8 }
    }

    /// Writes a text of at most so many bytes of UTF-8. A longer one is cut, and ends with an ellipsis.
    mutating func string(_ text: String, limit: Int) {
        separate()
        guard text.utf8.count > limit else { return quote(text.utf8) }
        quote(Array(Self.wholeCharacters(of: Data(text.utf8.prefix(limit)))) + "…".utf8)
    }

    /// Writes the member `text`, or `hex` if the bytes are not text.
    mutating func content(_ bytes: Data, isText: Bool) {
        let whole = Self.wholeCharacters(of: bytes)
        if isText, !whole.contains(0), String(data: whole, encoding: .utf8) != nil {
            key("text")
            separate()
            return quote(whole)
        }
        key("hex")
        let digits = Array("0123456789abcdef".utf8)
        separate()
        quote(bytes.prefix(512).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }

    /// Returns the bytes without the incomplete character at their end.
    private static func wholeCharacters(of bytes: Data) -> Data {
        let tail = bytes.suffix(3).reversed()
        for (index, byte) in tail.enumerated() where byte & 0xC0 != 0x80 {
            let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
            return length > index + 1 ? bytes.dropLast(index + 1) : bytes
        }
        return bytes
    }

    private mutating func quote(_ text: some Sequence<UInt8>) {
        let digits = Array("0123456789abcdef".utf8)
        bytes.append(UInt8(ascii: "\""))
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case UInt8(ascii: "\n"): bytes += [UInt8(ascii: "\\"), UInt8(ascii: "n")]
            case ..<0x20, 0x7F, UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "&"):
                bytes += [UInt8(ascii: "\\"), UInt8(ascii: "u"), 0x30, 0x30]
                bytes += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            case 0xA8, 0xA9:
                // The line separators U+2028 and U+2029 end a line in some parsers.
                if bytes.suffix(2) == [0xE2, 0x80] {
                    bytes.removeLast(2)
                    bytes += "\\u202\(byte == 0xA8 ? "8" : "9")".utf8
                } else {
                    bytes.append(byte)
                }
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
