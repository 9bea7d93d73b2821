/// The settings of a ``Session``. The configuration is a value: later changes do not affect sessions that were created
/// from it.
///
///     let configuration = SessionConfiguration {
///         $0.headers = ["Accept": "application/json"]
///         $0.validation = [.standard]
///     }
public struct SessionConfiguration: Sendable {
    /// The base of relative URLs; nil by default. With the base `https://api.example.com/v1`, `users/7` means
    /// `https://api.example.com/v1/users/7`.
    ///
    /// The base's path is used as a folder, with or without a slash at its end. Otherwise RFC 3986 applies: `/users`
    /// replaces the path, `//host/users` also replaces the host, and a URL with a scheme replaces everything. Without a
    /// base, relative URLs fail with `.invalidURL`.
    ///
    /// The value is converted once, when a session is created. The URL of a complete request must be absolute, because
    /// it is not resolved against the base.
    public var baseURL: (any URLConvertible)?
    /// The header fields that are added to every request, unless the request has them already; ``HTTPHeaders/default``
    /// by default. They are added after modifiers and before adapters.
    public var headers = HTTPHeaders.default
    /// The encoder of parameters for requests that name no encoder; ``URLEncodedFormParameterEncoder`` by default.
    public var encoder: any ParameterEncoder = .urlEncodedForm
    /// The decoder of `Decodable` values for serializers that name no decoder; a plain ``JSON/Decoder`` by default.
    public var decoder: any DataDecoder = JSON.Decoder()
    /// The interceptors of all requests, called before a request's own interceptors; empty by default.
    public var interceptors: [any RequestInterceptor] = []
    /// The middleware that wraps all exchanges, with the first element outermost; empty by default. A request's own
    /// middleware runs inside the session's middleware.
    public var middleware: [any RequestMiddleware] = []
    /// The handler of redirects if a request has none; nil by default, so that ``RequestOptions/redirects`` decides.
    public var redirectHandler: (any RedirectHandler)?
    /// The monitors that receive the events of all requests; empty by default.
    public var eventMonitors: [any EventMonitor] = []
    /// Whether attaching a serializer starts a request; true by default. If false, only ``Request/resume()`` does.
    public var startsRequestsAutomatically = true
    /// The validators of all responses, run before a request's own validators; empty by default.
    public var validation: [ResponseValidator] = []
    /// The closures that see the head of each final response before validation, and before the closures of
    /// ``Request/onResponseHead(perform:)``; empty by default. A closure that returns `.cancel` cancels the request.
    public var responseGates: [@Sendable (ResponseHead) async -> ResponseDisposition] = []
    /// The place of the files of downloads that name none; nil by default, which means temporary files.
    public var downloadDestination: Destination?
    /// The default options for requests.
    public var options = RequestOptions()
    /// The handler that decides whether the cache stores a response, if a request has none; nil by default, so that the
    /// cache stores all responses that it may store.
    public var cachedResponseHandler: (any CachedResponseHandler)?
    /// The clock for retry delays, the total and attempt timeouts, and the delays of event streams; `ContinuousClock`
    /// by default. Tests can use a manual clock.
    public var clock: any Clock<Duration> = ContinuousClock()
    /// The budget for the retries of all retry policies, resumable uploads and event streams of the session. By default
    /// the budget allows one retry for each ten requests, and ten more each second. Nil means no limit.
    public var retryBudget: RetryBudget? = RetryBudget()
    /// The sources of header fields that are added to every hop, redirects included; empty by default.
    public var hopFields: [any HopFieldSource] = []
    /// The source of random numbers, for example for the jitter of retry delays; the system's generator by default.
    public var random = RandomSource.system
    /// The settings of the session's participants, by their types. Those of the cookies are there from the beginning.
    var participants: [ObjectIdentifier: any ParticipantSettings] = [
        ObjectIdentifier(CookieSettings.self): CookieSettings()
    ]

    /// Creates the default configuration and passes it to the closure for changes.
    public init(_ configure: (inout SessionConfiguration) -> Void = { _ in }) {
        configure(&self)
    }
}

/// A source of random numbers, which tests can replace.
public struct RandomSource: Sendable {
    private let next: @Sendable () -> UInt64

    /// Creates a source. The closure returns 64 random bits, and may be called from any thread.
    public init(_ next: @escaping @Sendable () -> UInt64) { self.next = next }

    /// The system's random number generator.
    public static let system = RandomSource {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }

    func uuid() -> UUID {
        let bits = (next(), next())
        let parts = (bits.0 & ~0xF000 | 0x4000, bits.1 & ~(3 << 62) | 1 << 63)
        let bytes = (0..<16).map { UInt8(truncatingIfNeeded: ($0 < 8 ? parts.0 : parts.1) >> (56 - $0 % 8 * 8)) }
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    /// Returns a number from 0 up to, but not including, 1.
    public func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }
}

extension SessionConfiguration: CustomStringConvertible, CustomReflectable {
    /// The base URL without user, password and secrets, if the configuration has one.
    public var description: String {
        "SessionConfiguration" + (baseURL.map { "(\(Redaction.shown($0)))" } ?? "")
    }

    /// A mirror of common settings. Of the validators, interceptors, middleware, monitors and participants, the mirror
    /// shows only their numbers, because they may hold secrets.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "baseURL": baseURL.map(Redaction.shown) as Any, "headers": headers, "options": options,
                "validation": validation.count, "interceptors": interceptors.count, "middleware": middleware.count,
                "eventMonitors": eventMonitors.count, "cookieJar": cookieJar as Any, "participants": participants.count,
            ])
    }
}
