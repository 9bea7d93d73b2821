/// A serializer that returns the body as data. An empty body becomes empty data and is not an error.
public struct DataResponseSerializer: ResponseSerializer {
    private let preprocessor: any DataPreprocessor

    /// Creates a serializer; `.data` is equivalent.
    public init(preprocessor: any DataPreprocessor = .passthrough) { self.preprocessor = preprocessor }

    public func serialize(_ exchange: CompletedExchange) throws -> Data {
        guard let data = exchange.data, !data.isEmpty else { return Data() }
        return try preprocessor.preprocess(data)
    }
}

/// A serializer that returns the body as text. An empty body becomes an empty string and is not an error.
///
/// Unless the initializer sets the encoding, the charset of the response's `Content-Type` does. The charset can be
/// UTF-8, UTF-16, UTF-32, ASCII, or any label of an encoding in the WHATWG Encoding Standard. Examples are
/// windows-1251, iso-8859-2, koi8-r, shift_jis, euc-kr, gbk and big5. As in browsers, `iso-8859-1` is read as
/// windows-1252, and `gb2312` as GBK.
///
/// The serializer fails with `.invalidText` if the body is not text in its encoding, or if the charset is unknown.
/// Encodings other than Unicode, ASCII and windows-1252 need the system's iconv. On small Linux images, the modules of
/// iconv are in a separate package that may not be installed.
public struct StringResponseSerializer: ResponseSerializer {
    private let encoding: String.Encoding?
    private let body: DataResponseSerializer

    /// Creates a serializer.
    ///
    /// - Parameter encoding: The encoding of the text. Nil, the default, means the charset of the response. A response
    ///   without a charset is read as UTF-8, or as Latin-1 if its body is not valid UTF-8.
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
                "the response has the unknown charset \(charset.prefix(60).debugDescription); pass the encoding to "
                    + "serializingString(encoding:), or read the bytes with serializingData()")
        }
        do {
            return try encoding.text(of: data)
        } catch .invalid {
            throw RequestError(
                .invalidText,
                "the body is not text in the response's charset \(encoding.name); if the charset is wrong, pass the "
                    + "encoding to serializingString(encoding:)")
        } catch .unavailable {
            throw RequestError(
                .invalidText,
                "this system's iconv does not support the body's encoding \(encoding.name); install the modules "
                    + "of its C library (gconv), or read the bytes with serializingData()")
        }
    }
}

/// A serializer that returns the body as a ``JSON`` value. An empty body becomes `.null` if the status or the method
/// allows an empty body.
public struct JSONResponseSerializer: ResponseSerializer {
    private let body: ResponseBody

    /// Creates a serializer.
    ///
    /// - Parameters:
    ///   - preprocessor: The preprocessor of the body; by default the body is not changed.
    ///   - emptyResponseCodes: The statuses that allow an empty body; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods that allow an empty body; HEAD by default.
    public init(
        preprocessor: any DataPreprocessor = .passthrough, emptyResponseCodes: Set<Int> = .emptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = .emptyRequestMethods
    ) {
        body = ResponseBody(
            preprocessor: preprocessor, emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods
        )
    }

    /// Creates a serializer with the settings of a session.
    package init(_ body: ResponseBody) { self.body = body }

    public func serialize(_ exchange: CompletedExchange) throws -> JSON {
        guard let data = try body.data(of: exchange) else { return .null }
        do {
            return try JSON(data: data)
        } catch {
            throw RequestError(.invalidJSON, "the body is not JSON: \(error)", underlying: error)
        }
    }
}

/// A serializer that decodes the body as a value of your type. If the status or method allows an empty body, the type
/// must be an ``EmptyResponse``, such as ``Empty``.
public struct DecodableResponseSerializer<Value: Decodable & Sendable>: ResponseSerializer {
    private let decoder: any DataDecoder
    private let body: ResponseBody
    private let failure: (any (Decodable & Error & Sendable).Type)?

