/// The query of a request, named apart from the body.
///
///     let listed = await session.request("users", query: ["page": 2, "name": name])
///     let kept = await session.upload(photo, to: "photos", query: .items([URLQueryItem(name: "album", value: "7")]))
///
/// The query is added to the query of the URL, for every method. A literal may have values of different types. A nested
/// literal needs `as JSON`.
public struct RequestQuery: Sendable, ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral {
    private let content: RequestContent

    /// Creates the query of any `Encodable` value, written as a form. For other formats of arrays, dates and the like
    /// pass the ``URLEncodedFormEncoder/queryItems(of:)`` of a form encoder to ``items(_:)``.
    public init(_ value: some Encodable & Sendable) {
        content = .encoded(value, by: .urlEncodedForm(destination: .queryString))
    }

    public init(dictionaryLiteral elements: (String, (any Encodable & Sendable)?)...) {
        self.init(MixedParameters(elements))
    }

    public init(arrayLiteral items: URLQueryItem...) { self = .items(items) }

    private init(_ content: RequestContent) { self.content = content }

    /// Returns the query of query items, in their order. Names and values are escaped. An item without a value has no
    /// equals sign.
    public static func items(_ items: some Sequence<URLQueryItem>) -> RequestQuery {
        let text = items.map { $0.name.percentEncoded + ($0.value.map { "=\($0.percentEncoded)" } ?? "") }
            .joined(separator: "&")
        return RequestQuery(RequestContent { $0.url = try $0.url.appendingQuery(text) })
    }

    /// Returns the content of a request that has this query and this body.
    func beside(_ body: RequestContent?) -> RequestContent {
        guard let body else { return content }
        return RequestContent {
            try body.write(&$0)
            try content.write(&$0)
        }
    }
}
