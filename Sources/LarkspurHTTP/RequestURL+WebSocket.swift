extension RequestURL {
    /// The URL with `http` in place of `ws`, and `https` in place of `wss`. The handshake of a WebSocket is an HTTP
    /// request, so credentials, cookies and trust for an https origin hold for its wss origin, too.
    package var forHandshake: RequestURL {
        switch scheme {
        case "ws": (try? with(scheme: "http")) ?? self
        case "wss": (try? with(scheme: "https")) ?? self
        default: self
        }
    }

    /// Returns the URL with `https` in place of its scheme. A port in the URL is kept. Throws if the URL is too long
    /// for another byte.
    package func overTLS() throws(RequestURLError) -> RequestURL { try with(scheme: "https") }

    private func with(scheme replacement: String) throws(RequestURLError) -> RequestURL {
        // Path and query stay as they are, because a URL that was created verbatim must keep them.
        let url = try RequestURL(verbatim: replacement + text.dropFirst(scheme.count))
        return RequestURL(text: url.text, layout: url.layout, userInfo: userInfo, secretItems: secretItems)
    }
}
