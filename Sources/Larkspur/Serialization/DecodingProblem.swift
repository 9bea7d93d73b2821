/// Says why a body makes no value of a type: in words, with the place in the value, and with the beginning of a page that came
/// instead of data.
enum DecodingProblem {
    private static let shownCount = 120

    static func message(_ error: any Error, decoding type: Any.Type, from data: Data, contentType: String?) -> String {
        let essence = contentType?.essence ?? ""
        if isHTML(data, essence) {
            return "the body is HTML, and not the data of a \(type): it begins with \(beginning(of: data))"
        }
        let isJSON = essence.isEmpty || essence.contains("json")
        let body = isJSON ? "the body" : "the body, \(essence.prefix(60).debugDescription),"
        return "\(body) is not a \(type): \(words(for: error))"
    }

    /// An error of a decoder in one line, without the names of its Swift cases.
    static func words(for error: any Error) -> String {
        guard let error = error as? DecodingError else { return "\(error)" }
        switch error {
        case .keyNotFound(let key, let context): return "no value for \(quoted(key.stringValue))\(place(of: context))"
        case .valueNotFound(let type, let context):
            return "null, or the end of an array, instead of a \(type)\(place(of: context))"
        case .typeMismatch(_, let context): return context.debugDescription + place(of: context)
        case .dataCorrupted(let context):
            let reason = (context.underlyingError as? NSError)?.userInfo["NSDebugDescription"] as? String
            return [context.debugDescription, reason].compactMap(\.self).joined(separator: " ") + place(of: context)
        @unknown default: return "\(error)"
        }
    }

    /// ` at users[3].name`; nothing for the value as a whole.
    private static func place(of context: DecodingError.Context) -> String {
        guard !context.codingPath.isEmpty else { return "" }
        let path = context.codingPath.reduce(into: "") { path, key in
            if let index = key.intValue {
                path += "[\(index)]"
            } else {
                path += (path.isEmpty ? "" : ".") + key.stringValue
            }
        }
        return ", at \(quoted(path))"
    }

    /// Names in a path may be the server's.
    private static func quoted(_ text: String) -> String { String(text.prefix(shownCount)).debugDescription }

    private static func isHTML(_ data: Data, _ essence: String) -> Bool {
        if essence.contains("html") { return true }
        let text = String(decoding: data.prefix(200), as: UTF8.self).drop(while: \.isWhitespace).lowercased()
        return text.hasPrefix("<!doctype html") || text.hasPrefix("<html")
    }

    /// In quotes, on one line and without secrets.
    private static func beginning(of data: Data) -> String {
        let words = String(decoding: data.prefix(1_000), as: UTF8.self).split(whereSeparator: \.isWhitespace)
        let text = words.joined(separator: " ")
        let shown = Redaction.standard.body(Data(text.prefix(shownCount).utf8), type: "text/html")
        let rest = text.count > shownCount || data.count > 1_000 ? "…" : ""
        return "\"\(String(decoding: shown, as: UTF8.self).printable)\(rest)\""
    }
}
