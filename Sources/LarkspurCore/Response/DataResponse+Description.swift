extension DataResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type of the value, or the error. The value is not shown, because it may contain secrets under any name. To
    /// see it, print ``value``.
    public var description: String {
        switch result {
        case .success: "success: \(Value.self)"
        case .failure(let error): "failure: \(error)"
        }
    }

    /// A mirror without children, because the stored properties may contain secrets.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }

    /// A readable text of the whole exchange: request, response, text bodies, attempts and times. Secrets are redacted
    /// by `Redaction.standard`, and control characters are escaped. The text shows only the type of the value.
    public var debugDescription: String {
        let redaction = request?.redaction(extending: .standard) ?? .standard
        var blocks = exchange.history.dropLast().map { attempt in
            ["attempt: \(attempt.error.map { "\($0)" } ?? "no error")"]
        }
        for hop in redirects {
            blocks.append([
                "redirect: \(Self.line(hop.request, redaction))" + (hop.head.map { ", status \($0.status)" } ?? "")
            ])
        }
        if let request { blocks.append(Self.lines(request, redaction)) }
        if let head { blocks.append(Self.lines(head, data, redaction)) }
        if let trailers { blocks.append(["trailers:"] + Self.fields(trailers, redaction)) }
        if let metrics { blocks.append(["times: \(metrics)"]) }
        if serializationDuration > .zero {
            blocks.append(["serialized in: \(TransportMetrics.milliseconds(serializationDuration))"])
        }
        let lines = (blocks.flatMap(\.self) + [description]).flatMap {
            $0.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        }
        return lines.map { String($0).replacing("\t", with: "    ").printable }.joined(separator: "\n")
    }

    private static func line(_ request: OutgoingRequest, _ redaction: Redaction) -> String {
        "\(request.method) \(redaction.url(request.url))"
    }

    private static func lines(_ request: OutgoingRequest, _ redaction: Redaction) -> [String] {
        var lines = ["request: \(line(request, redaction))"] + fields(request.headers, redaction)
        switch request.body {
        case .none: break
        case .data(let data): lines.append("  body: \(body(data, type: request.headers["Content-Type"], redaction))")
        case .file(let path, let length, _): lines.append("  body: the file \(path), \(length) bytes")
        case .stream(let source): lines.append("  body: a stream" + (source.length.map { ", \($0) bytes" } ?? ""))
        }
        return lines
    }

    private static func lines(_ head: ResponseHead, _ data: Data?, _ redaction: Redaction) -> [String] {
        ["response: \(head.version) \(head.status)"] + fields(head.headers, redaction)
            + ["  body: \(body(data ?? Data(), type: head["Content-Type"], redaction))"]
    }

    private static func fields(_ headers: HTTPHeaders, _ redaction: Redaction) -> [String] {
        headers.sorted().map { "  \($0.name): \(redaction.value(of: $0))" }
    }

    /// Returns the text of a UTF-8 body, and the size of any other body.
    private static func body(_ data: Data, type: String?, _ redaction: Redaction) -> String {
        let kind = type?.essence ?? ""
        let isText = ["json", "xml", "text/", "x-www-form-urlencoded"].contains { kind.contains($0) }
        let size = "\(data.count) bytes"
        guard isText, !data.isEmpty, data.count <= 100_000 else { return size }
        let shown = redaction.body(data, type: type)
        // A zero byte shows that the text is not UTF-8, but for example UTF-16. In such a text the redaction cannot
        // find the names of secrets.
        guard !shown.contains(0), let text = String(data: shown, encoding: .utf8) else { return size }
        return text
    }
}
