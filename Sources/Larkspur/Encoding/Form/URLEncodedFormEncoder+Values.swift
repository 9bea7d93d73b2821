extension URLEncodedFormEncoder {
    /// How Booleans are written.
    public enum BoolEncoding: Sendable, Hashable {
        /// `1` and `0`
        case numeric
        /// `true` and `false`
        case literal
    }

    /// How data is written.
    public enum DataEncoding: Sendable {
        /// In Base64, of which `+`, `/` and `=` are percent-encoded like everywhere.
        case base64
        /// What `Data` encodes by itself: an array of bytes.
        case deferredToData
        /// As a closure has it.
        case custom(@Sendable (Data) throws -> String)
    }

    /// How dates are written.
    public enum DateEncoding: Sendable {
        /// What `Date` encodes by itself: seconds since 2001.
        case deferredToDate
        /// Seconds since 1970, with a fraction only if there is one.
        case secondsSince1970
        /// Whole milliseconds since 1970.
        case millisecondsSince1970
        /// `2001-09-09T01:46:40Z`: whole seconds, in UTC, of the years 1583 to 9999.
        case iso8601
        /// The formatter is shared by all requests: do not change it afterwards.
        case formatted(DateFormatter)
        /// As a closure has it.
        case custom(@Sendable (Date) throws -> String)
    }

    /// What becomes of nil: in members, dictionaries and arrays.
    public enum NilEncoding: Sendable {
        /// Nothing; the elements of an array after it keep their indices.
        case dropKey
        /// `key=`
        case dropValue
        /// `key=null`
        case null
        /// That text; nothing if there is none.
        case custom(@Sendable () -> String?)

        var value: FormNode.Value {
            switch self {
            case .dropKey: .nothing
            case .dropValue: .text("")
            case .null: .text("null")
            case .custom(let encode): encode().map(FormNode.Value.text) ?? .nothing
            }
        }
    }

    /// How a space is written; a plus sign is always `%2B`.
    public enum SpaceEncoding: Sendable, Hashable {
        /// `%20`
        case percentEscaped
        /// `+`
        case plusReplaced
    }

    /// The ASCII characters that stay as they are; of all others, the bytes of their UTF-8 are percent-encoded.
    ///
    /// `&`, `=`, `+`, `%`, `#`, spaces and control characters never stay, for they would change what the form says.
    public struct AllowedCharacters: Sendable, Hashable {
        private static let alphanumerics = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

        /// What RFC 3986 calls unreserved, safe everywhere in a URL: letters, digits and `-._~`.
        public static let unreserved = AllowedCharacters(alphanumerics + "-._~")
        /// The unreserved characters, `/` and `?`, which a query may have by RFC 3986: Alamofire's choice.
        public static let query = unreserved.adding("/?")
        /// What the WHATWG's URL standard keeps in forms: letters, digits and `*-._`.
        public static let webForm = AllowedCharacters(alphanumerics + "*-._")

        /// A bit for each ASCII character.
        private var low: UInt64 = 0
        private var high: UInt64 = 0

        /// The characters of a text that may be allowed at all; the others are passed over.
        public init(_ characters: String) {
            for byte in characters.utf8 where byte > 0x20 && byte < 0x7F && !"&=+%#".utf8.contains(byte) {
                if byte < 64 { low |= 1 << byte } else { high |= 1 << (byte & 63) }
            }
        }

        /// These and further ones: `.unreserved.adding("[]")` for brackets in plain sight.
        public func adding(_ characters: String) -> AllowedCharacters {
            var result = AllowedCharacters(characters)
            result.low |= low
            result.high |= high
            return result
        }

        func contains(_ byte: UInt8) -> Bool {
            byte < 128 && (byte < 64 ? low : high) >> (byte & 63) & 1 == 1
        }
    }
}
