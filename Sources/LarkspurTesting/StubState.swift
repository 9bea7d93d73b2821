import Larkspur

/// The state machine of a stub's task. It contains the steps of the task's answer and the index of the next step.
struct StubState {
    private enum Progress { case created, idle, running, sleeping(Task<Void, Never>?), ended }

    /// The next action of the thread that runs the task's steps. The thread performs the action after unlocking.
    enum Step {
        case information(ResponseHead), head(ResponseHead), body(Data), trailers(HTTPHeaders), sent(UInt64), rewind
        case sleep(Duration)
        case upgrade(MockWebSocket, @Sendable (MockWebSocket) async throws -> Void)
        case read
        indirect case judge(PeerTrust)
        case metrics(sent: UInt64, received: UInt64)
        case completed(TransportError?)
    }

    private static let interimLimit = 64

    var isSuspended = false
    var allowance: UInt64
    private var progress = Progress.created
    private var steps: [StubAnswer.Step] = []
    private var index = 0
    /// Whether the task must still deliver metrics. True from the first `resume()` until the metrics are delivered.
    private var mustReportMetrics = false
    var sent: UInt64 = 0
    private var received: UInt64 = 0
    private var declared: UInt64 = 0
    private var isBodiless = false
    private var hasHead = false
    private var interims = 0
    /// The upgraded connection; nil before the upgrade.
    var tunnel: StubTunnel?
    private var failure: TransportError?
    private var delegate: (any TransportDelegate)?

    init(allowance: UInt64, delegate: any TransportDelegate) {
        self.allowance = allowance
        self.delegate = delegate
    }

    /// Handles the first `resume()`. Returns true if this call starts the task.
    mutating func begin() -> Bool {
        guard case .created = progress else { return false }
        progress = .running  // no thread runs the steps before `take` has set the steps
        mustReportMetrics = true
        isSuspended = false
        return true
    }

    mutating func take(_ steps: [StubAnswer.Step], isBodiless: Bool) {
        self.steps = steps
        self.isBodiless = isBodiless
        progress = .idle
    }

    /// Ends the task with this error, unless the task is already ending with another error.
    mutating func fail(_ error: TransportError) {
        if failure == nil { failure = error }
        if case .created = progress { progress = .idle }
    }

    mutating func wake() { if case .sleeping = progress { progress = .idle } }

    /// Stores the task that sleeps, so that it can be cancelled. Returns false if the sleep is already over.
    mutating func setSleeper(_ sleeper: Task<Void, Never>) -> Bool {
        guard case .sleeping = progress else { return false }
        progress = .sleeping(sleeper)
        return true
    }

    /// Returns whether the caller has to run the steps now, and the sleeping task that the caller has to cancel, if
    /// any.
    mutating func beginRunning() -> (Bool, Task<Void, Never>?) {
        switch progress {
        case .idle:
            progress = .running
            return (true, nil)
        case .sleeping(let sleeper) where failure != nil:
            progress = .running
            return (true, sleeper)
        case .created, .running, .sleeping, .ended:
            return (false, nil)
        }
    }

    /// Returns the next step, or nil if the caller has to stop running steps.
    mutating func next() -> (Step, any TransportDelegate)? {
        guard let delegate, case .running = progress else { return nil }
        if failure != nil { return end(delegate) }
        switch index < steps.count ? steps[index] : nil {
        case .peer(let peer): return (advance(to: .judge(peer)), delegate)
        case .head(let head) where head.status < 200 && head.status != 101:
            return nextInterim(head, delegate)
        case .head(let head):
            hasHead = true
            declared = isBodiless || head.status == 204 || head.status == 304 ? 0 : head.contentLength ?? 0
            return (advance(to: .head(head)), delegate)
        case .body(let bytes):
            guard !isSuspended, received < allowance else { break }
            received += UInt64(bytes.count)
            return (advance(to: .body(bytes)), delegate)
        case .trailers(let fields):
            let raw = ResponseHead(status: 200, fields: Array(fields)).rawFields
            guard let fields = TrailerRules.allowed(inRawFields: raw) else { return skip() }
            return (advance(to: .trailers(fields)), delegate)
        case .sent(let count):
            sent = count
            return (advance(to: .sent(count)), delegate)
        case .wait(let duration):
            progress = .sleeping(nil)
            return (advance(to: .sleep(duration)), delegate)
        case .rewind: return (advance(to: .rewind), delegate)
        case .stall: break
        case .webSocket(let socket, let handler):
            guard tunnel != nil else {
                tunnel = StubTunnel(socket)
                return (.upgrade(socket, handler), delegate)
            }
            switch isSuspended ? .wait : tunnel?.next(hasRoom: received < allowance) ?? .wait {
            case .deliver(let bytes):
                received += UInt64(bytes.count)
                return (.body(bytes), delegate)
            case .read: return (.read, delegate)
            case .end(let error):
                (failure, index) = (error, steps.count)
                return end(delegate)
            case .wait: break
            }
        case .fail(let error):
            failure = error
            return end(delegate)
        case nil:
            if !hasHead { failure = TransportError(.connectionLost, "the answer ended before its head") }
            if declared > received { failure = TransportError(.truncated) }
            return end(delegate)
        }
        progress = .idle
        return nil
    }

    private mutating func skip() -> (Step, any TransportDelegate)? {
        index += 1
        return next()
    }

    private mutating func nextInterim(
        _ head: ResponseHead, _ delegate: any TransportDelegate
    ) -> (Step, any TransportDelegate)? {
        guard interims < Self.interimLimit else {
            failure = TransportError(.protocolViolation, "the peer sent too many interim responses")
            return end(delegate)
        }
        if head.status == 100 { return skip() }
        interims += 1
        return (advance(to: .information(head)), delegate)
    }

    private mutating func advance(to step: Step) -> Step {
        index += 1
        return step
    }

    /// Returns the metrics, then the end. A task that was never resumed has no metrics.
    private mutating func end(_ delegate: any TransportDelegate) -> (Step, any TransportDelegate) {
        if mustReportMetrics {
            mustReportMetrics = false
            return (.metrics(sent: sent, received: received), delegate)
        }
        progress = .ended
        self.delegate = nil
        return (.completed(failure), delegate)
    }
}
