/// What a request carries, made when the request is built.
public struct RequestContent: Sendable {
    let write: @Sendable (inout OutgoingRequest) throws -> Void

    /// A value, as the encoder writes it.
    public static func encoded(_ value: some Encodable & Sendable, by encoder: any ParameterEncoder) -> RequestContent {
        RequestContent { try encoder.encode(value, into: &$0) }
    }

    /// A value as JSON.
    public static func json(_ value: some Encodable & Sendable) -> RequestContent { .encoded(value, by: .json) }

    /// A value as `application/x-www-form-urlencoded`.
    public static func form(_ value: some Encodable & Sendable) -> RequestContent {
        .encoded(value, by: .urlEncodedForm(destination: .httpBody))
    }

    /// A form of named parts, put together by the closure at each attempt.
    public static func multipart(
        _ build: @escaping @Sendable (inout MultipartFormData) throws -> Void
    ) -> RequestContent {
        RequestContent {
            var form = MultipartFormData()
            try build(&form)
            try $0.setBody(form)
        }
    }

    /// A form that is there already.
    public static func multipart(_ form: MultipartFormData) -> RequestContent {
        RequestContent { try $0.setBody(form) }
    }

    /// A file, read from disk while it is sent. Its type, if no field says it, follows from its extension.
    public static func file(_ url: URL) -> RequestContent {
        RequestContent {
            $0.body = try .file(url)
            if $0.headers["Content-Type"] == nil, let type = MIMEType.ofFile(named: url.lastPathComponent) {
                $0.headers.add(.contentType(type))
            }
        }
    }

    /// A body of any kind, and its type.
    public static func body(_ body: TransportBody, type: String? = nil) -> RequestContent {
        RequestContent {
            $0.body = body
            if let type { $0.headers.update(.contentType(type)) }
        }
    }
}

extension OutgoingRequest {
    /// Sets the body to the form, and the content type, which names its boundary.
    public mutating func setBody(_ form: MultipartFormData) throws(RequestError) {
        body = try form.body()
        headers.update(.contentType(form.contentType))
    }
}
