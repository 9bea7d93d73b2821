/// The beginning of a body as readable lines: JSON indented, one form field per line, other text unchanged.
struct BodyPreview {
    let redaction: Redaction
    /// The maximum number of characters shown.
    let limit: Int

    /// The maximum size in bytes of a body whose text is shown. Redaction needs the whole body, so the preview of a
    /// longer body contains only its size.
    private static let sizeLimit = 256 * 1024
    /// The maximum size in bytes of JSON that is indented. The indentation of deeply nested JSON can be far larger than
    /// the JSON.
    private static let indentedLimit = 32 * 1024

    func lines(of data: Data, type: String?) -> [String] {
        if data.isEmpty { return [] }
        let type = type ?? MIMEType.ofContent(data)
        let kind = type.essence
        guard data.count <= Self.sizeLimit, let text = text(data, type, kind) else {
            return ["(\(kind), \(UInt64(data.count).byteText))".printable]
        }
        let shown = text.prefix(limit)
        let rest = text.utf8.count - shown.utf8.count
        var lines = shown.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map {
            String($0).replacing("\t", with: "    ").printable
        }
        if rest > 0 { lines.append("… \(UInt64(rest).byteText) more") }
        return lines
    }

    /// Returns the redacted text of the body. Returns nil if the body is not text or does not match its type, or if the
    /// body names a secret whose value cannot be found.
    private func text(_ data: Data, _ type: String, _ kind: String) -> String? {
        let isText = ["json", "xml", "text/", "javascript", "x-www-form-urlencoded", "multipart/form-data"]
        guard isText.contains(where: kind.contains) else { return nil }
        let shown = redaction.body(data, type: type)
        if let json = try? JSON(keepingDuplicatesOf: shown), json.array != nil || json.object != nil {
            return json.text(data.count <= Self.indentedLimit ? .prettyPrinted : [])
        }
        // A zero byte shows that the text is not UTF-8, but for example UTF-16. In such a text the redaction cannot
        // find the names of secrets.
        guard !shown.contains(0), let text = String(data: shown, encoding: .utf8) else { return nil }
        if kind.contains("x-www-form-urlencoded") { return form(text) }
        if kind.contains("multipart/form-data") { return text }
        return kind.contains("json") || redaction.namesSecret(in: text) ? nil : text
    }

    private func form(_ text: String) -> String {
        text.split(separator: "&").map { pair in
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return sides.map { String($0).formDecoded }.joined(separator: " = ").printable
        }.joined(separator: "\n")
    }
}
