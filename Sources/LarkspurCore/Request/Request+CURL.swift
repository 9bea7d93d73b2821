extension Request {
    /// Returns the last hop's request as a shell command that sends the same request with curl.
    ///
    ///     print(request.cURLDescription())
    ///
    /// Before the request is built, the result is a shell comment: `# request #1 is not built yet`.
    ///
    /// - Parameter redaction: The rules for hiding secrets; ``Redaction/standard`` by default.
    public func cURLDescription(redacting redaction: Redaction = .standard) -> String {
        let built = handle.core.read { $0.lastHop?.request ?? $0.attempt?.request }
        return built?.cURLDescription(redacting: redaction) ?? "# request \(id) is not built yet"
    }

    /// Calls the closure with each attempt's request as a shell command, once the request is built and adapted.
    ///
    /// - Parameters:
    ///   - redaction: The rules for hiding secrets; ``Redaction/standard`` by default.
    ///   - handler: The closure, which gets the command.
    @discardableResult
    public func cURLDescription(
        redacting redaction: Redaction = .standard, perform handler: @escaping @Sendable (String) async -> Void
    ) -> Self {
        onRequestCreation { await handler($0.cURLDescription(redacting: redaction)) }
    }
}

extension OutgoingRequest {
    /// Returns the request as a shell command that makes curl send the same fields and the same bytes.
    ///
    /// The command can be pasted into a terminal. Bytes that a terminal does not accept are written in Base64. If the
    /// body is a stream, the command reads the body from its standard input, and begins with a comment that says so.
    ///
    /// - Parameter redaction: The rules for hiding secrets; ``Redaction/standard`` by default.
    public func cURLDescription(redacting redaction: Redaction = .standard) -> String {
        var request = self
        request.moveUserInfoToHeader()
        return CURLCommand(request, redaction).text
    }
}

private struct CURLCommand {
    private let request: OutgoingRequest
    private let redaction: Redaction
    /// The text before `curl`: a comment, or a command whose output is the body.
    private var prefix = ""
    private var options: [String] = []

    init(_ request: OutgoingRequest, _ redaction: Redaction) {
        self.request = request
        self.redaction = request.redaction(extending: redaction)
        addMethod()
        addHeaders()
        addBody()
    }

    var text: String {
        let words = options + [Self.quoted(redaction.url(request.url))]
        return prefix + (["curl"] + words).joined(separator: " \\\n    ")
    }

    /// Whether the command needs an option for the body. With POST, PUT and PATCH the library sends `Content-Length: 0`
    /// for an empty body. curl sends that field only if the command has an option for the body.
    private var sendsBody: Bool {
        request.body.length != 0 || [.post, .put, .patch].contains(request.method)
    }

    private mutating func addMethod() {
        if request.url.text.contains(where: "[]{}".contains) { options.append("--globoff") }
        // curl would remove dot segments from the URL. Only a URL that was created verbatim has such segments.
        if request.url.path.split(separator: "/").contains(where: { [".", ".."].contains($0) }) {
            options.append("--path-as-is")
        }
        switch request.options.httpVersion {
        case .http1?: options.append("--http1.1")
        case .http2?: options.append("--http2-prior-knowledge")
        case .http3?: options.append("--http3")
        case .negotiated?, nil: break
        }
        switch request.method {
        case .get where !sendsBody: break
        case .head where !sendsBody: options.append("--head")
        default: options.append("-X \(Self.quoted(request.method.rawValue))")
        }
    }

    private mutating func addHeaders() {
        for field in request.headers where field.name.lowercased() != "content-length" {
            let value = redaction.value(of: field)
            // In curl's syntax `Name;` sends an empty field, and `Name:` removes the field.
            options.append("-H \(Self.quoted(value.isEmpty ? "\(field.name);" : "\(field.name): \(value)"))")
        }
        // An option `-H 'Name:'` removes a field that curl adds by itself.
        var added = ["Accept", "User-Agent"]
        if sendsBody { added += ["Content-Type", "Expect"] }
        for name in added where request.headers[name] == nil { options.append("-H '\(name):'") }
    }

    private mutating func addBody() {
        switch request.body {
        case .none: if sendsBody { options.append("--data-raw ''") }
        case .data(let data):
            let data = redaction.body(data, type: request.headers["Content-Type"])
            if let text = Self.pasteable(data) {
                if sendsBody { options.append("--data-raw \(Self.quoted(text))") }
            } else {
                prefix = "echo '\(data.base64EncodedString())' | base64 --decode | "
                options.append("--data-binary @-")
            }
        case .file(let path, _, _): options.append("--data-binary \(Self.quoted("@\(path)"))")
        case .stream(let source):
            prefix = "# reads the body\(source.length.map { ", \($0) bytes," } ?? "") from its standard input\n"
            if source.length == nil, request.headers["Transfer-Encoding"] == nil {
                options.append("-H 'Transfer-Encoding: chunked'")
            }
            options.append("--data-binary @-")
        }
    }

    /// Returns the body as text; nil if it is too long for a command line or a terminal does not accept all its
    /// characters.
    private static func pasteable(_ data: Data) -> String? {
        guard data.count <= 64 * 1024, let text = String(data: data, encoding: .utf8) else { return nil }
        return text.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 && !(0x7F..<0xA0).contains($0.value) }
            ? text : nil
    }

    /// Returns the text in single quotes. In single quotes, a shell leaves every character unchanged, except for a
    /// single quote.
    ///
    /// The function splits the text by scalars, because Swift combines a quote and a combining mark to one `Character`,
    /// and a shell does not.
    private static func quoted(_ text: String) -> String {
        let pieces = text.unicodeScalars.split(separator: "'", omittingEmptySubsequences: false)
        return "'\(pieces.map { String($0) }.joined(separator: #"'\''"#))'"
    }
}
