/// Retries requests that failed because the network was not reachable, as soon as it is reachable again.
///
///     let session = Session(interceptor: .composed(.whenReachable(within: .seconds(30)), .retry()))
///
/// After a failure with one of the `codes`, the retrier asks the ``NetworkMonitor`` whether the request's host can be
/// reached. If the system has no usable interface, or no route to the host, the retrier waits until it has, at most for
/// `maximumWait`, and then retries. If the network is reachable already, the failure has another cause: the retrier
/// asks the next retrier at once, and so it never retries in a loop. It asks the next retrier also when `maximumWait`
/// has passed or the request has had `limit` such failures.
///
/// ``requiredInterfaces`` and ``prohibitedInterfaces`` limit the interfaces for which the retrier waits:
///
///     let retrier = OfflineRetrier(maximumWait: .seconds(60), prohibitedInterfaces: [.cellular])
///
/// A request is retried by the rules of ``RetryPolicy``: its method is among `methods`, or it has an idempotency key,
/// and its body can be sent again. The retry budget is not charged, because requests without a network load no server.
/// A cancel or the total timeout of the request ends the wait. The time is measured by the session's clock.
///
/// Place it before other retriers, which would otherwise use up their attempts while the network is not reachable. Its
/// retries count for the limit of a ``RetryPolicy``.
public struct OfflineRetrier: KeySettingRetrier {
    /// The maximum wait after each failure; 5 seconds by default.
    public var maximumWait: Duration
    /// The maximum number of failures of a request with one of the `codes` that are retried; 3 by default. Retries by
    /// other retriers count too.
    public var limit: Int
    /// The methods of requests that are retried; ``RetryPolicy/idempotentMethods`` by default.
    public var methods: Set<HTTPMethod>
    /// The codes of errors that are retried; ``connectivityCodes`` by default.
    public var codes: Set<RequestError.Code>
    /// The header field that makes POST and PATCH safe to retry. With it, these methods are retried too; nil by
    /// default.
    public var idempotencyKey: RetryPolicy.IdempotencyKey?
    /// The kinds of interfaces of which the network needs at least one; empty by default, which means that every kind
    /// is enough.
    ///
    /// While the network is reachable only over other kinds, the retrier waits as if it were not reachable. The system
    /// chooses the interface of the retried request: ``NetworkStatus/interfaces`` says which kinds it can choose from.
    /// An unknown status counts as one of the required kinds.
    public var requiredInterfaces: Set<NetworkStatus.InterfaceKind>
    /// The kinds of interfaces that do not count; empty by default. While the network is reachable only over these
    /// kinds, the retrier waits as if it were not reachable.
    public var prohibitedInterfaces: Set<NetworkStatus.InterfaceKind>

    private let monitor: NetworkMonitor

    /// The codes of failures that a missing local network can cause: names cannot be looked up, there is no route, and
    /// connections are lost or time out. A refused connection is none of them, because the host has answered.
    public static let connectivityCodes: Set<RequestError.Code> = [
        .nameLookup, .unreachable, .connectionLost, .truncated, .timedOut,
    ]

    /// Creates a retrier. See the properties for the defaults.
    public init(
        maximumWait: Duration = .seconds(5), limit: Int = 3, methods: Set<HTTPMethod> = RetryPolicy.idempotentMethods,
        codes: Set<RequestError.Code> = Self.connectivityCodes, idempotencyKey: RetryPolicy.IdempotencyKey? = nil,
        requiredInterfaces: Set<NetworkStatus.InterfaceKind> = [],
        prohibitedInterfaces: Set<NetworkStatus.InterfaceKind> = [], monitor: NetworkMonitor = .shared
    ) {
        self.maximumWait = maximumWait
        self.limit = limit
        self.methods = methods
        self.codes = codes
        self.idempotencyKey = idempotencyKey
        self.requiredInterfaces = requiredInterfaces
        self.prohibitedInterfaces = prohibitedInterfaces
        self.monitor = monitor
    }

    public func adapt(_ request: inout OutgoingRequest, using state: RequestAdapterState) async throws {
        try await policy.adapt(&request, using: state)
    }

    public func retry(_ request: any Request, for session: Session, dueTo error: RequestError) async -> RetryResult {
        let core = request.handle.core
        let failures = request.attempts.dropLast().count { $0.error.map { codes.contains($0.code) } ?? false }
        // A timeout in another stage is not the network's.
        guard failures < limit, codes.contains(error.code), !error.isTimeout || error.stage == .sending,
            let attempt = request.attempts.last, attempt.request.map(policy.allows) ?? true
        else { return .doNotRetry }
        let host = (attempt.lastHop?.request ?? attempt.request)?.url.host.map(String.init)
        let isLookup = error.code == .nameLookup
        let isReachable: @Sendable (HostRoute?, NetworkStatus) -> Bool = { route, status in
            guard hasInterface(status) else { return false }
            return switch route {
            case .exists: true
            case .missing: false
            case nil, .unknownName: status.isReachable
            // The request got further than the lookup. Perhaps a proxy looks up the name.
            case .noAnswer: status.isReachable && !isLookup
            }
        }
        guard !isReachable(await monitor.feed.route(to: host), monitor.status) else { return .doNotRetry }
        // The pipeline refuses this retry itself.
        guard core.canSendAgain else { return .retry }
        core.emit(.waitForNetwork(NetworkWaitEvent(host: host, limit: maximumWait)))
        let result = await monitor.feed.wait(
            on: session.configuration.clock, host: host, within: maximumWait, until: isReachable)
        return result == .reachable ? .retry : .doNotRetry
    }

    private func hasInterface(_ status: NetworkStatus) -> Bool {
        if !status.isKnown || (requiredInterfaces.isEmpty && prohibitedInterfaces.isEmpty) { return true }
        let allowed = status.interfaces.subtracting(prohibitedInterfaces)
        return !(requiredInterfaces.isEmpty ? allowed : allowed.intersection(requiredInterfaces)).isEmpty
    }

    var policy: RetryPolicy { RetryPolicy(methods: methods, idempotencyKey: idempotencyKey) }
}

extension RequestRetrier where Self == OfflineRetrier {
    /// Retries when the network is reachable again, if it is within this time; see ``OfflineRetrier``.
    ///
    /// - Parameters:
    ///   - limit: The maximum wait after each failure; 5 seconds by default.
    ///   - required: The kinds of interfaces of which the network needs at least one; empty by default, for every kind.
    ///   - prohibited: The kinds of interfaces that do not count; empty by default.
    public static func whenReachable(
        within limit: Duration = .seconds(5), requiredInterfaces required: Set<NetworkStatus.InterfaceKind> = [],
        prohibitedInterfaces prohibited: Set<NetworkStatus.InterfaceKind> = []
    ) -> Self {
        OfflineRetrier(maximumWait: limit, requiredInterfaces: required, prohibitedInterfaces: prohibited)
    }
}
