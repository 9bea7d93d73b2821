extension Request {
    /// The request that was built last, as a command for a shell: run, it has curl send what was sent here.
    ///
    /// Secrets are hidden unless told otherwise: see `Redaction`. Before the request was built it is a remark that says so.
    public func cURLDescription(redacting redaction: Redaction = .standard) -> String {
        let built = handle.core.read { $0.lastHop?.request ?? $0.attempt?.request }
        return built?.cURLDescription(redacting: redaction) ?? "# request \(id) is not built yet"
    }

    /// Calls the closure with each attempt's request as a command for a shell, once it is built and adapted.
    @discardableResult
    public func cURLDescription(
        redacting redaction: Redaction = .standard, perform handler: @escaping @Sendable (String) async -> Void
    ) -> Self {
        onRequestCreation { await handler($0.cURLDescription(redacting: redaction)) }
    }
}

extension OutgoingRequest {
    /// The request as a command for a shell: run, it has curl send what this library sends, field by field and byte by
    /// byte. It can be pasted as it is; bytes that a terminal would not take are written in Base64.
    ///
    /// A streamed body cannot be written down: the command then reads it from its standard input, and says so.
    public func cURLDescription(redacting redaction: Redaction = .standard) -> String {
        var request = self
        request.moveUserInfoToHeader()
        return CURLCommand(request, redaction).text
    }
}

private struct CURLCommand {
    private let request: OutgoingRequest
    private let redaction: Redaction
    /// What stands before the command: a remark, or what feeds it.
    private var prefix = ""
    private var options: [String] = []

    init(_ request: OutgoingRequest, _ redaction: Redaction) {
        self.request = request
        self.redaction = request.redaction(redaction)
        addMethod()
        addHeaders()
        addBody()
    }

    var text: String {
        let words = options + [Self.quoted(redaction.url(request.url))]
        return prefix + (["curl"] + words).joined(separator: " \\\n    ")
    }

    /// curl sends a body's length with any method, so what ours sends for an empty one has to be asked for.
    private var sendsBody: Bool {
        request.body.length != 0 || [.post, .put, .patch].contains(request.method)
    }

    private mutating func addMethod() {
        if request.url.text.contains(where: "[]{}".contains) { options.append("--globoff") }
        // Only a verbatim URL has such segments.
        if request.url.path.split(separator: "/").contains(where: { [".", ".."].contains($0) }) {
            options.append("--path-as-is")
        }
        switch request.options.httpVersion {
        case .http1?: options.append("--http1.1")
        case .http2?: options.append("--http2-prior-knowledge")
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
            // A field without a value is written with a semicolon; with a colon it would be left out.
            options.append("-H \(Self.quoted(value.isEmpty ? "\(field.name);" : "\(field.name): \(value)"))")
        }
        // What curl would add by itself.
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

    /// The text, if a terminal would take it as it is and a command line has room for it.
    private static func pasteable(_ data: Data) -> String? {
        guard data.count <= 64 * 1024, let text = String(data: data, encoding: .utf8) else { return nil }
        return text.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 && !(0x7F..<0xA0).contains($0.value) }
            ? text : nil
    }

    /// In single quotes, in which a shell takes everything as it is but the quote itself.
    ///
    /// By scalars: a quote with a combining mark is another character to Swift, and the same byte to a shell.
    private static func quoted(_ text: String) -> String {
        let pieces = text.unicodeScalars.split(separator: "'", omittingEmptySubsequences: false)
        return "'\(pieces.map { String($0) }.joined(separator: #"'\''"#))'"
    }
}
