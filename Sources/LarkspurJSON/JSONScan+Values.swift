extension JSONScan {
    @inline(__always)
    func bool(at index: Int) throws -> Bool {
        switch kind(index) {
        case .yes: return true
        case .no: return false
        default: throw mismatch(Bool.self, index, isNullMissing: false)
        }
    }

    @inline(__always)
    func string(at index: Int) throws -> String {
        guard kind(index).isString else { throw mismatch(String.self, index) }
        return tape.string(index)
    }

    /// Returns a value of any type. Types that JSON decoders treat in their own way come first.
    func value<Value: Decodable>(_ type: Value.Type, at index: Int) throws -> Value {
        if Self.isKnown(type) { return try known(type, index) }
        guard convertsKeys, kind(index) == .object, type is any JSONStringDictionary.Type else {
            return try type.init(from: JSONNodeDecoder(self, index))
        }
        // The same object may be decoded as another type afterwards, or if this fails.
        let isFirst = state.pointee.dictionaries.insert(index).inserted
        defer { if isFirst { state.pointee.dictionaries.remove(index) } }
        return try type.init(from: JSONNodeDecoder(self, index, isDictionary: true))
    }

    private static func isKnown(_ type: Any.Type) -> Bool {
        type == String.self || type == Int.self || type == Double.self || type == Bool.self || type == Date.self
            || type == Data.self || type == URL.self || type == Decimal.self || type == JSON.self
            || type == [String].self || type == [Int].self || type == [Double].self || type == [Bool].self
    }

    private func known<Value: Decodable>(_ type: Value.Type, _ index: Int) throws -> Value {
        if type == String.self { return same(try string(at: index)) }
        if type == Int.self { return same(try integer(Int.self, at: index)) }
        if type == Double.self { return same(try double(at: index)) }
        if type == Bool.self { return same(try bool(at: index)) }
        if type == [String].self { return same(try array(index) { try string(at: $0) }) }
        if type == [Int].self { return same(try array(index) { try integer(Int.self, at: $0) }) }
        if type == [Double].self { return same(try array(index) { try double(at: $0) }) }
        if type == [Bool].self { return same(try array(index) { try bool(at: $0) }) }
        if kind(index) == .null, type != JSON.self { throw mismatch(type, index) }
        if type == Date.self { return same(try date(at: index)) }
        if type == Data.self { return same(try data(at: index)) }
        if type == URL.self { return same(try url(at: index)) }
        if type == Decimal.self { return same(try decimal(at: index)) }
        if type == JSON.self { return same(JSON(tape, at: index)) }
        return try type.init(from: JSONNodeDecoder(self, index))
    }

    /// Returns the value as the generic type, which is the value's own type. A dynamic cast would be slow.
    @inline(__always)
    private func same<Value, Result>(_ value: Value) -> Result { unsafeBitCast(value, to: Result.self) }

    @inline(__always)
    private func array<Element>(_ index: Int, _ element: (Int) throws -> Element) throws -> [Element] {
        let node = nodes[index]
        guard node.kind == .array else { throw mismatch([Any].self, index) }
        var elements: [Element] = []
        elements.reserveCapacity(node.count)
        var next = index &+ 1
        while next < node.end {
            elements.append(try element(next))
            next = tape.index(after: next)
        }
        return elements
    }

    private func url(at index: Int) throws -> URL {
        let text = try string(at: index)
        guard let url = URL(string: text) else { throw corrupted(index, "the string is not a valid URL") }
        return url
    }

    private func data(at index: Int) throws -> Data {
        switch options.dataDecodingStrategy {
        case .deferredToData: return try Data(from: JSONNodeDecoder(self, index))
        case .base64:
            guard let data = Data(base64Encoded: try string(at: index)) else {
                throw corrupted(index, "the string is not valid Base64")
            }
            return data
        case .custom(let decode): return try decode(JSONNodeDecoder(self, index))
        @unknown default: return try Data(from: JSONNodeDecoder(self, index))
        }
    }

    private func date(at index: Int) throws -> Date {
        switch options.dateDecodingStrategy {
        case .deferredToDate: return Date(timeIntervalSinceReferenceDate: try double(at: index))
        case .secondsSince1970: return Date(timeIntervalSince1970: try double(at: index))
        case .millisecondsSince1970: return Date(timeIntervalSince1970: try double(at: index) / 1_000)
        case .iso8601:
            let text = try string(at: index)
            guard let date = JSONDate.date(text) ?? (try? Date.ISO8601FormatStyle().parse(text)) else {
                throw corrupted(index, "the string is not a date in the form 2001-12-31T23:59:59Z")
            }
            return date
        case .custom(let decode): return try decode(JSONNodeDecoder(self, index))
        #if canImport(Darwin)
            default:
                // Foundation on Apple's platforms has further strategies, such as `.formatted`.
                let decoder = JSONDecoder()
                decoder.dateDecodingStrategy = options.dateDecodingStrategy
                let text = try string(at: index)
                guard let date = try? decoder.decode([Date].self, from: JSONEncoder().encode([text])).first else {
                    throw corrupted(index, "the string does not have the format of the decoder's date strategy")
                }
                return date
        #else
            @unknown default: return try Date(from: JSONNodeDecoder(self, index))
        #endif
        }
    }
}

/// A dictionary with strings as keys. Its keys are not converted, because they are data and not names of properties.
private protocol JSONStringDictionary {}
extension Dictionary: JSONStringDictionary where Key == String, Value: Decodable {}

/// The most common form of dates, which is read without Foundation's parser.
enum JSONDate {
    /// Returns the date of a text such as `2001-12-31T23:59:59Z`, from 1970 on; nil for any other form.
    static func date(_ text: String) -> Date? {
        var text = text
        return text.withUTF8 { bytes in
            guard bytes.count == 20, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
                bytes[10] == UInt8(ascii: "T"), bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
                bytes[19] == UInt8(ascii: "Z"), let year = number(bytes[0..<4]), let month = number(bytes[5..<7]),
                let day = number(bytes[8..<10]), let hour = number(bytes[11..<13]),
                let minute = number(bytes[14..<16]), let second = number(bytes[17..<19]),
                year >= 1970, (1...12).contains(month), (1...28).contains(day), hour < 24, minute < 60, second < 60
            else { return nil }
            // Years begin in March here, so that a leap day is a year's last day.
            let years = month > 2 ? year : year - 1
            let monthFromMarch = (month + 9) % 12
            let days = 365 * years + years / 4 - years / 100 + years / 400 + (153 * monthFromMarch + 2) / 5 + day - 1
            let seconds = ((days - 719_468) * 24 + hour) * 3_600 + minute * 60 + second
            return Date(timeIntervalSince1970: Double(seconds))
        }
    }

    private static func number(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
        var value = 0
        for byte in digits {
            guard case let digit = byte &- UInt8(ascii: "0"), digit <= 9 else { return nil }
            value = value * 10 + Int(digit)
        }
        return value
    }
}
