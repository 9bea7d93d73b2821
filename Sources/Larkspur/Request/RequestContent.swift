/// The body of a request with its media type. The body is made when the request is built, again for each attempt.
///
///     let note = await session.request(url, method: .post, body: .json(["text": text, "stars": 5]))
///     let log = await session.upload(.sequence { lines() }, to: url)
///
/// A content is a value, so a constant can hold it and a function can return it. Errors of making the body are
/// delivered with the response.
public struct RequestContent: Sendable {
    let write: @Sendable (inout OutgoingRequest) throws -> Void

    init(_ write: @escaping @Sendable (inout OutgoingRequest) throws -> Void) { self.write = write }

    // MARK: Values

    /// Returns content that the encoder writes. The encoder may also write into the query.
    public static func encoded(_ value: some Encodable & Sendable, by encoder: any ParameterEncoder) -> RequestContent {
        RequestContent { try encoder.encode(value, into: &$0) }
    }

    /// Returns a value as JSON.
    public static func json(_ value: some Encodable & Sendable) -> RequestContent { .encoded(value, by: .json) }

    /// Returns a value as `application/x-www-form-urlencoded`.
    public static func form(_ value: some Encodable & Sendable) -> RequestContent {
        .encoded(value, by: .urlEncodedForm(destination: .httpBody))
    }

    // MARK: Forms with files

    /// Returns a form of named parts. The closure builds it for each attempt.
    public static func multipart(
        _ build: @escaping @Sendable (inout MultipartFormData) throws -> Void
    ) -> RequestContent {
        RequestContent {
            var form = MultipartFormData()
            try build(&form)
            try $0.setBody(form)
        }
    }

    /// Returns a form of named parts.
    public static func multipart(_ form: MultipartFormData) -> RequestContent {
        RequestContent { try $0.setBody(form) }
    }

    // MARK: Bytes

    /// Returns bytes in memory.
    ///
    /// - Parameter type: The content type; nil keeps the request's field.
    public static func data(_ data: Data, type: String? = nil) -> RequestContent { .body(.data(data), type: type) }

    /// Returns a file that is read from disk while it is sent. If the request has no content type, it follows from the
    /// file's extension.
    public static func file(_ url: URL) -> RequestContent {
        RequestContent {
            $0.body = try .file(url)
            if $0.headers["Content-Type"] == nil, let type = MIMEType.ofFile(named: url.lastPathComponent) {
                $0.headers.add(.contentType(type))
            }
        }
    }

    /// Returns a body of any kind, such as a throttled one.
    ///
    /// - Parameter type: The content type; nil keeps the request's field.
    public static func body(_ body: TransportBody, type: String? = nil) -> RequestContent {
        RequestContent {
            $0.body = body
            if let type { $0.headers.update(.contentType(type)) }
        }
    }

    /// Returns several bodies in a row as one body.
    public static func joined(_ bodies: some Sequence<TransportBody>) -> RequestContent { .body(.joined(bodies)) }

    /// Returns a body that is pulled from a source of your own.
    public static func stream(_ source: TransportBodySource) -> RequestContent { .body(.stream(source)) }
}

/// A type that can be the content of an upload: `Data`, the `URL` of a file, a ``MultipartFormData``, a
/// ``TransportBody``, or a type of your own.
public protocol RequestContentConvertible: Sendable {
    /// Returns the content; called for each attempt, in the request's task.
    func asRequestContent() -> RequestContent
}

extension RequestContent: RequestContentConvertible {
    public func asRequestContent() -> RequestContent { self }
}

extension Data: RequestContentConvertible {
    public func asRequestContent() -> RequestContent { .data(self) }
}

extension URL: RequestContentConvertible {
    /// Returns the content of the file at this URL.
    public func asRequestContent() -> RequestContent { .file(self) }
}

extension MultipartFormData: RequestContentConvertible {
    public func asRequestContent() -> RequestContent { .multipart(self) }
}

extension TransportBody: RequestContentConvertible {
    public func asRequestContent() -> RequestContent { .body(self) }
}

extension OutgoingRequest {
    /// Sets the body to the form, and the content type, which names its boundary.
    public mutating func setBody(_ form: MultipartFormData) throws(RequestError) {
        body = try form.body()
        headers.update(.contentType(form.contentType))
    }

    /// Encodes the parameters. If the request has a body, they go into the query.
    mutating func encodeBesideBody(
        _ parameters: some Encodable & Sendable, by encoder: any ParameterEncoder
    ) throws {
        if case .none = body { return try encoder.encode(parameters, into: &self) }
        let content = body
        body = .none
        var encoder = encoder
        if let form = encoder as? URLEncodedFormParameterEncoder, form.destination == .methodDependent {
            encoder = .urlEncodedForm(encoder: form.encoder, destination: .queryString)
        }
        try encoder.encode(parameters, into: &self)
        guard case .none = body else {
            throw RequestError(
                .invalidRequest,
                "the request has a body, and the encoder makes another one of the parameters; "
                    + "use encoder: .urlEncodedForm(destination: .queryString), or send one of the two")
        }
        body = content
    }
}
