extension Redaction {
    /// Returns a JSON value without its secrets: the values of members with secret names, and secrets in strings that
    /// are URLs, forms, JSON or GraphQL. Returns nil if the value has no secrets.
    func json(_ value: JSON) -> JSON? { json(value, of: nil, depth: 0) }

    /// Returns a JSON value without its secrets, where the value may be part of another value; nil if it has none.
    ///
    /// - Parameters:
    ///   - name: The name of the object member that has this value. For an element of an array, the name of the member
    ///     that has the array.
    ///   - depth: The number of JSON strings, one inside the other, whose text contains this value.
    private func json(_ value: JSON, of name: String?, depth: Int) -> JSON? {
        switch value {
        case .null, .bool, .number: return nil
        case .string(let text): return self.text(text, of: name, depth: depth).map(JSON.string)
        case .array(var elements):
            var isChanged = false
            for index in elements.indices {
                guard let shown = json(elements[index], of: name, depth: depth) else { continue }
                elements[index] = shown
                isChanged = true
            }
            return isChanged ? .array(elements) : nil
        case .object(let members):
            let isPair = isNamedSecret(members)
            var values = members.map(\.value)
            var isChanged = false
            for (index, (key, value)) in members.enumerated() {
                let isSecret = hides(key, in: name) || isPair && Self.values.contains(key.lowercased())
                // `true` and `false` are no secrets: `"private": false` is about an object of any kind.
                let isFlag = value.isNull || value.bool != nil
                let shown =
                    isSecret && !isFlag ? .string(Self.replacement) : json(value, of: key, depth: depth)
                guard let shown else { continue }
                values[index] = shown
                isChanged = true
            }
            return isChanged ? .object(members.with(values)) : nil
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

    /// Returns a string of JSON without its secrets; nil if it has none.
    private func text(_ text: String, of name: String?, depth: Int) -> String? {
        guard text.has(anyOf: "{[<=@?#;") else {
            let shown = withoutTokens(text)
            return shown == text ? nil : shown
        }
        let shown = redacted(text, of: name, depth: depth)
        return shown == text ? nil : shown
    }

    private func redacted(_ text: String, of name: String?, depth: Int) -> String {
        let start = text.first { !$0.isWhitespace }
        let isJSON = start == "{" || start == "["
        if isJSON, depth < Self.depthLimit, let value = try? JSON(keepingDuplicatesOf: Data(text.utf8)),
            value.object != nil || value.array != nil
        {
            return json(value, of: name, depth: depth + 1)?.text() ?? text
        }
        if isGraphQL(text, of: name) { return graphQL(text) }
        if text.has(anyOf: "="), !text.contains(where: \.isWhitespace) {
            let shown = form(text)
            if shown != text, !text.contains("?") { return shown }
        }
        if text.has(anyOf: "{[<"), namesSecret(in: text) { return Self.replacement }
        return reference(text)
    }
}
