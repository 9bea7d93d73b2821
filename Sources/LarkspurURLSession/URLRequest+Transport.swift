extension URLRequest {
    /// Creates a request of Foundation with the method and the fields of a hop, without its body. Nil if Foundation
    /// does not accept the URL.
    package init?(_ request: TransportRequest) {
        guard let url = URL(string: request.url.withoutUserInfo.text) else { return nil }
        self.init(url: url)
        httpMethod = request.method
        for field in request.fields { addValue(field.value, forHTTPHeaderField: field.name) }
    }
}
