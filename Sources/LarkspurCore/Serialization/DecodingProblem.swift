/// The error messages of failed decoding. A message contains the reason and the coding path. If the server has sent an
/// HTML page, the message contains only the beginning of that page.
package enum DecodingProblem {
    private static let shownCount = 120

    static func message(
        _ error: any Error, decoding type: Any.Type, from data: Data, using decoder: any DataDecoder,
        contentType: String?
    ) -> String {
        let essence = contentType?.essence ?? ""
        if isHTML(data, essence) {
            return "the body is HTML, which cannot be decoded as \(type); it begins with \(beginning(of: data))"
        }
        let isJSON = essence.isEmpty || essence.contains("json")
        let body = isJSON ? "the body" : "the body, \(essence.prefix(60).debugDescription),"
        return "\(body) cannot be decoded as \(type): \(description(of: error, in: data, using: decoder))"
    }

    /// The maximum size of a body that is parsed again to find the position of an error, in bytes.
    private static let parsedCount = 1 << 24

    /// Returns the description of a decoder's error. The errors of ``JSON/Decoder`` contain the position. If a
    /// `JSONDecoder` has failed because the data is not valid JSON, parses the data again to find the position.
    package static func description(of error: any Error, in data: Data, using decoder: any DataDecoder) -> String {
        if decoder is JSON.Decoder, let context = (error as? DecodingError)?.context {
            return context.debugDescription + place(of: context)
        }
        guard decoder is JSONDecoder, data.count <= parsedCount,
            case DecodingError.dataCorrupted(let context)? = error as? DecodingError, context.codingPath.isEmpty
        else { return description(of: error) }
        do { _ = try JSON(data: data) } catch { return "it is not valid JSON, \(error)" }
        return description(of: error)
    }

    /// Returns the description of a decoder's error in one line, without the names of Swift's enum cases.
    package static func description(of error: any Error) -> String {
        guard let error = error as? DecodingError else { return "\(error)" }
        switch error {
        case .keyNotFound(let key, let context): return "no value for \(quoted(key.stringValue))\(place(of: context))"
        case .valueNotFound(let type, let context):
            return "null, or the end of an array, instead of \(type)\(place(of: context))"
        case .typeMismatch(_, let context): return context.debugDescription + place(of: context)
        case .dataCorrupted(let context):
            let reason = context.underlyingError.flatMap(FoundationError.debugDescription(of:))
            return [context.debugDescription, reason].compactMap(\.self).joined(separator: " ") + place(of: context)
        @unknown default: return "\(error)"
        }
    }

    /// Returns the coding path as a suffix of a message, such as `, at "users[3].name"`; empty if the error is about
    /// the whole value.
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

    /// Returns the text in quotes, shortened and escaped, because the server may control the keys of a coding path.
    private static func quoted(_ text: String) -> String { String(text.prefix(shownCount)).debugDescription }

    private static func isHTML(_ data: Data, _ essence: String) -> Bool {
        if essence.contains("html") { return true }
        let text = String(decoding: data.prefix(200), as: UTF8.self).drop(while: \.isWhitespace).lowercased()
        return text.hasPrefix("<!doctype html") || text.hasPrefix("<html")
    }

    /// Returns the beginning of the body's text in quotes, on one line and without secrets.
    private static func beginning(of data: Data) -> String {
        let words = String(decoding: data.prefix(1_000), as: UTF8.self).split(whereSeparator: \.isWhitespace)
        let text = words.joined(separator: " ")
        let shown = Redaction.standard.body(Data(text.prefix(shownCount).utf8), type: "text/html")
        let rest = text.count > shownCount || data.count > 1_000 ? "…" : ""
        return "\"\(String(decoding: shown, as: UTF8.self).printable)\(rest)\""
    }
}

extension DecodingError {
    fileprivate var context: Context? {
        switch self {
        case .keyNotFound(_, let context), .valueNotFound(_, let context), .typeMismatch(_, let context),
            .dataCorrupted(let context):
            context
        @unknown default: nil
        }
    }
}
