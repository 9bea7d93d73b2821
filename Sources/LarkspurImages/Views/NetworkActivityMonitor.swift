import Larkspur
internal import LarkspurAnnex

/// A monitor that tells when to show that the network is in use, as for an activity indicator.
///
///     let activity = NetworkActivityMonitor { isActive in indicator.isHidden = !isActive }
///     let session = Session(eventMonitors: [activity])
///
/// Short requests show nothing, and requests that follow each other show one activity: the monitor reports activity
/// once a request has run for the activation delay, and its end once no request has run for the completion delay.
/// Several sessions can share a monitor.
public final class NetworkActivityMonitor: EventMonitor {
    private let activationDelay: Duration
    private let completionDelay: Duration
    private let clock: any Clock<Duration>
    private let report: @MainActor @Sendable (Bool) -> Void
    private let box = Guarded(NetworkActivity())

    /// Creates a monitor.
    ///
    /// - Parameters:
    ///   - activationDelay: The time from the start of a request to the report of activity; 1 s by default.
    ///   - completionDelay: The time from the end of the last request to the report of its end; 0.17 s by default.
    ///   - clock: The clock of the delays.
    ///   - report: Called with each change on the main actor.
    public init(
        activationDelay: Duration = .seconds(1), completionDelay: Duration = .milliseconds(170),
        clock: any Clock<Duration> = ContinuousClock(), report: @escaping @MainActor @Sendable (Bool) -> Void
    ) {
        self.activationDelay = activationDelay
        self.completionDelay = completionDelay
        self.clock = clock
        self.report = report
    }

    /// Whether activity is to be shown.
    public var isActive: Bool { box.withLock { $0.isActive } }
    /// The number of running requests and other activities.
    public var count: Int { box.withLock { $0.count } }

    public func request(_ request: any Request, did event: RequestEvent) {
        let id = ObjectIdentifier(request)
        switch event {
        case .start: perform(box.withLock { $0.start(id) })
        case .finish: perform(box.withLock { $0.finish(id) })
        default: break
        }
    }

    /// Counts something else than a request of the sessions, such as a connection of another library, until the result
    /// is released.
    public func beginActivity() -> Activity {
        let activity = Activity(self)
        perform(box.withLock { $0.start(ObjectIdentifier(activity)) })
        return activity
    }

    /// An activity, which ends when it is released.
    public final class Activity: Sendable {
        private let monitor: NetworkActivityMonitor

        fileprivate init(_ monitor: NetworkActivityMonitor) { self.monitor = monitor }

        deinit {
            let id = ObjectIdentifier(self)
            monitor.perform(monitor.box.withLock { $0.finish(id) })
        }
    }

    private func perform(_ action: NetworkActivity.Action) {
        // A timer and a report belong to no caller's task.
        switch action {
        case .none: break
        case .report: Task { @MainActor in deliver() }
        case .wait(let number, let isActivation):
            Task { [weak self, clock, delay = isActivation ? activationDelay : completionDelay] in
                try? await clock.sleep(for: delay)
                guard let self else { return }
                perform(box.withLock { $0.end(ofWait: number) })
            }
        }
    }

    /// Reports the current state, unless it was reported before.
    @MainActor private func deliver() {
        guard let isActive = box.withLock({ $0.takeReport() }) else { return }
        report(isActive)
    }
}

/// The activity of the network over time. It has no clock.
///
///     idle ──start──► delaying start ──time──► active ──last finish──► delaying end ──time──► idle
///       ◄──last finish──┘                         ◄──────────start──────────┘
struct NetworkActivity {
    enum Action: Equatable {
        case none
        /// The delay starts. ``NetworkActivity/end(ofWait:)`` is to be called with the number when it has passed.
        case wait(Int, isActivation: Bool)
        /// The state to show has changed.
        case report
    }

    private enum Phase {
        case idle, delayingStart, active, delayingEnd
    }

    private var running: Set<ObjectIdentifier> = []
    private var phase = Phase.idle
    /// The number of the last wait. A wait with another number is out of date.
    private var wait = 0
    private var reported = false

    var count: Int { running.count }
    var isActive: Bool { phase == .active || phase == .delayingEnd }

    mutating func start(_ id: ObjectIdentifier) -> Action {
        running.insert(id)
        switch phase {
        case .idle: return begin(.delayingStart)
        case .delayingEnd:
            phase = .active
            wait += 1
            return .none
        case .delayingStart, .active: return .none
        }
    }

    mutating func finish(_ id: ObjectIdentifier) -> Action {
        guard running.remove(id) != nil, running.isEmpty else { return .none }
        switch phase {
        case .delayingStart:
            phase = .idle
            wait += 1
            return .none
        case .active: return begin(.delayingEnd)
        case .idle, .delayingEnd: return .none
        }
    }

    mutating func end(ofWait number: Int) -> Action {
        guard number == wait else { return .none }
        switch phase {
        case .delayingStart: phase = .active
        case .delayingEnd: phase = .idle
        case .idle, .active: return .none
        }
        return .report
    }

    /// Returns the state, if it differs from the last reported one.
    mutating func takeReport() -> Bool? {
        guard isActive != reported else { return nil }
        reported = isActive
        return isActive
    }

    private mutating func begin(_ next: Phase) -> Action {
        phase = next
        wait += 1
        return .wait(wait, isActivation: next == .delayingStart)
    }
}
