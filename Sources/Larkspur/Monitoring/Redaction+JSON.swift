extension Redaction {
    /// Returns a JSON value without its secrets: the values of members with secret names, and secrets in strings that
    /// are URLs, forms, JSON or GraphQL.
    func json(_ value: JSON) -> JSON { json(value, of: nil, depth: 0) }

    /// Returns a JSON value without its secrets, where the value may be part of another value.
    ///
    /// - Parameters:
    ///   - name: The name of the object member that has this value. For an element of an array, the name of the member
    ///     that has the array.
    ///   - depth: The number of JSON strings, one inside the other, whose text contains this value.
    private func json(_ value: JSON, of name: String?, depth: Int) -> JSON {
        switch value {
        case .null, .bool, .number: return value
        case .string(let text): return .string(self.text(text, of: name, depth: depth))
        case .array(let elements): return .array(elements.map { json($0, of: name, depth: depth) })
        case .object(let members):
            let isPair = isNamedSecret(members)
            return .object(
                JSON.Object(
                    members.map { key, value in
                        let isSecret = hides(key, in: name) || isPair && Self.values.contains(key.lowercased())
                        let shown = json(value, of: key, depth: depth)
                        return (key, isSecret && !value.isNull ? .string(Self.replacement) : shown)
                    }))
        }
    }

    /// Returns whether one member names a secret and another has its value: `{"name": "password", "value": "hunter2"}`.
    private func isNamedSecret(_ members: JSON.Object) -> Bool {
        members.contains { key, value in
            Self.names.contains(key.lowercased()) && value.string.map { hides($0) } == true
        }
    }

    private static let names: Set = ["field", "header", "key", "name", "parameter"]
    private static let values: Set = ["data", "text", "val", "value", "values"]
    /// The maximum depth to which JSON inside JSON strings is parsed.
    private static let depthLimit = 2

    private func text(_ text: String, of name: String?, depth: Int) -> String {
        let start = text.first { !$0.isWhitespace }
        let isJSON = start == "{" || start == "["
        if isJSON, depth < Self.depthLimit, let value = try? JSON(text: text), value.object != nil || value.array != nil
        {
            let shown = json(value, of: name, depth: depth + 1)
            return shown == value ? text : shown.text()
        }
        if isGraphQL(text, of: name) { return graphQL(text) }
        if text.contains("="), !text.contains(where: \.isWhitespace) {
            let shown = form(text)
            if shown != text, !text.contains("?") { return shown }
        }
        if text.contains(where: "{[<".contains), namesSecret(in: text) { return Self.replacement }
        return reference(text)
    }
}
