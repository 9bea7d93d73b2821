/// The body as it is.
public struct DataResponseSerializer: ResponseSerializer {
    public init() {}

    public func serialize(_ exchange: CompletedExchange) -> Data {
        exchange.data ?? Data()
    }
}

/// The body as text.
public struct StringResponseSerializer: ResponseSerializer {
    private let encoding: String.Encoding?

    /// - Parameter encoding: nil takes the charset that the response names, or else UTF-8, or else Latin-1.
    public init(encoding: String.Encoding? = nil) {
        self.encoding = encoding
    }

    public func serialize(_ exchange: CompletedExchange) throws -> String {
        let data = exchange.data ?? Data()
        if let encoding = encoding ?? Self.named(in: exchange.head?["Content-Type"]) {
            guard let text = String(data: data, encoding: encoding) else {
                throw RequestError(.invalidText, "the body is not text in the encoding \(encoding)")
            }
            return text
        }
        return String(data: data, encoding: .utf8) ?? String(data: data, encoding: .isoLatin1) ?? ""
    }

    private static func named(in contentType: String?) -> String.Encoding? {
        guard let parameters = contentType?.lowercased().split(separator: ";").dropFirst() else { return nil }
        for parameter in parameters {
            let pair = parameter.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            guard pair.count == 2, pair[0] == "charset" else { continue }
            switch pair[1].trimmingCharacters(in: CharacterSet(charactersIn: "\"")) {
            case "utf-8", "utf8": return .utf8
            case "us-ascii": return .ascii
            case "iso-8859-1", "latin1": return .isoLatin1
            case "utf-16": return .utf16
            case "utf-16be": return .utf16BigEndian
            case "utf-16le": return .utf16LittleEndian
            case "utf-32": return .utf32
            default: return nil
            }
        }
        return nil
    }
}

/// The body as a `JSON` value.
public struct JSONResponseSerializer: ResponseSerializer {
    public init() {}

    public func serialize(_ exchange: CompletedExchange) throws -> JSON {
        let data = try exchange.nonEmptyData
        do {
            return try JSON(data: data)
        } catch {
            throw RequestError(.invalidJSON, "the body is not JSON: \(error)", underlying: error)
        }
    }
}

/// The body as a value of the caller's type.
public struct DecodableResponseSerializer<Value: Decodable & Sendable>: ResponseSerializer {
    private let decoder: any DataDecoder

    public init(decoder: any DataDecoder = JSONDecoder()) {
        self.decoder = decoder
    }

    public func serialize(_ exchange: CompletedExchange) throws -> Value {
        let data = try exchange.nonEmptyData
        do {
            return try decoder.decode(Value.self, from: data)
        } catch {
            throw RequestError(.decodingFailed, "the body is no \(Value.self): \(error)", underlying: error)
        }
    }
}

/// What can make values of bytes; `JSONDecoder` can.
public protocol DataDecoder: Sendable {
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension JSONDecoder: DataDecoder {}

extension DataResponseSerializer: PromptSerializer {
    static var promptLimit: Int { .max }
}

extension StringResponseSerializer: PromptSerializer {
    static var promptLimit: Int { 4 * 1_024 }
}

extension JSONResponseSerializer: PromptSerializer {
    static var promptLimit: Int { 4 * 1_024 }
}

extension CompletedExchange {
    fileprivate var nonEmptyData: Data {
        get throws {
            if let data, !data.isEmpty { return data }
            throw RequestError(.emptyBody, "the response has no body to make a value of")
        }
    }
}

extension ResponseSerializer where Self == DataResponseSerializer {
    public static var data: Self { DataResponseSerializer() }
}

extension ResponseSerializer where Self == StringResponseSerializer {
    public static var string: Self { StringResponseSerializer() }
    public static func string(encoding: String.Encoding?) -> Self { StringResponseSerializer(encoding: encoding) }
}

extension ResponseSerializer where Self == JSONResponseSerializer {
    public static var json: Self { JSONResponseSerializer() }
}

extension ResponseSerializer {
    public static func decodable<Value>(
        of type: Value.Type, decoder: any DataDecoder = JSONDecoder()
    ) -> Self where Self == DecodableResponseSerializer<Value> {
        DecodableResponseSerializer(decoder: decoder)
    }
}
