/// The body of a request with its media type. Each attempt creates the body when it builds its request.
///
///     let note = await session.request(url, method: .post, body: .json(["text": text, "stars": 5]))
///     let log = await session.upload(.sequence { lines() }, to: url)
///
/// A content is a value, so a constant can hold it and a function can return it. If the body cannot be created, the
/// request fails with the error.
public struct RequestContent: Sendable {
    let write: @Sendable (inout OutgoingRequest) throws -> Void
    /// Whether writing calls code of users, reads files or takes long.
    let needsTask: Bool

    init(needsTask: Bool = true, _ write: @escaping @Sendable (inout OutgoingRequest) throws -> Void) {
        self.write = write
        self.needsTask = needsTask
    }

    /// Returns content that asks a value for its content when it is written.
    init(of value: any RequestContentConvertible) {
        switch value {
        case let data as Data: self = .data(data)
        case let body as TransportBody: self = .body(body)
        case let content as RequestContent: self = content
        default: self.init { try value.asRequestContent().write(&$0) }
        }
    }

    // MARK: Values

    /// Returns content that the encoder writes. The encoder may also write into the URL's query.
    public static func encoded(_ value: some Encodable & Sendable, by encoder: any ParameterEncoder) -> RequestContent {
        RequestContent { try encoder.encode(value, into: &$0) }
    }

    /// Returns content with the value as JSON.
    public static func json(_ value: some Encodable & Sendable) -> RequestContent { .encoded(value, by: .json) }

    /// Returns content with the value as `application/x-www-form-urlencoded`.
    public static func form(_ value: some Encodable & Sendable) -> RequestContent {
        .encoded(value, by: .urlEncodedForm(destination: .httpBody))
    }

    // MARK: Forms with files

    /// Returns a form of named parts (`multipart/form-data`). The closure builds the form for each attempt.
    public static func multipart(
        _ build: @escaping @Sendable (inout MultipartFormData) throws -> Void
    ) -> RequestContent {
        RequestContent {
            var form = MultipartFormData()
            try build(&form)
            try $0.setBody(form)
        }
    }

    /// Returns a form of named parts (`multipart/form-data`).
    public static func multipart(_ form: MultipartFormData) -> RequestContent {
        RequestContent { try $0.setBody(form) }
    }

    // MARK: Bytes

    /// Returns content with bytes in memory.
    ///
    /// - Parameter type: The content type; nil keeps the request's `Content-Type` field.
    public static func data(_ data: Data, type: String? = nil) -> RequestContent { .body(.data(data), type: type) }

    /// Returns the content of a file, which is read from disk while it is sent. If the request has no `Content-Type`,
    /// the file's extension determines this field.
    public static func file(_ url: URL) -> RequestContent {
        RequestContent {
            $0.body = try .file(url)
            if $0.headers["Content-Type"] == nil, let type = MIMEType.ofFile(named: url.lastPathComponent) {
                $0.headers.add(.contentType(type))
            }
        }
    }

    /// Returns content with a body of any kind, such as a throttled body.
    ///
    /// - Parameter type: The content type; nil keeps the request's `Content-Type` field.
    public static func body(_ body: TransportBody, type: String? = nil) -> RequestContent {
        RequestContent(needsTask: false) {
            $0.body = body
            if let type { $0.headers.update(.contentType(type)) }
        }
    }

    /// Returns content that sends several bodies in a row as one body.
    public static func joined(_ bodies: some Sequence<TransportBody>) -> RequestContent { .body(.joined(bodies)) }

    /// Returns content whose bytes the library reads from a source of your own.
    public static func stream(_ source: TransportBodySource) -> RequestContent { .body(.stream(source)) }
}

/// A type that can be the content of an upload: `Data`, the `URL` of a file, a ``MultipartFormData``, a
/// ``TransportBody``, or a type of your own.
public protocol RequestContentConvertible: Sendable {
    /// Returns the content. The library calls this method for each attempt, in the request's task.
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
    /// Sets the body to the form, and the `Content-Type` field to the form's type, which names the boundary of its
    /// parts.
    public mutating func setBody(_ form: MultipartFormData) throws(RequestError) {
        body = try form.body()
        headers.update(.contentType(form.contentType))
    }

    /// Encodes the parameters. If the request already has a body, the default form encoder writes the parameters into
    /// the query. Throws if another encoder creates a second body.
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
