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

    private struct State {
        var now = Instant(offset: .zero)
        var numbers = 0
        var sleepers: [Sleeper] = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

        mutating func takeWatchers() -> [CheckedContinuation<Void, Never>] {
            let ready = watchers.filter { $0.count <= sleepers.count }.map(\.continuation)
            watchers.removeAll { $0.count <= sleepers.count }
            return ready
        }
    }

    private let box = Protected(State())

    /// Creates a clock at time zero.
    public init() {}

    public var now: Instant { box.withLock { $0.now } }
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// The number of callers that sleep on the clock.
    public var sleepers: Int { box.withLock { $0.sleepers.count } }

    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()  // a cancelled task never counts as a sleeper
        let number = box.withLock { state in
            state.numbers += 1
            return state.numbers
        }
        let result = await suspended { (continuation: Continuation<Result<Void, any Error>>) in
            let (isOver, watchers) = box.withLock { state -> (Bool, [CheckedContinuation<Void, Never>]) in
                if deadline <= state.now { return (true, []) }
                state.sleepers.append(Sleeper(number: number, deadline: deadline, continuation: continuation))
                return (false, state.takeWatchers())
            }
            if isOver { return continuation.resume(returning: .success(())) }
            for watcher in watchers { watcher.resume() }
        } onCancel: {
            let sleeper = box.withLock { state -> Sleeper? in
                state.sleepers.firstIndex { $0.number == number }.map { state.sleepers.remove(at: $0) }
            }
            sleeper?.continuation.resume(returning: .failure(CancellationError()))
        }
        try result.get()
    }

    /// Advances the time and wakes the callers whose deadline has passed, the earliest deadline first.
    public func advance(by duration: Duration) {
        let woken = box.withLock { state in
            state.now = state.now.advanced(by: duration)
            let now = state.now
            let woken = state.sleepers.filter { $0.deadline <= now }.sorted { $0.deadline < $1.deadline }
            state.sleepers.removeAll { $0.deadline <= now }
            return woken.map(\.continuation)
        }
        for continuation in woken { continuation.resume(returning: .success(())) }
    }

    /// Waits until at least `count` callers sleep, so that advancing the clock wakes them.
    public func waitForSleepers(_ count: Int = 1) async {
        await withCheckedContinuation { continuation in
            let watchers = box.withLock { state in
                state.watchers.append((count, continuation))
                return state.takeWatchers()
            }
            for watcher in watchers { watcher.resume() }
        }
    }
}
