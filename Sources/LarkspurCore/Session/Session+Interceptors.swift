extension Session {
    /// Creates a session over a transport, with several interceptors.
    ///
    /// - Parameters:
    ///   - configuration: The settings. Later changes to the value do not affect the session.
    ///   - transport: The transport that sends requests.
    ///   - interceptors: The interceptors in order, called after the interceptors of the configuration.
    ///   - eventMonitors: Monitors in addition to the monitors of the configuration.
    public init(
        configuration: SessionConfiguration = SessionConfiguration(), transport: any Transport,
        interceptors: [any RequestInterceptor], eventMonitors: [any EventMonitor] = []
    ) {
        self.init(
            configuration: configuration, transport: transport, interceptor: .composed(interceptors),
            eventMonitors: eventMonitors)
    }
}
