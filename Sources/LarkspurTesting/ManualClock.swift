import Larkspur

/// A clock whose time moves only when a test advances it.
///
///     let clock = ManualClock()
///     let session = Session(configuration: SessionConfiguration { $0.clock = clock }, transport: stub)
///     await clock.waitForSleepers()
///     clock.advance(by: .seconds(5))
public final class ManualClock: Clock, Sendable {
    public struct Instant: InstantProtocol {
        fileprivate let offset: Duration

        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        public func duration(to other: Instant) -> Duration { other.offset - offset }
        public static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
    }

    private struct Sleeper {
        let number: Int
        let deadline: Instant
        let continuation: Continuation<Result<Void, any Error>>
    }

    /// A caller that waits for a number of sleepers.
    private struct Watcher {
        let number: Int
        let counts: ClosedRange<Int>
        let continuation: Continuation<Void>
    }

    private struct State {
        var now = Instant(offset: .zero)
        var numbers = 0
        var sleepers: [Sleeper] = []
        var watchers: [Watcher] = []

        mutating func nextNumber() -> Int {
            numbers += 1
            return numbers
        }

        /// Returns the watchers to resume after unlocking.
        mutating func takeWatchers() -> [Watcher] {
            let ready = watchers.filter { $0.counts.contains(sleepers.count) }
            watchers.removeAll { $0.counts.contains(sleepers.count) }
            return ready
        }
    }

    private let box = Protected(State())

    /// Creates a clock at time zero.
    public init() {}

    public var now: Instant { box.withLock { $0.now } }
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// The number of callers that sleep on the clock. Cancelled tasks do not count.
    public var sleepers: Int { box.withLock { $0.sleepers.count } }

    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let number = box.withLock { $0.nextNumber() }
        let result = await suspended { (continuation: Continuation<Result<Void, any Error>>) in
            let (result, watchers) = box.withLock { state -> (Result<Void, any Error>?, [Watcher]) in
                // Checked under the lock that a cancel takes too, so that a cancelled task never counts as a sleeper.
                if Task.isCancelled { return (.failure(CancellationError()), []) }
                if deadline <= state.now { return (.success(()), []) }
                state.sleepers.append(Sleeper(number: number, deadline: deadline, continuation: continuation))
                return (nil, state.takeWatchers())
            }
            if let result { return continuation.resume(returning: result) }
            for watcher in watchers { watcher.continuation.resume() }
        } onCancel: {
            let (sleeper, watchers) = box.withLock { state -> (Sleeper?, [Watcher]) in
                let index = state.sleepers.firstIndex { $0.number == number }
                return (index.map { state.sleepers.remove(at: $0) }, state.takeWatchers())
            }
            sleeper?.continuation.resume(returning: .failure(CancellationError()))
            for watcher in watchers { watcher.continuation.resume() }
        }
        try result.get()
    }

    /// Advances the time and wakes the callers whose deadline has passed, the earliest deadline first.
    public func advance(by duration: Duration) {
        let (woken, watchers) = box.withLock { state in
            state.now = state.now.advanced(by: duration)
            let now = state.now
            let woken = state.sleepers.filter { $0.deadline <= now }.sorted { $0.deadline < $1.deadline }
            state.sleepers.removeAll { $0.deadline <= now }
            return (woken, state.takeWatchers())
        }
        for sleeper in woken { sleeper.continuation.resume(returning: .success(())) }
        for watcher in watchers { watcher.continuation.resume() }
    }

    /// Waits until at least `count` callers sleep, so that advancing the clock wakes them. Returns early if the task is
    /// cancelled.
    public func waitForSleepers(_ count: Int = 1) async { await wait(for: count ... .max) }

    /// Waits until no caller sleeps, so that a test can check that no timer is left. Returns early if the task is
    /// cancelled.
    ///
    ///     let response = await session.request(url).timeout(.total(.seconds(5))).serializingData().response
    ///     await clock.waitForNoSleepers()
    ///
    /// A timer that was cancelled may end a moment later than its request, so ``sleepers`` may still count it. A timer
    /// task that begins after its cancel never sleeps.
    public func waitForNoSleepers() async { await wait(for: 0...0) }

    private func wait(for counts: ClosedRange<Int>) async {
        let number = box.withLock { $0.nextNumber() }
        await suspended { (continuation: Continuation<Void>) in
            let watchers = box.withLock { state in
                state.watchers.append(Watcher(number: number, counts: counts, continuation: continuation))
                return state.takeWatchers()
            }
            for watcher in watchers { watcher.continuation.resume() }
        } onCancel: {
            let watcher = box.withLock { state in
                state.watchers.firstIndex { $0.number == number }.map { state.watchers.remove(at: $0) }
            }
            watcher?.continuation.resume()
        }
    }
}
