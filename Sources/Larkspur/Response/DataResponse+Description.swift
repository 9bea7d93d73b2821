extension DataResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The value's type or the error. A value may hold secrets under any name, so it does not show: print ``value`` to see it.
    public var description: String {
        switch result {
        case .success: "success: \(Value.self)"
        case .failure(let error): "failure: \(error)"
        }
    }

    /// Keeps `dump` from showing what the description hides.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }

    /// The whole exchange for a person to read: request, response, bodies that are text, attempts and times. Secrets are
    /// hidden by `Redaction.standard`; of a value only its type is told.
    public var debugDescription: String {
        let redaction = request?.redaction(.standard) ?? .standard
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
        if let metrics { blocks.append(["times: \(metrics)"]) }
        if serializationDuration > .zero {
            blocks.append(["serialized in: \(TransportMetrics.milliseconds(serializationDuration))"])
        }
        return (blocks.flatMap(\.self) + [description]).joined(separator: "\n")
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

    /// The text of what a person may want to read, and the size of everything else.
    private static func body(_ data: Data, type: String?, _ redaction: Redaction) -> String {
        let kind = type?.essence ?? ""
        let isText = ["json", "xml", "text/", "x-www-form-urlencoded"].contains { kind.contains($0) }
        guard isText, !data.isEmpty, data.count <= 100_000,
            let text = String(data: redaction.body(data, type: type), encoding: .utf8)
        else { return "\(data.count) bytes" }
        return text
    }
}
