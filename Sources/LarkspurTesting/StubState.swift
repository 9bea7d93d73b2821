import Larkspur

/// Where a stub's task stands in its answer: a pure machine.
struct StubState {
    private enum Walk { case created, standing, walking, asleep(Task<Void, Never>?), ending, ended }

    /// What the walker does next, after unlocking.
    enum Step {
        case head(ResponseHead), body(Data), sent(UInt64), rewind
        case sleep(Duration)
        case judge(PeerTrust)
        case metrics(TransportMetrics)
        case completed(TransportError?)
    }

    var isSuspended = false
    var allowance: UInt64
    private var walk = Walk.created
    private var steps: ArraySlice<StubAnswer.Step> = []
    private var metrics: TransportMetrics?
    private var declared: UInt64 = 0
    private var isBodiless = false
    private var hasHead = false
    private var failure: TransportError?
    private var delegate: (any TransportDelegate)?

    init(allowance: UInt64, delegate: any TransportDelegate) {
        self.allowance = allowance
        self.delegate = delegate
    }

    /// The first `resume()`: true for the one that starts the task.
    mutating func begin() -> Bool {
        guard case .created = walk else { return false }
        walk = .walking  // until the steps are there, nobody walks
        metrics = TransportMetrics()
        isSuspended = false
        return true
    }

    mutating func take(_ steps: [StubAnswer.Step], isBodiless: Bool) {
        self.steps = steps[...]
        self.isBodiless = isBodiless
        walk = .standing
    }

    /// Ends the task with this error, unless it is ending already.
    mutating func fail(_ code: TransportError.Code) { fail(with: TransportError(code)) }

    mutating func fail(with error: TransportError) {
        if failure == nil { failure = error }
        if case .created = walk { walk = .standing }
    }

    mutating func wake() {
        if case .asleep = walk { walk = .standing }
    }

    /// Keeps what is to be cancelled if the sleep is cut short; false if it was already.
    mutating func sleeps(_ sleeper: Task<Void, Never>) -> Bool {
        guard case .asleep = walk else { return false }
        walk = .asleep(sleeper)
        return true
    }

    /// True for the one who walks now, with the sleeper that has become useless.
    mutating func beginWalk() -> (Bool, Task<Void, Never>?) {
        switch walk {
        case .standing:
            walk = .walking
            return (true, nil)
        case .asleep(let sleeper) where failure != nil:
            walk = .walking
            return (true, sleeper)
        case .created, .walking, .asleep, .ending, .ended:
            return (false, nil)
        }
    }

    /// The next step, or nil when the walker has to stand.
    mutating func next() -> (Step, any TransportDelegate)? {
        guard let delegate else { return nil }
        switch walk {
        case .walking: break
        case .ending:
            walk = .ended
            self.delegate = nil
            return (.completed(failure), delegate)
        case .created, .standing, .asleep, .ended: return nil
        }
        if failure != nil { return end(delegate) }
        switch steps.first {
        case .peer(let peer): return (advance(to: .judge(peer)), delegate)
        case .head(let head) where head.status < 200 && head.status != 101:
            steps.removeFirst()  // an interim head
            return next()
        case .head(let head):
            hasHead = true
            declared = isBodiless || head.status == 204 || head.status == 304 ? 0 : head.contentLength ?? 0
            return (advance(to: .head(head)), delegate)
        case .body(let bytes):
            let position = metrics?.responseBodyBytes ?? 0
            guard !isSuspended, position < allowance else { break }
            metrics?.responseBodyBytes = position + UInt64(bytes.count)
            return (advance(to: .body(bytes)), delegate)
        case .sent(let count):
            metrics?.requestBodyBytes = count
            return (advance(to: .sent(count)), delegate)
        case .wait(let duration):
            walk = .asleep(nil)
            return (advance(to: .sleep(duration)), delegate)
        case .rewind: return (advance(to: .rewind), delegate)
        case .stall: break
        case .fail(let error):
            failure = error
            return end(delegate)
        case nil:
            if !hasHead { failure = TransportError(.connectionLost, "the answer ended before its head") }
            if declared > metrics?.responseBodyBytes ?? 0 { failure = TransportError(.truncated) }
            return end(delegate)
        }
        walk = .standing
        return nil
    }

    private mutating func advance(to step: Step) -> Step {
        steps.removeFirst()
        return step
    }

    /// Metrics, then the end; a task that was never resumed has no metrics.
    private mutating func end(_ delegate: any TransportDelegate) -> (Step, any TransportDelegate) {
        if let metrics {
            walk = .ending
            return (.metrics(metrics), delegate)
        }
        walk = .ended
        self.delegate = nil
        return (.completed(failure), delegate)
    }
}