    /// Creates a serializer.
    ///
    /// - Parameters:
    ///   - failure: The type of the server's error body. If validation rejects the response, the body is decoded as
    ///     this type, and the decoded value becomes the underlying error of the ``RequestError``.
    ///   - decoder: The decoder; a plain ``JSON/Decoder`` by default.
    ///   - preprocessor: The preprocessor of the body; by default the body is not changed.
    ///   - emptyResponseCodes: The statuses that allow an empty body; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods that allow an empty body; HEAD by default.
    public init(
        failure: (any (Decodable & Error & Sendable).Type)? = nil, decoder: any DataDecoder = JSON.Decoder(),
        preprocessor: any DataPreprocessor = .passthrough, emptyResponseCodes: Set<Int> = .emptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = .emptyRequestMethods
    ) {
        self.decoder = decoder
        self.failure = failure
        body = ResponseBody(
            preprocessor: preprocessor, emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods
        )
    }

    /// Creates a serializer with the settings of a session.
    package init(
        failure: (any (Decodable & Error & Sendable).Type)?, decoder: any DataDecoder, _ body: ResponseBody
    ) {
        (self.decoder, self.failure, self.body) = (decoder, failure, body)
    }

    public func serialize(_ exchange: CompletedExchange) throws -> Value {
        guard let data = try body.data(of: exchange) else {
            if let value = (Value.self as? any EmptyResponse.Type)?.emptyValue() as? Value { return value }
            throw RequestError(
                .emptyBody,
                "the response's body is empty, and \(Value.self) has no empty value; use an optional type, or conform "
                    + "the type to EmptyResponse")
        }
        do {
            return try decoder.decode(Value.self, from: data)
        } catch {
            let message = DecodingProblem.message(
                error, decoding: Value.self, from: data, using: decoder, contentType: exchange.head?["Content-Type"])
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

/// A decoder of values from data, such as ``JSON/Decoder``, `JSONDecoder` and `PropertyListDecoder`.
public protocol DataDecoder: Sendable {
    /// Returns a value of the type, decoded from the data.
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
    /// A serializer that returns the body as data.
    public static var data: Self { DataResponseSerializer() }
    /// Returns a serializer that preprocesses the body and returns the result as data.
    public static func data(preprocessor: any DataPreprocessor) -> Self {
        DataResponseSerializer(preprocessor: preprocessor)
    }
}

extension ResponseSerializer where Self == StringResponseSerializer {
    /// A serializer that returns the body as text.
    public static var string: Self { StringResponseSerializer() }
    /// Returns a serializer of the body as text.
    public static func string(
        encoding: String.Encoding?, preprocessor: any DataPreprocessor = .passthrough
    ) -> Self {
        StringResponseSerializer(encoding: encoding, preprocessor: preprocessor)
    }
}

extension ResponseSerializer where Self == JSONResponseSerializer {
    /// A serializer that returns the body as a ``JSON`` value.
    public static var json: Self { JSONResponseSerializer() }
    /// Returns a serializer of the body as a ``JSON`` value.
    public static func json(
        preprocessor: any DataPreprocessor = .passthrough, emptyResponseCodes: Set<Int> = .emptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = .emptyRequestMethods
    ) -> Self {
        JSONResponseSerializer(
            preprocessor: preprocessor, emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods
        )
    }
}

extension ResponseSerializer {
    /// Returns a serializer that decodes the body as a value of your type. The serializer does not use the session's
    /// decoder: pass a decoder if a plain ``JSON/Decoder`` is not enough.
    public static func decodable<Value>(
        of type: Value.Type, failure: (any (Decodable & Error & Sendable).Type)? = nil,
        decoder: any DataDecoder = JSON.Decoder(), preprocessor: any DataPreprocessor = .passthrough,
        emptyResponseCodes: Set<Int> = .emptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = .emptyRequestMethods
    ) -> Self where Self == DecodableResponseSerializer<Value> {
        DecodableResponseSerializer(
            failure: failure, decoder: decoder, preprocessor: preprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
    }
}
