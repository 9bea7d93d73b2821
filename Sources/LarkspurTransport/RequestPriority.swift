/// The priority of a request among requests that wait for the same limit.
///
///     await session.request(url).priority(.high)
///
/// A higher priority is served first. Requests of one priority are served in the order of their arrival. A request that
/// waits is never overtaken without end: see ``RequestLimits`` in the module Larkspur.
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum RequestPriority: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// Work whose result is not needed now, such as a prefetch.
    case background
    /// Work that can wait.
    case low
    /// The default.
    case normal
    /// Work that a user waits for.
    case high

    /// The number of elements of higher priorities after which a waiting element of a lower priority is served.
    @inlinable package static var patience: Int { 8 }

    public static func < (lhs: RequestPriority, rhs: RequestPriority) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// The kind of a hop, by the way in which its response is used.
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum HopKind: Sendable, Hashable, CaseIterable {
    /// The response body is kept in memory.
    case data
    /// The response body goes to a file.
    case download
    /// The response body is read while it arrives. The hop may last long.
    case stream
    /// The hop becomes a WebSocket. It may last long, and takes no connection slot of the transport.
    case webSocket
}

/// The facts about a hop that only the framework knows, for the code that decides when the hop may be sent.
package struct FlowInstructions: Sendable {
    package var kind: HopKind
    /// The identity of the session.
    package var session: FlowOwner
    /// The time that is left of the total timeout; nil without one.
    package var timeLeft: Duration?

    package init(kind: HopKind, session: FlowOwner, timeLeft: Duration?) {
        (self.kind, self.session, self.timeLeft) = (kind, session, timeLeft)
    }
}

/// The identity of a session. The object itself is the identity, because the address of a released object can be used
/// again.
package final class FlowOwner: Sendable, Hashable {
    package init() {}

    package static func == (lhs: FlowOwner, rhs: FlowOwner) -> Bool { lhs === rhs }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
