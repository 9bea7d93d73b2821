extension Session {
    /// A shared session with the default configuration, without interceptors and monitors.
    public static let `default` = Session()

    /// Creates a session.
    ///
    /// - Parameters:
    ///   - configuration: The settings. Later changes to the value do not affect the session.
    ///   - transport: The transport that sends requests; nil uses the platform's default: libcurl on Linux, URLSession
    ///     on Apple's platforms.
    ///   - interceptor: An interceptor, called after the interceptors of the configuration.
    ///   - eventMonitors: Monitors in addition to the monitors of the configuration.
    public init(
        configuration: SessionConfiguration = SessionConfiguration(), transport: (any Transport)? = nil,
        interceptor: (any RequestInterceptor)? = nil, eventMonitors: [any EventMonitor] = []
    ) {
        self.init(
            configuration: configuration, transport: transport ?? PlatformEngine.make(), interceptor: interceptor,
            eventMonitors: eventMonitors)
    }
}

/// The platform's engine: libcurl on Linux, URLSession on Apple's platforms, and on other systems a transport that only
/// fails.
enum PlatformEngine {
    static func make() -> any Transport {
        #if canImport(Darwin)
            URLSessionTransport()
        #elseif os(Linux)
            CurlTransport()
        #else
            UnavailableTransport(
                "Larkspur has no built-in transport for this platform; pass one with Session(transport:), in tests a "
                    + "StubTransport")
        #endif
    }
}
