/// How a session works. A value: what is changed after a session was made from it has no effect on that session.
///
///     let configuration = SessionConfiguration {
///         $0.headers = ["Accept": "application/json"]
///         $0.validation = [.standard]
///     }
public struct SessionConfiguration: Sendable {
    /// Fields for every request that does not set them itself.
    public var headers: HTTPHeaders = [:]
    /// Whether the first serializer starts a request, or only `resume()` does.
    public var startsRequestsAutomatically = true
    /// What every response must pass, before a request's own validators.
    public var validation: [ResponseValidator] = []
    public var options = RequestOptions()
    /// What retry delays are slept on; tests give one that they move by hand.
    public var clock: any Clock<Duration> = ContinuousClock()
    /// Where chance comes from, in retry delays for one.
    public var random = RandomSource.system

    public init(_ configure: (inout SessionConfiguration) -> Void = { _ in }) {
        configure(&self)
    }
}

/// Random numbers from a source that a test can replace.
public struct RandomSource: Sendable {
    private let next: @Sendable () -> UInt64

    public init(_ next: @escaping @Sendable () -> UInt64) {
        self.next = next
    }

    public static let system = RandomSource {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }

    /// A number from 0 up to, not including, 1.
    public func fraction() -> Double {
        Double(next() >> 11) * 0x1p-53
    }
}
