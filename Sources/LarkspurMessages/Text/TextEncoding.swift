/// A character encoding that a response's charset can name.
///
/// Foundation decodes ASCII and the Unicode encodings. The system's iconv decodes other encodings, because
/// FoundationEssentials does not support them. Bytes that are not text in the encoding are an error; they never become
/// a replacement character.
package struct TextEncoding: Sendable {
    package enum Decoder: Sendable {
        case foundation(String.Encoding)
        /// Windows-1252. The table `western` decodes it without iconv.
        case western
        /// An encoding with one byte per character. `iconv` is the encoding's name in iconv. `exceptions` has the
        /// characters of the WHATWG Encoding Standard for bytes that iconv decodes differently.
        case singleByte(iconv: String, exceptions: [UInt8: Unicode.Scalar] = [:])
        /// An encoding with one or more bytes per character. `iconv` lists the encoding's possible names in iconv. They
        /// are tried in order until iconv can decode the whole text.
        case multiByte(iconv: [String])
    }

    package enum Failure: Error {
        /// The bytes are not text in the encoding.
        case invalid
        /// The system has no decoder for the encoding.
        case unavailable
    }

    package static let utf8 = TextEncoding(name: "UTF-8", decoder: .foundation(.utf8))

    package let name: String
    package let decoder: Decoder

    package init(name: String, decoder: Decoder) { (self.name, self.decoder) = (name, decoder) }

    /// Returns the text of the bytes. As in browsers, a byte order mark of UTF-8 at the start overrides the encoding,
    /// unless that is ASCII or a Unicode encoding.
    package func text(of data: Data) throws(Failure) -> String {
        switch decoder {
        case .foundation(let encoding): try Self.text(of: data, encoding)
        case _ where data.starts(with: ByteOrderMark.utf8): try Self.text(of: data, .utf8)
        case .western: try Self.text(of: data, by: Self.western)
        case .singleByte(let name, let exceptions): try Self.text(of: data, by: Self.table(of: name, exceptions))
        case .multiByte(let names): try Self.text(of: data, firstOf: names)
        }
    }

    private static func text(of data: Data, _ encoding: String.Encoding) throws(Failure) -> String {
        guard let text = String(data: data, encoding: encoding) else { throw .invalid }
        return text
    }

    // MARK: Single bytes

    /// The character of each byte from 0x80 on, in UTF-8; empty for a byte without a character.
    private typealias Table = [[UInt8]]

    private static let western: Table = {
        let first: [UInt32] = [
            0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152,
            0x008D,
            0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161,
            0x203A,
            0x0153, 0x009D, 0x017E, 0x0178,
        ]
        return (first + Array(0xA0...0xFF)).map { Unicode.Scalar($0).map(bytes) ?? [] }
    }()

    /// Returns the table of an encoding. Decodes each byte separately: in a longer text, iconv may combine a letter and
    /// the mark after it into one character, but the WHATWG standard keeps two characters.
    private static func table(of name: String, _ exceptions: [UInt8: Unicode.Scalar]) throws(Failure) -> Table {
        guard let decoder = IconvDecoder(name) else { throw .unavailable }
        return (0x80...0xFF).map { (byte: UInt8) in
            if let exception = exceptions[byte] { return bytes(of: exception) }
            var text: [UInt8] = []
            if withUnsafeBytes(of: byte, { decoder.decode($0, into: &text) }) { return text }
            // The WHATWG standard maps unassigned bytes below 0xA0 to control characters.
            return byte < 0xA0 ? bytes(of: Unicode.Scalar(byte)) : []
        }
    }

    private static func bytes(of scalar: Unicode.Scalar) -> [UInt8] { Array(String(scalar).utf8) }

    private static func text(of data: Data, by table: Table) throws(Failure) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(data.count + data.count / 4)
        let isWhole = data.withUnsafeBytes { input in
            for byte in input {
                if byte < 0x80 {
                    text.append(byte)
                } else if case let character = table[Int(byte) - 0x80], !character.isEmpty {
                    text.append(contentsOf: character)
                } else {
                    return false
                }
            }
            return true
        }
        guard isWhole else { throw .invalid }
        return String(decoding: text, as: UTF8.self)
    }

    // MARK: Multiple bytes

    private static func text(of data: Data, firstOf names: [String]) throws(Failure) -> String {
        var failure = Failure.unavailable
        for name in names {
            guard let decoder = IconvDecoder(name) else { continue }
            var text: [UInt8] = []
            text.reserveCapacity(data.count + data.count / 2)
            if data.withUnsafeBytes({ decoder.decode($0, into: &text) }) {
                return String(decoding: text, as: UTF8.self)
            }
            failure = .invalid
        }
        throw failure
    }
}
