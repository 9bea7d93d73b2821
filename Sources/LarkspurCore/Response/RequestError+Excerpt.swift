extension CompletedExchange {
    /// The explanations of a refused response in an error's line: the beginning of its body, and the meaning of a 401.
    /// They are made when the line is printed, because most errors are not printed.
    var remarks: [String] {
        [body, credentials].compactMap(\.self)
    }

    /// The maximum size in bytes of a body that is shown. Redaction needs the whole body.
    private static let excerptSource = 64 * 1_024
    private static let excerptCount = 120

    /// The type and the length of the body; of JSON, HTML and XML the beginning too, without secrets. Other text may
    /// have secrets of no known form.
    private var body: String? {
        guard let data, !data.isEmpty, request?.method != .head else { return nil }
        let type = head?["Content-Type"]
        let name = type.map { String($0.essence.prefix(60)).printable } ?? "of no type"
        let start = "the body (\(name), \(UInt64(data.count).byteText))"
        guard data.count <= Self.excerptSource, ["json", "html", "xml"].contains(where: name.contains) else {
            return start
        }
        // A server may repeat the secrets of the request.
        let rules = request?.redaction(extending: .standard) ?? .standard
        guard var text = String(data: rules.body(data, type: type), encoding: .utf8) else { return start }
        for value in queryValues { text = text.replacing(value, with: "REDACTED") }
        let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let rest = words.count > Self.excerptCount ? "…" : ""
        return "\(start) is \"\(String(words.prefix(Self.excerptCount)).printable)\(rest)\""
    }

    /// The values of the request's query, which no error shows. Values of one or two characters occur in any text.
    private var queryValues: [String] {
        let items = request?.url.query?.split(separator: "&") ?? []
        let values = items.flatMap { item -> [String] in
            let value = String(item.split(separator: "=", maxSplits: 1).last ?? item)
            return [value, value.percentDecoded ?? value]
        }
        return Set(values).filter { $0.count > 2 }.sorted { $0.count > $1.count }
    }

    /// Whether the server has refused credentials, or wants some.
    private var credentials: String? {
        guard head?.status == 401, let request else { return nil }
        return request.headers["Authorization"] == nil
            ? "the request had no Authorization field; the guide \"Tokens and credentials\" shows how to send one"
            : "the server refused the credentials of the request"
    }
}
