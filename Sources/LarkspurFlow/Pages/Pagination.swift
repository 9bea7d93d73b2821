/// The rule that finds the next page of a list.
public struct Pagination<Value: Sendable>: Sendable {
    /// The page after a response.
    enum Next: Sendable {
        case page(any URLConvertible)
        /// The response is the last page.
        case end
        /// The response is not a page: it only tells that the page before was the last one.
        case endBefore
    }

    /// Changes the URL of the first page.
    let first: @Sendable (RequestURL) throws -> RequestURL
    /// Returns the page after a response.
    let next: @Sendable (DataResponse<Value>, Value, RequestURL) async throws -> Next

    /// Creates a pagination. The URL is that of the response, after redirects.
    init(
        first: @escaping @Sendable (RequestURL) throws -> RequestURL = { $0 },
        next: @escaping @Sendable (DataResponse<Value>, Value, RequestURL) async throws -> Next
    ) {
        (self.first, self.next) = (first, next)
    }

    /// Follows the link with the relation `next` in the `Link` field (RFC 8288). A link that is about another resource,
    /// as its `anchor` says, is ignored.
    public static var linkHeader: Pagination {
        Pagination { response, _, url in
            for link in response.head?.links ?? [] where link.relations.contains("next") {
                if let anchor = link.anchor {
                    guard let context = try? url.resolving(anchor), context.text == url.text else { continue }
                }
                return .page(try url.resolving(link.target))
            }
            return .end
        }
    }

    /// Sends the cursor that the body of a page has for the next page, as a query parameter. The last page has none, or
    /// an empty one.
    ///
    ///     .cursor(in: \.nextCursor, parameter: "cursor")
    ///
    /// - Parameters:
    ///   - cursor: Returns the cursor of a page.
    ///   - parameter: The name of the query parameter.
    public static func cursor(
        in cursor: @escaping @Sendable (Value) -> String?, parameter: String
    ) -> Pagination {
        Pagination { _, value, url in try next(cursor(value), url, parameter) }
    }

    /// Sends the cursor at a place in the JSON body of a page, as a query parameter. A number is a cursor, too.
    ///
    ///     .cursor(in: "meta.next_cursor", parameter: "cursor")
    ///
    /// - Parameters:
    ///   - path: The names of members, with dots between them.
    ///   - parameter: The name of the query parameter.
    public static func cursor(in path: String, parameter: String) -> Pagination {
        Pagination { response, _, url in
            var place = try? JSON.Decoder().decode(JSON.self, from: response.data ?? Data())
            for name in path.split(separator: ".") { place = place?[String(name)] }
            let cursor = place.flatMap { $0.string ?? $0.int.map { "\($0)" } }
            return try next(cursor, url, parameter)
        }
    }

    private static func next(_ cursor: String?, _ url: RequestURL, _ parameter: String) throws -> Next {
        guard let cursor, !cursor.isEmpty else { return .end }
        return .page(try url.setting(parameter, to: cursor))
    }

    /// Counts pages in a query parameter. If the URL of the first page has the parameter, counting starts there.
    ///
    /// - Parameters:
    ///   - parameter: The name of the query parameter.
    ///   - first: The number of the first page; 1 by default.
    ///   - isLast: Returns whether a page is the last one.
    public static func pageNumber(
        parameter: String, first: Int = 1, isLast: @escaping @Sendable (Value) -> Bool
    ) -> Pagination {
        number(parameter, first) { isLast($0) ? .end : nil }
    }

    /// Asks a closure for the URL of the page after a response; nil after the last page.
    public static func custom(
        _ next: @escaping @Sendable (DataResponse<Value>) async throws -> (any URLConvertible)?
    ) -> Pagination {
        Pagination { response, _, url in
            guard let target = try await next(response) else { return .end }
            if let text = target as? String { return .page(try url.resolving(text)) }
            return .page(target)
        }
    }

    fileprivate static func number(
        _ parameter: String, _ first: Int, _ end: @escaping @Sendable (Value) -> Next?
    ) -> Pagination {
        Pagination { url in
            url.number(of: parameter) == nil ? try url.setting(parameter, to: "\(first)") : url
        } next: { _, value, url in
            if let end = end(value) { return end }
            let (next, isTooLarge) = (url.number(of: parameter) ?? first).addingReportingOverflow(1)
            return isTooLarge ? .end : .page(try url.setting(parameter, to: "\(next)"))
        }
    }
}

extension Pagination where Value: Collection {
    /// Counts pages in a query parameter, up to the first page without elements, which is not delivered. If the URL of
    /// the first page has the parameter, counting starts there.
    public static func pageNumber(parameter: String, first: Int = 1) -> Pagination {
        number(parameter, first) { $0.isEmpty ? .endBefore : nil }
    }
}

extension RequestURL {
    private func items() -> [Substring] { query?.split(separator: "&", omittingEmptySubsequences: false) ?? [] }

    private static func name(_ item: Substring) -> String {
        String(item.prefix { $0 != "=" }).formDecoded
    }

    fileprivate func number(of parameter: String) -> Int? {
        items().first { Self.name($0) == parameter }.flatMap { Int($0.drop { $0 != "=" }.dropFirst()) }
    }

    /// Returns the URL with a query item in place of those with the same name.
    fileprivate func setting(_ parameter: String, to value: String) throws -> RequestURL {
        let item = "\(parameter.percentEncoded)=\(value.percentEncoded)"
        let kept = items().filter { Self.name($0) != parameter && !$0.isEmpty }.map(String.init)
        return try resolving("?" + (kept + [item]).joined(separator: "&"))
    }
}
