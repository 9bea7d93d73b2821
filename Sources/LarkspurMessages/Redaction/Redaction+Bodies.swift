extension Redaction {
    /// Returns a body without the values of secrets. JSON is redacted with any content type. GraphQL, URL-encoded forms
    /// and multipart bodies are redacted if the content type names their format. Of a multipart body, what cannot be
    /// parsed is hidden.
    ///
    /// In any other body, only secrets of a known form are hidden, such as JSON web tokens. If the body contains the
    /// name of a secret, the position of the secret's value is unknown, and the result contains only the body's size
    /// in bytes.
    public func body(_ data: Data, type: String?) -> Data {
        if isNone || data.isEmpty { return data }
        let kind = type?.lowercased() ?? ""
        if let json = try? JSON(keepingDuplicatesOf: data), json.array != nil || json.object != nil {
            return self.json(json)?.data() ?? data
        }
        if let type, type.essence.hasPrefix("multipart/") { return multipart(data, type: type) }
        let text = String(decoding: data, as: UTF8.self)
        if kind.has("x-www-form-urlencoded") {
            let shown = form(text)
            return shown == text ? data : Data(shown.utf8)
        }
        if kind.has("graphql") {
            let shown = graphQL(text)
            return shown == text ? data : Data(shown.utf8)
        }
        if hasFragment(in: text) || namesSecret(in: text) || Self.isUntypedForm(text) {
            return Self.size(of: data)
        }
        let shown = withoutTokens(text)
        if shown == text { return data }
        // Outside of UTF-8, the bytes of the text are not those of the body.
        return text.utf8.elementsEqual(data) ? Data(shown.utf8) : Self.size(of: data)
    }

    /// Returns what is shown instead of a hidden body.
    static func size(of data: Data) -> Data { Data("\(replacement) (\(data.count) bytes)".utf8) }

    /// Returns whether a text is a multipart form, although its content type is another.
    private static func isUntypedForm(_ text: String) -> Bool {
        text.utf8.starts(with: "--".utf8) && text.has("form-data")
    }
}
