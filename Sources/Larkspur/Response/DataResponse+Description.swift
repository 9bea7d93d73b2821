extension DataResponse: CustomStringConvertible, CustomDebugStringConvertible {
    /// The value or the error.
    public var description: String {
        switch result {
        case .success(let value): "success: \(value)"
        case .failure(let error): "failure: \(error)"
        }
    }

    /// The whole exchange for a person to read: request, response, bodies that are text, attempts and times. Secrets are
    /// hidden by `Redaction.standard`; so of a value only its type is told, because nobody knows what is secret in it.
    public var debugDescription: String {
        var blocks = exchange.history.dropLast().map { attempt in
            ["attempt: \(attempt.error.map { "\($0)" } ?? "no error")"]
        }
        for hop in redirects {
            blocks.append(["redirect: \(Self.line(hop.request))" + (hop.head.map { ", status \($0.status)" } ?? "")])
        }
        if let request { blocks.append(Self.lines(request)) }
        if let head { blocks.append(Self.lines(head, data, request?.options.confidentialHeaders ?? [])) }
        if let metrics { blocks.append(["times: \(metrics)"]) }
        if serializationDuration > .zero {
            blocks.append(["serialized in: \(TransportMetrics.milliseconds(serializationDuration))"])
        }
        let outcome = value == nil ? description : "success: \(Value.self)"
        return (blocks.flatMap(\.self) + [outcome]).joined(separator: "\n")
    }

    private static var redaction: Redaction { .standard }

    private static func line(_ request: OutgoingRequest) -> String {
        "\(request.method) \(redaction.url(request.url))"
    }

    private static func lines(_ request: OutgoingRequest) -> [String] {
        var lines = ["request: \(line(request))"] + fields(request.headers, request.options.confidentialHeaders)
        switch request.body {
        case .none: break
        case .data(let data): lines.append("  body: \(body(data, type: request.headers["Content-Type"]))")
        case .file(let path, let length, _): lines.append("  body: the file \(path), \(length) bytes")
        case .stream(let source): lines.append("  body: a stream" + (source.length.map { ", \($0) bytes" } ?? ""))
        }
        return lines
    }

    private static func lines(_ head: ResponseHead, _ data: Data?, _ confidential: [String]) -> [String] {
        ["response: \(head.version) \(head.status)"] + fields(head.headers, confidential)
            + ["  body: \(body(data ?? Data(), type: head["Content-Type"]))"]
    }

    private static func fields(_ headers: HTTPHeaders, _ confidential: [String]) -> [String] {
        let redaction = redaction.hiding(confidential)
        return headers.sorted().map { "  \($0.name): \(redaction.value(of: $0))" }
    }

    /// The text of what a person may want to read, and the size of everything else.
    private static func body(_ data: Data, type: String?) -> String {
        let kind = type?.essence ?? ""
        let isText = ["json", "xml", "text/", "x-www-form-urlencoded"].contains { kind.contains($0) }
        guard isText, !data.isEmpty, data.count <= 100_000,
            let text = String(data: redaction.body(data, type: type), encoding: .utf8)
        else { return "\(data.count) bytes" }
        return text
    }
}
