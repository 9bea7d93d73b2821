import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("The manual clock", .limited)
struct ManualClockTests {
    private let clock = ManualClock()

    private func sleeper(_ seconds: Int) -> Task<Bool, Never> {
        Task { [clock] in (try? await clock.sleep(for: .seconds(seconds))) != nil }
    }

    @Test("Without sleepers, waiting for none returns at once")
    func noneAtFirst() async { await clock.waitForNoSleepers() }

    @Test("Waiting for no sleepers ends when the last one has woken")
    func lastWakes() async {
        let tasks = [sleeper(1), sleeper(2)]
        await clock.waitForSleepers(2)
        let isOver = AtomicFlag()
        let waiting = Task {
            await clock.waitForNoSleepers()
            isOver.raise()
        }
        clock.advance(by: .seconds(1))
        #expect(await tasks[0].value)
        #expect(!isOver.isRaised && clock.sleepers == 1)
        clock.advance(by: .seconds(1))
        await waiting.value
        #expect(await tasks[1].value)
    }

    @Test("Waiting for no sleepers ends when the last one is cancelled")
    func lastIsCancelled() async {
        let task = sleeper(1)
        await clock.waitForSleepers()
        let waiting = Task { await clock.waitForNoSleepers() }
        task.cancel()
        await waiting.value
        #expect(await !task.value)
        #expect(clock.sleepers == 0)
    }

    @Test("A task that begins to sleep after its cancel never counts as a sleeper")
    func cancelledBefore() async {
        let watcher = Task { await clock.waitForSleepers() }
        let task = Task { [clock] in
            withUnsafeCurrentTask { $0?.cancel() }
            try await clock.sleep(for: .seconds(1))
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        await clock.waitForNoSleepers()
        let counted = sleeper(1)
        await watcher.value  // woken by the sleeper that was not cancelled
        clock.advance(by: .seconds(1))
        #expect(await counted.value)
    }

    @Test("A task that waits for sleepers, or for none, ends its wait when it is cancelled", arguments: [true, false])
    func cancelledWait(isForNone: Bool) async {
        let task = sleeper(1)
        await clock.waitForSleepers()
        let waiting = Task { await isForNone ? clock.waitForNoSleepers() : clock.waitForSleepers(2) }
        waiting.cancel()
        await waiting.value
        #expect(clock.sleepers == 1)
        task.cancel()
    }

    @Test("A cancel that races the begin of a sleep leaves no sleeper behind it", arguments: 0..<4)
    func race(round: Int) async {
        for _ in 0..<50 {
            let task = sleeper(1)
            task.cancel()
            #expect(clock.sleepers == 0)
            await clock.waitForNoSleepers()
            #expect(await !task.value)
        }
    }
}
