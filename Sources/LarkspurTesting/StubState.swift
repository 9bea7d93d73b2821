import Larkspur

/// Where a stub's task stands in its answer: a pure machine.
struct StubState {
    private enum Walk { case created, standing, walking, asleep(Task<Void, Never>?), ended }

    /// What the walker does next, after unlocking.
    enum Step {
        case head(ResponseHead), body(Data), sent(UInt64), rewind
        case sleep(Duration)
        indirect case judge(PeerTrust)
        case metrics(sent: UInt64, received: UInt64)
        case completed(TransportError?)
    }

    var isSuspended = false
    var allowance: UInt64
    private var walk = Walk.created
    private var steps: [StubAnswer.Step] = []
    private var place = 0
    /// From the first `resume()` on, until they were told.
    private var owesMetrics = false
    private var sent: UInt64 = 0
    private var received: UInt64 = 0
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
        owesMetrics = true
        isSuspended = false
        return true
    }

    mutating func take(_ steps: [StubAnswer.Step], isBodiless: Bool) {
        self.steps = steps
        self.isBodiless = isBodiless
        walk = .standing
    }

    /// Ends the task with this error, unless it is ending already.
    mutating func fail(_ error: TransportError) {
        if failure == nil { failure = error }
        if case .created = walk { walk = .standing }
    }

    mutating func wake() { if case .asleep = walk { walk = .standing } }

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
        case .created, .walking, .asleep, .ended:
            return (false, nil)
        }
    }

    /// The next step, or nil when the walker has to stand.
    mutating func next() -> (Step, any TransportDelegate)? {
        guard let delegate, case .walking = walk else { return nil }
        if failure != nil { return end(delegate) }
        switch place < steps.count ? steps[place] : nil {
        case .peer(let peer): return (advance(to: .judge(peer)), delegate)
        case .head(let head) where head.status < 200 && head.status != 101:
            place += 1  // an interim head
            return next()
        case .head(let head):
            hasHead = true
            declared = isBodiless || head.status == 204 || head.status == 304 ? 0 : head.contentLength ?? 0
            return (advance(to: .head(head)), delegate)
        case .body(let bytes):
            guard !isSuspended, received < allowance else { break }
            received += UInt64(bytes.count)
            return (advance(to: .body(bytes)), delegate)
        case .sent(let count):
            sent = count
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
            if declared > received { failure = TransportError(.truncated) }
            return end(delegate)
        }
        walk = .standing
        return nil
    }

    private mutating func advance(to step: Step) -> Step {
        place += 1
        return step
    }

    /// Metrics, then the end; a task that was never resumed has no metrics.
    private mutating func end(_ delegate: any TransportDelegate) -> (Step, any TransportDelegate) {
        if owesMetrics {
            owesMetrics = false
            return (.metrics(sent: sent, received: received), delegate)
        }
        walk = .ended
        self.delegate = nil
        return (.completed(failure), delegate)
    }
}
