/// The beginning of a body as lines for people: JSON indented, forms a field on each line, other text as it is.
struct BodyPreview {
    let redaction: Redaction
    /// How many characters are shown.
    let limit: Int

    /// Longer bodies are not looked into: what is secret in them could not be told without reading them as a whole.
    private static let sizeLimit = 256 * 1024
    /// Of larger JSON, deep and wide, the indentation alone could fill the memory.
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
        let lines = shown.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map {
            String($0).replacing("\t", with: "    ").printable
        }
        return lines + (rest > 0 ? ["… \(UInt64(rest).byteText) more"] : [])
    }

    /// What may be shown of it; nil for what is no text, or not the text that it should be.
    private func text(_ data: Data, _ type: String, _ kind: String) -> String? {
        let isText = ["json", "xml", "text/", "javascript", "x-www-form-urlencoded", "multipart/form-data"]
        guard isText.contains(where: kind.contains) else { return nil }
        let shown = redaction.body(data, type: type)
        if let json = try? JSON(data: shown), json.array != nil || json.object != nil {
            return json.text(data.count <= Self.indentedLimit ? .prettyPrinted : [])
        }
        // With zeros in it, it is of another encoding, in which no name was found.
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
