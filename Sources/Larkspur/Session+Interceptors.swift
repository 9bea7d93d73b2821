extension Session {
    /// Creates a session with several interceptors.
    ///
    ///     let session = Session(configuration: .validated, interceptors: [.authentication(tokens), .retry()])
    ///
    /// - Parameters:
    ///   - configuration: The settings. Later changes to the value do not affect the session.
    ///   - transport: The transport that sends requests; nil uses the platform's default.
    ///   - interceptors: The interceptors in order, called after the interceptors of the configuration.
    ///   - eventMonitors: Monitors in addition to the monitors of the configuration.
    public init(
        configuration: SessionConfiguration = SessionConfiguration(), transport: (any Transport)? = nil,
        interceptors: [any RequestInterceptor], eventMonitors: [any EventMonitor] = []
    ) {
        self.init(
            configuration: configuration, transport: transport ?? PlatformEngine.make(), interceptors: interceptors,
            eventMonitors: eventMonitors)
    }
}
