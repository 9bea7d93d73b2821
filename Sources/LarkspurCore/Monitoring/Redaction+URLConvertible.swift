extension Redaction {
    /// Returns the text of a URL without its secrets. If the `switch` has no case for the type, returns only the type's
    /// name, because user code computes the URL of such a type.
    package static func shown(_ url: any URLConvertible) -> String {
        switch url {
        case let url as RequestURL: url.description
        case let url as URL: shown(url.absoluteString)
        case let components as URLComponents: components.string.map(shown) ?? "\(URLComponents.self)"
        case let text as String: shown(text)
        default: "\(type(of: url))"
        }
    }

    private static func shown(_ text: String) -> String {
        if let url = try? RequestURL(text), url.host != nil { return url.description }
        return String(quoted(text).dropFirst().dropLast())
    }
}
