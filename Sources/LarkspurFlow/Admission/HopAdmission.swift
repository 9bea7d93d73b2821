/// A rule for the time at which a hop may be sent: a limit, a rate, or a rule of the app.
///
///     final class OfficeHours: HopAdmission {
///         func admit(_ hop: PendingHop) {
///             if isOpen { hop.admit() } else { keep(hop) }   // and admits it later
///         }
///
///         func withdraw(_ hop: PendingHop) { drop(hop) }
///     }
///
/// Implement ``withdraw(_:)`` too, if you keep hops: it is called when a waiting hop ends.
///
/// The session asks its own admissions about each hop first, in their order, then the rate limit, then the limits.
/// Admissions are below redirects, cookies and the cache: a response from the cache needs no admission, and a request
/// that joins another one in flight needs none either. While a hop waits, none of its timeouts runs except the total
/// timeout. The wait is in `metrics.queued` and causes the events `.awaitAdmission` and `.admit`.
///
/// The session calls the functions on the request's thread or on the transport's threads. They return at once and never
/// block, as the functions of a ``Transport`` do.
public protocol HopAdmission: Sendable {
    /// Decides about a hop: calls ``PendingHop/admit()`` or ``PendingHop/refuse(_:)``, now or later, on any thread.
    func admit(_ hop: PendingHop)

    /// Called if a hop has ended before its admission. It may be called more than once, and for a hop that this
    /// admission has refused or released. Ignore a hop that does not wait. Does nothing by default.
    func withdraw(_ hop: PendingHop)

    /// Called with the head of the response to an admitted hop. Does nothing by default.
    func receive(_ head: ResponseHead, for hop: PendingHop)

    /// Called once for each admitted hop, when it has ended and before its end is reported. Does nothing by default. A
    /// hop that waits for the place of this one is admitted in ``advance()``.
    func release(_ hop: PendingHop)

    /// Called after the end of a hop was reported. Admit waiting hops here and not in ``release(_:)``, so that the
    /// caller of the ended request is resumed first. Does nothing by default.
    func advance()
}

extension HopAdmission {
    public func withdraw(_ hop: PendingHop) {}
    public func receive(_ head: ResponseHead, for hop: PendingHop) {}
    public func release(_ hop: PendingHop) {}
    public func advance() {}
}

/// A hop that waits for one ``HopAdmission``. Copies stand for the same hop.
public struct PendingHop: Sendable {
    let task: AdmittingTask
    /// The position of the admission among the session's admissions.
    let step: Int

    /// The request, as the transport gets it.
    public var request: TransportRequest { task.request }
    /// The priority of the request.
    public var priority: RequestPriority { task.request.priority }
    /// The use of the response.
    public var kind: HopKind { task.request.flow?.kind ?? (task.request.upgrades ? .webSocket : .data) }
    /// The time that was left of the total timeout when the hop began; nil without one.
    public var timeLeft: Duration? { task.request.flow?.timeLeft }

    /// Lets the hop proceed. Returns false if the hop has ended meanwhile, or if the admission has decided before. Then
    /// the call has no effect, and ``HopAdmission/release(_:)`` is not called for it.
    @discardableResult
    public func admit() -> Bool { task.admit(at: step) }

    /// Ends the hop with this error. Has no effect if the hop has ended, or if the admission has decided before.
    public func refuse(_ error: TransportError) { task.refuse(error, at: step) }
}

extension PendingHop: Hashable {
    public static func == (lhs: PendingHop, rhs: PendingHop) -> Bool { lhs.task === rhs.task && lhs.step == rhs.step }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(task)) }
}

extension PendingHop: CustomStringConvertible, CustomReflectable {
    /// The method and the URL, without secrets.
    public var description: String { request.description }
    /// A mirror without children, because the request may contain secrets.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
