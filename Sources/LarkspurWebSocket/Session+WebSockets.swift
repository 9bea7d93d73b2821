// Connections that send and receive messages.

extension Session {
    /// Makes a WebSocket. It connects when its messages are read, when a message is sent, or when `resume()` is called.
    ///
    ///     let socket = await session.webSocket("wss://chat.example.com/room", protocols: ["chat.v2"])
    ///     try await socket.send("hello")
    ///     for try await message in socket.messages { … }
    ///
    /// - Parameters:
    ///   - target: A URL in any form, relative to the session's base URL, or a complete request. The schemes `ws` and
    ///     `wss` mean the same as `http` and `https`.
    ///   - protocols: The names of the protocols to offer, by preference; none by default.
    ///   - parameters: Any `Encodable` value, which the encoder puts into the query.
    ///   - encoder: The encoder of the parameters. Nil, the default, uses the session's encoder.
    ///   - headers: The header fields. In a complete request, they replace the fields with the same names.
    ///   - options: The settings of the connection: pings, limits, compression and reconnection.
    ///   - interceptor: An interceptor for this request, called after the session's interceptors.
    ///   - startsAutomatically: Whether reading or sending starts the request. Nil, the default, uses the session's
    ///     configuration.
    ///   - requestModifier: A closure that changes the handshake's request. It is called for each connection.
    public func webSocket<Parameters: Encodable & Sendable>(
        _ target: any RequestTarget, protocols: [String] = [], parameters: Parameters? = Optional<JSON>.none,
        encoder: (any ParameterEncoder)? = nil, headers: HTTPHeaders = [:],
        options: WebSocketOptions = WebSocketOptions(), interceptor: (any RequestInterceptor)? = nil,
        startsAutomatically: Bool? = nil, requestModifier: RequestModifier? = nil
    ) -> WebSocketRequest {
        let source = RequestSource(
            target, nil, headers,
            modifier: { request in
                request.url = request.url.forHandshake
                try await requestModifier?(&request)
                request.url = request.url.forHandshake
            }, content: content(parameters, encoder, nil))
        let socket = WebSocketCore(options, protocols: protocols)
        let core = makeCore(source, interceptor, startsAutomatically, socket)
        core.validateFirst { try socket.check($0) }
        return WebSocketRequest(core: core, socket: socket)
    }
}
