/// The body as it is; an empty one is data like any other.
public struct DataResponseSerializer: ResponseSerializer {
    private let preprocessor: any DataPreprocessor

    /// `.data` is the same.
    public init(preprocessor: any DataPreprocessor = .passthrough) { self.preprocessor = preprocessor }

    public func serialize(_ exchange: CompletedExchange) throws -> Data {
        guard let data = exchange.data, !data.isEmpty else { return Data() }
        return try preprocessor.preprocess(data)
    }
}

/// The body as text; an empty body is an empty text.
///
/// The charset of the response's `Content-Type` names the encoding: UTF-8, UTF-16, UTF-32, ASCII, and the encodings of the WHATWG
/// Encoding Standard, such as windows-1251, iso-8859-2, koi8-r, shift_jis, euc-kr, gbk and big5, by all their labels.
/// As in browsers, `iso-8859-1` is read as windows-1252, and `gb2312` as GBK. A body that is not text in its encoding, and a charset
/// that is not known, fail with `.invalidText`. Encodings other than Unicode, ASCII and windows-1252 need the system's iconv; on
/// Linux its modules are a package of their own in small images.
public struct StringResponseSerializer: ResponseSerializer {
    private let encoding: String.Encoding?
    private let body: DataResponseSerializer

    /// - Parameter encoding: nil takes the charset that the response names; without a charset, UTF-8, or Latin-1 if the body is
    ///   not UTF-8.
    public init(encoding: String.Encoding? = nil, preprocessor: any DataPreprocessor = .passthrough) {
        self.encoding = encoding
        body = DataResponseSerializer(preprocessor: preprocessor)
    }

    public func serialize(_ exchange: CompletedExchange) throws -> String {
        let data = try body.serialize(exchange)
        if let encoding {
            guard let text = String(data: data, encoding: encoding) else {
                throw RequestError(.invalidText, "the body is not text in the encoding \(encoding)")
            }
            return text
        }
        if let charset = exchange.head?.charset, !charset.isEmpty, !data.isEmpty {
            return try Self.text(of: data, in: charset)
        }
        return String(data: data, encoding: .utf8) ?? String(data: data, encoding: .isoLatin1) ?? ""
    }

    private static func text(of data: Data, in charset: String) throws -> String {
        guard let encoding = charset == "utf-8" ? .utf8 : TextEncoding(label: charset) else {
            throw RequestError(
                .invalidText,
                "the charset \(charset.prefix(60).debugDescription) that the response names is not known; give the encoding to "
                    + "serializingString(encoding:), or read the bytes with serializingData()")
        }
        do {
            return try encoding.text(of: data)
        } catch .invalid {
            throw RequestError(
                .invalidText,
                "the body is not text in \(encoding.name), which the response's charset names; if that is wrong, give the encoding "
                    + "to serializingString(encoding:)")
        } catch .unavailable {
            throw RequestError(
                .invalidText,
                "this system's iconv does not have \(encoding.name), the encoding of the body; install the modules of its C library "
                    + "(gconv), or read the bytes with serializingData()")
        }
    }
}

extension ResponseHead {
    /// The charset that the content type names, in lower case.
    var charset: String? { self["Content-Type"]?.parameters["charset"]?.lowercased() }
}

/// The body as a `JSON` value; `.null` where none was to be expected.
public struct JSONResponseSerializer: ResponseSerializer {
    private let body: ResponseBody

    /// - Parameters:
    ///   - emptyResponseCodes: The statuses with which an empty body is no failure.
    ///   - emptyRequestMethods: The methods with which an empty body is no failure.
    public init(
        preprocessor: any DataPreprocessor = .passthrough, emptyResponseCodes: Set<Int> = .emptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = .emptyRequestMethods
    ) {
        body = ResponseBody(
            preprocessor: preprocessor, emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods
        )
    }

    public func serialize(_ exchange: CompletedExchange) throws -> JSON {
        guard let data = try body.data(of: exchange) else { return .null }
        do {
            return try JSON(data: data)
        } catch {
            throw RequestError(.invalidJSON, "the body is not JSON: \(error)", underlying: error)
        }
    }
}

/// The body as XML. An empty body is a failure: no document is empty.
public struct XMLResponseSerializer: ResponseSerializer {
    /// `.xml` is the same.
    public init() {}

    public func serialize(_ exchange: CompletedExchange) throws -> XML {
        guard let data = exchange.data, !data.isEmpty else {
            throw RequestError(.emptyBody, "the response has no body to make a value of")
        }
        do {
            return try XML(data: data, charset: exchange.head?.charset)
        } catch {
            throw RequestError(.invalidXML, "the body is not XML: \(error)", underlying: error)
        }
    }
}

