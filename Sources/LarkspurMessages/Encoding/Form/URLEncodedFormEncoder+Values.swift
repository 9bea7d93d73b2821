extension URLEncodedFormEncoder {
    /// A format for Booleans.
    public enum BoolEncoding: Sendable, Hashable {
        /// `1` and `0`
        case numeric
        /// `true` and `false`
        case literal
    }

    /// A format for data.
    public enum DataEncoding: Sendable {
        /// Base64, whose characters `+`, `/` and `=` are percent-encoded.
        case base64
        /// The encoding of `Data` itself: an array of bytes.
        case deferredToData
        /// The result of a closure.
        case custom(@Sendable (Data) throws -> String)
    }

    /// A format for dates.
    public enum DateEncoding: Sendable {
        /// The encoding of `Date` itself: seconds since 2001.
        case deferredToDate
        /// Seconds since 1970. The fraction is left out if it is zero.
        case secondsSince1970
        /// Whole milliseconds since 1970.
        case millisecondsSince1970
        /// `2001-09-09T01:46:40Z`: whole seconds in UTC, for the years 1583 to 9999.
        case iso8601
        /// The result of a closure.
        case custom(@Sendable (Date) throws -> String)
    }

    /// A format for nil values of members, dictionaries and arrays.
    public enum NilEncoding: Sendable {
        /// The form contains no pair for the value. Later elements of an array keep their indices.
        case dropKey
        /// `key=`
        case dropValue
        /// `key=null`
        case null
        /// The result of a closure. If the closure returns nil, the form contains no pair for the value.
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

    /// A format for spaces. A plus sign is always written as `%2B`.
    public enum SpaceEncoding: Sendable, Hashable {
        /// `%20`
        case percentEscaped
        /// `+`
        case plusReplaced
    }

    /// The ASCII characters that are not percent-encoded. Other characters are written as their percent-encoded UTF-8
    /// bytes.
    ///
    /// `&`, `=`, `+`, `%`, `#`, spaces and control characters are always encoded, because they would change the meaning
    /// of the form.
    public struct AllowedCharacters: Sendable, Hashable {
        private static let alphanumerics = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

        /// The unreserved characters of RFC 3986, safe everywhere in a URL: letters, digits and `-._~`.
        public static let unreserved = AllowedCharacters(alphanumerics + "-._~")
        /// The unreserved characters, `/` and `?`. RFC 3986 allows all of them in a query, and Alamofire uses the same
        /// set.
        public static let query = unreserved.adding("/?")
        /// The characters that the WHATWG URL standard leaves unchanged in forms: letters, digits and `*-._`.
        public static let webForm = AllowedCharacters(alphanumerics + "*-._")

        /// One bit for each ASCII character: `low` for the first 64 characters, `high` for the others.
        private var low: UInt64 = 0
        private var high: UInt64 = 0

        /// Creates a set of the characters in a text. Characters that must always be encoded are ignored.
        public init(_ characters: String) {
            for byte in characters.utf8 where byte > 0x20 && byte < 0x7F && !"&=+%#".utf8.contains(byte) {
                if byte < 64 { low |= 1 << byte } else { high |= 1 << (byte & 63) }
            }
        }

        /// Returns a set with further characters: `.unreserved.adding("[]")` for unescaped brackets.
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

extension [UInt8] {
    /// Appends the byte unchanged if it is allowed; otherwise appends `%` and two hexadecimal digits.
    mutating func append(_ byte: UInt8, allowing allowed: URLEncodedFormEncoder.AllowedCharacters) {
        if allowed.contains(byte) { append(byte) } else { appendEscaped(byte) }
    }
}
