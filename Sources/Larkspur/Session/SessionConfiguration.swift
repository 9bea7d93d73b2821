/// How a session works. A value: what is changed after a session was made from it has no effect on that session.
///
///     let configuration = SessionConfiguration {
///         $0.headers = ["Accept": "application/json"]
///         $0.validation = [.standard]
///     }
public struct SessionConfiguration: Sendable {
    /// What relative URLs stand below: `users/7` goes to `https://api.example.com/v1/users/7`.
    ///
    /// The base counts as a folder, whether or not it ends with a slash; all else is RFC 3986: `/users` replaces the
    /// whole path, `//host/users` the host as well, and a URL with a scheme everything. Without a base, relative URLs fail.
    /// It is asked once, when a session is made; whole requests are not resolved against it.
    public var baseURL: (any URLConvertible)?
    /// Fields for every request that does not set them itself; `HTTPHeaders.default` unless replaced. They are added after
    /// modifiers, and seen by adapters.
    public var headers = HTTPHeaders.default
    /// What puts parameters into a request that names no encoder.
    public var encoder: any ParameterEncoder = .urlEncodedForm
    /// What decodes `Decodable` values where a serializer names no decoder.
    public var decoder: any DataDecoder = JSONDecoder()
    /// Who judges the certificates of peers; nil: the system does. A host that a pattern names is never sent a byte unless its
    /// evaluator agrees.
    public var serverTrust: ServerTrustManager?
    /// Adapt and retry all requests, before a request's own interceptors.
    public var interceptors: [any RequestInterceptor] = []
    /// Stands around every exchange, the first outermost, outside a request's own.
    public var middleware: [any RequestMiddleware] = []
    /// Asked about every redirect, unless the request has a handler of its own; nil follows them.
    public var redirectHandler: (any RedirectHandler)?
    /// Told of all that happens to the session's requests.
    public var eventMonitors: [any EventMonitor] = []
    /// Whether the first serializer starts a request, or only `resume()` does.
    public var startsRequestsAutomatically = true
    /// What every response must pass, before a request's own validators.
    public var validation: [ResponseValidator] = []
    /// What requests have that say nothing else.
    public var options = RequestOptions()
    /// Keeps cookies between requests; nil is without them. A jar that is set serves all sessions that have it. Where none is,
    /// each session has one of its own, in memory, which begins with what is in this one, and which its children share.
    public var cookieJar: CookieJar? = CookieJar() {
        didSet { hasJarOfItsOwn = false }
    }
    private var hasJarOfItsOwn = true
    /// What answers servers that ask who is there; nil is without. A store serves all sessions that have it.
    public var credentials: CredentialStore?
    /// What retry delays are slept on; tests give one that they move by hand.
    public var clock: any Clock<Duration> = ContinuousClock()
    /// The maximum number of retries of the session's retry policies, resumable uploads and event streams together; nil for
    /// no limit.
    public var retryBudget: RetryBudget? = RetryBudget()
    /// Where chance comes from, in retry delays for one.
    public var random = RandomSource.system

    /// A configuration as it is unless the closure changes it.
    public init(_ configure: (inout SessionConfiguration) -> Void = { _ in }) {
        configure(&self)
    }

    /// The configuration of a new session, with a jar that no other session has unless it was set.
    func withJarOfItsOwn() -> SessionConfiguration {
        var configuration = self
        guard hasJarOfItsOwn else { return configuration }
        configuration.cookieJar = cookieJar?.copy()
        configuration.hasJarOfItsOwn = true
        return configuration
    }
}

/// Random numbers from a source that a test can replace.
public struct RandomSource: Sendable {
    private let next: @Sendable () -> UInt64

    /// A source that asks the closure for bits, from any thread.
    public init(_ next: @escaping @Sendable () -> UInt64) { self.next = next }

    /// The system's generator.
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

    /// A number from 0 up to, not including, 1.
    public func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }
}

extension SessionConfiguration: CustomStringConvertible, CustomReflectable {
    /// The base URL without user, password and secrets, if the configuration has one.
    public var description: String {
        "SessionConfiguration" + (baseURL.map { "(\(Redaction.shown($0)))" } ?? "")
    }

    /// A mirror of common settings. It shows only the number of interceptors, middleware and monitors, which may hold
    /// secrets.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "baseURL": baseURL.map(Redaction.shown) as Any, "headers": headers, "options": options,
                "validation": validation.count, "interceptors": interceptors.count, "middleware": middleware.count,
                "eventMonitors": eventMonitors.count, "cookieJar": cookieJar as Any, "credentials": credentials as Any,
            ])
    }
}
