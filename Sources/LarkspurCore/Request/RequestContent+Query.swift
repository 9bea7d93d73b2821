extension RequestContent {
    /// Returns the content with query items, which are added to the query of the URL in their order.
    static func query(_ items: [URLQueryItem], beside body: RequestContent?) -> RequestContent {
        let text = items.map { $0.name.percentEncoded + ($0.value.map { "=\($0.percentEncoded)" } ?? "") }
            .joined(separator: "&")
        return RequestContent {
            try body?.write(&$0)
            $0.url = try $0.url.appendingQuery(text)
        }
    }
}
