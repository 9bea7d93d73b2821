import Larkspur

/// The state of a ``SharedRateLimiter``: the permits that this process has borrowed in the current window. It has no
/// side effects. Times count from an arbitrary start of this process.
///
/// The shared counter holds two numbers, so that one addition changes both: the permits that all processes have taken
/// in the window, and, in the upper bits, the number of processes that have taken some.
struct SharedBudget: Sendable {
    static let processUnit: Int64 = 1 << 40
    /// The maximum of permits in a window, far below the bits of the processes.
    static let maximumCount = 1_000_000_000

    /// The next action for the hops that wait.
    enum Step: Equatable {
        /// Ask the store for so many permits. The amount to add has the mark of a new process, if that is due.
        case ask(permits: Int, amount: Int64)
        /// Wait until this time, when there can be permits again.
        case wait(until: Duration)
    }

    let count: Int
    let window: Duration
    /// The permits that the process can use at once.
    private(set) var permits = 0
    /// The permits that the process has borrowed in this window.
    private var borrowed = 0
    private var end = Duration.zero
    private var isMarked = false
    /// The permits that all processes have taken in this window, as far as it is known.
    private var taken = 0
    /// The number of processes in this window so far, and in the one before.
    private var processes = (now: 0, before: 0)
    private var isLocal = false

    init(count: Int, window: Duration) { (self.count, self.window) = (count, window) }

    /// The permits for each process if all processes that took some lately need many; at least one.
    var share: Int { max(1, count / max(processes.now, processes.before, 1)) }

    /// Takes a permit of this process. Returns false if there is none.
    mutating func take(at now: Duration) -> Bool {
        beginWindow(at: now)
        guard permits > 0 else { return false }
        permits -= 1
        return true
    }

    /// Returns a permit that was not used.
    mutating func giveBack() { permits += 1 }

    /// Returns what to do if hops wait and there is no permit.
    mutating func step(at now: Duration) -> Step {
        beginWindow(at: now)
        guard taken < count else { return .wait(until: end) }
        var permits = max(1, share / 10)
        if !isMarked || borrowed < share {
            permits = min(permits, share - borrowed)
        } else {
            // In the second half of a window, processes can take what others have left.
            let half = end - window / 2
            if now < half { return .wait(until: half) }
            permits = min(permits, max(1, (count - taken) / max(processes.now, processes.before)))
        }
        return .ask(permits: permits, amount: Int64(permits) + (isMarked ? 0 : Self.processUnit))
    }

    /// Notes the store's answer to a step.
    mutating func receive(_ answer: StoreCount, of step: Step, at now: Duration) {
        guard case .ask(let asked, let amount) = step else { return }
        isLocal = false
        let newEnd = now + min(max(.zero, answer.remaining), window)
        // The store's window decides: this process's estimate of its end can be a little early or late.
        if newEnd > end + window / 2 { reset() }
        end = newEnd
        if amount >= Self.processUnit { isMarked = true }
        processes.now = max(1, Int(answer.value / Self.processUnit))
        taken = Int(answer.value % Self.processUnit)
        let granted = min(asked, max(0, count - (taken - asked)))
        permits += granted
        borrowed += granted
    }

    /// Lets the process use its share of the last known number of processes, once in each window.
    mutating func useLocalShare(at now: Duration, ofProcesses expected: Int) {
        if processes.now == 0, processes.before == 0 { processes.before = expected }
        if !isLocal || now >= end {
            let before = borrowed
            if now >= end {
                reset()
                end = now + window
                permits = share
            } else {
                permits = max(0, share - before)
            }
            borrowed = share
        }
        (isLocal, isMarked, taken) = (true, true, count)
    }

    private mutating func beginWindow(at now: Duration) {
        guard now >= end else { return }
        reset()
    }

    private mutating func reset() {
        if processes.now > 0 { processes = (0, processes.now) }
        (permits, borrowed, taken, isMarked) = (0, 0, 0, false)
    }
}
