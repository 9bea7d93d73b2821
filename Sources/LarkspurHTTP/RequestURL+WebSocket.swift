extension RequestURL {
    /// The URL with `http` in place of `ws`, and `https` in place of `wss`. The handshake of a WebSocket is an HTTP
    /// request, so credentials, cookies and trust for an https origin hold for its wss origin, too.
    package var forHandshake: RequestURL {
        let replacement: String
        switch scheme {
        case "ws": replacement = "http"
        case "wss": replacement = "https"
        default: return self
        }
        guard let url = try? RequestURL(replacement + text.dropFirst(scheme.count)) else { return self }
        return RequestURL(text: url.text, layout: url.layout, userInfo: userInfo, secretItems: secretItems)
    }
}