/// The body as a value of the caller's type. Where no body was to be expected, the type must have a value for that:
/// `Empty`, or one of your own that is an `EmptyResponse`.
public struct DecodableResponseSerializer<Value: Decodable & Sendable>: ResponseSerializer {
    private let decoder: any DataDecoder
    private let body: ResponseBody
    private let failure: (any (Decodable & Error & Sendable).Type)?

    /// - Parameters:
    ///   - failure: What the server's body is decoded as where validation refuses the response; it becomes the
    ///     underlying error of the `RequestError`.
    ///   - emptyResponseCodes: The statuses with which an empty body is no failure.
    ///   - emptyRequestMethods: The methods with which an empty body is no failure.
    public init(
        failure: (any (Decodable & Error & Sendable).Type)? = nil, decoder: any DataDecoder = JSONDecoder(),
        preprocessor: any DataPreprocessor = .passthrough, emptyResponseCodes: Set<Int> = .emptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = .emptyRequestMethods
    ) {
        self.decoder = decoder
        self.failure = failure
        body = ResponseBody(
            preprocessor: preprocessor, emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods
        )
    }

    public func serialize(_ exchange: CompletedExchange) throws -> Value {
        guard let data = try body.data(of: exchange) else {
            if let value = (Value.self as? any EmptyResponse.Type)?.emptyValue() as? Value { return value }
            throw RequestError(
                .emptyBody,
                "the response has no body, and \(Value.self) has no value for that; make it an EmptyResponse")
        }
        do {
            return try decoder.decode(Value.self, from: data)
        } catch {
            let message = DecodingProblem.message(
                error, decoding: Value.self, from: data, contentType: exchange.head?["Content-Type"])
            throw RequestError(.decodingFailed, message, underlying: error)
        }
    }

    public func recover(from error: RequestError, _ exchange: CompletedExchange) throws -> Value {
        guard let failure, error.isValidation, let data = error.responseData, !data.isEmpty,
            let decoded = try? decoder.decode(failure, from: body.preprocessor.preprocess(data))
        else { throw error }
        throw error.with(underlying: decoded)
    }
}

/// What can make values of bytes; `JSONDecoder` and `PropertyListDecoder` can.
public protocol DataDecoder: Sendable {
    /// A value of the type, made of these bytes.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension JSONDecoder: DataDecoder {}
extension PropertyListDecoder: DataDecoder {}

extension DataResponseSerializer: PromptSerializer {
    var promptLimit: Int { type(of: preprocessor) == PassthroughPreprocessor.self ? .max : -1 }
}

extension StringResponseSerializer: PromptSerializer {
    var promptLimit: Int { min(body.promptLimit, 4 * 1_024) }
}

extension JSONResponseSerializer: PromptSerializer {
    var promptLimit: Int { body.preprocessor is PassthroughPreprocessor ? 4 * 1_024 : -1 }
}

extension ResponseSerializer where Self == DataResponseSerializer {
    /// The body as it is.
    public static var data: Self { DataResponseSerializer() }
    /// The body as the preprocessor makes it.
    public static func data(preprocessor: any DataPreprocessor) -> Self {
        DataResponseSerializer(preprocessor: preprocessor)
    }
}

extension ResponseSerializer where Self == StringResponseSerializer {
    /// The body as text.
    public static var string: Self { StringResponseSerializer() }
    /// The body as text.
    public static func string(
        encoding: String.Encoding?, preprocessor: any DataPreprocessor = .passthrough
    ) -> Self {
        StringResponseSerializer(encoding: encoding, preprocessor: preprocessor)
    }
}

extension ResponseSerializer where Self == JSONResponseSerializer {
    /// The body as a `JSON` value.
    public static var json: Self { JSONResponseSerializer() }
    /// The body as a `JSON` value.
    public static func json(
        preprocessor: any DataPreprocessor = .passthrough, emptyResponseCodes: Set<Int> = .emptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = .emptyRequestMethods
    ) -> Self {
        JSONResponseSerializer(
            preprocessor: preprocessor, emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods
        )
    }
}

extension ResponseSerializer where Self == XMLResponseSerializer {
    /// The body as XML.
    public static var xml: Self { XMLResponseSerializer() }
}

extension ResponseSerializer {
    /// A value of the caller's type. A serializer made by itself does not know the session's decoder: give it one where
    /// it is not a plain `JSONDecoder`.
    public static func decodable<Value>(
        of type: Value.Type, failure: (any (Decodable & Error & Sendable).Type)? = nil,
        decoder: any DataDecoder = JSONDecoder(), preprocessor: any DataPreprocessor = .passthrough,
        emptyResponseCodes: Set<Int> = .emptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = .emptyRequestMethods
    ) -> Self where Self == DecodableResponseSerializer<Value> {
        DecodableResponseSerializer(
            failure: failure, decoder: decoder, preprocessor: preprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
    }
}
