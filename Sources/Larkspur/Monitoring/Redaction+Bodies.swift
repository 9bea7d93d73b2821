extension Redaction {
    /// Returns a body without the values of secrets. JSON is redacted with any content type. GraphQL, URL-encoded forms
    /// and multipart forms are redacted if the content type names their format.
    ///
    /// Any other body is returned unchanged, unless it contains the name of a secret. In that case the position of the
    /// secret's value is unknown, and the result contains only the body's size in bytes.
    public func body(_ data: Data, type: String?) -> Data {
        if isNone || data.isEmpty { return data }
        let kind = type?.lowercased() ?? ""
        if let json = try? JSON(data: data), json.array != nil || json.object != nil {
            return self.json(json)?.data() ?? data
        }
        let text = String(decoding: data, as: UTF8.self)
        if kind.has("x-www-form-urlencoded") {
            let shown = form(text)
            return shown == text ? data : Data(shown.utf8)
        }
        if let type, kind.hasPrefix("multipart/form-data"), let shown = parts(data, type) { return shown }
        if kind.has("graphql") {
            let shown = graphQL(text)
            return shown == text ? data : Data(shown.utf8)
        }
        let isSecret = hasFragment(in: text) || namesSecret(in: text)
        return isSecret ? Data("\(Self.replacement) (\(data.count) bytes)".utf8) : data
    }

    /// Returns a multipart form (RFC 7578) without the content of parts with secret names, and without secrets in the
    /// other parts. Returns nil if the body does not contain the boundary that the type names.
    private func parts(_ data: Data, _ type: String) -> Data? {
        guard let boundary = type.parameters["boundary"], !boundary.isEmpty,
            data.firstRange(ofBytes: Data("--\(boundary)".utf8)) != nil
        else { return nil }
        let delimiter = Data("\r\n--\(boundary)".utf8)
        var shown = Data()
        var rest = data[...]
        while !rest.isEmpty {
            let end = rest.firstRange(ofBytes: delimiter)?.lowerBound ?? rest.endIndex
            shown += part(rest[..<end])
            let next = rest.index(end, offsetBy: delimiter.count, limitedBy: rest.endIndex) ?? rest.endIndex
            shown += rest[end..<next]
            rest = rest[next...]
        }
        return shown
    }

    private func part(_ data: Data) -> Data {
        guard let end = data.firstRange(ofBytes: Data("\r\n\r\n".utf8))?.upperBound else { return data }
        let header = String(decoding: data[..<end], as: UTF8.self)
        let names = /(?i)[;\s]name=(?:"([^"]*)|([^";\s]*))/.matchingSemantics(.unicodeScalar)
        if let name = header.firstMatch(of: names)?.output, hides(String(name.1 ?? name.2 ?? "")) {
            return data[..<end] + Data(Self.replacement.utf8)
        }
        let types = /(?i)\ncontent-type:[ \t]*([^\r\n]*)/.matchingSemantics(.unicodeScalar)
        let type = header.firstMatch(of: types).map { String($0.output.1) }
        // A multipart form inside a part is handled as text, because recursion into deeply nested forms could overflow
        // the stack.
        let isForm = type?.lowercased().hasPrefix("multipart") ?? false
        return data[..<end] + body(Data(data[end...]), type: isForm ? nil : type)
    }
}

extension Data {
    /// Returns the first range with exactly these bytes; nil if there is none.
    fileprivate func firstRange(ofBytes pattern: Data) -> Range<Index>? {
        guard let first = pattern.first else { return nil }
        var position = startIndex
        while let start = self[position...].firstIndex(of: first) {
            if self[start...].starts(with: pattern) { return start..<start + pattern.count }
            position = start + 1
        }
        return nil
    }
}
