import CTestWidth
import Larkspur
import LarkspurBase
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Timers of deadlines", .limited)
struct DeadlineTimerTests {
    @Test("The heap gives elements by their times, and each once, whatever was removed meanwhile", arguments: 0..<20)
    func heap(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let start = ContinuousClock.now
        var heap = TimerHeap<Int, ContinuousClock.Instant>()
        var model: [(id: TimerHeap<Int, ContinuousClock.Instant>.ID, time: Int, element: Int)] = []
        var gone: [TimerHeap<Int, ContinuousClock.Instant>.ID] = []
        for element in 0..<rounds(400, nightly: 2_000) {
            switch Int.random(in: 0..<5, using: &random) {
            case 0...2:
                let time = Int.random(in: 0..<500, using: &random)
                model.append((heap.insert(element, at: start + .seconds(time)), time, element))
            case 3:
                guard let index = model.indices.randomElement(using: &random) else { continue }
                let (id, _, element) = model.remove(at: index)
                #expect(heap.remove(id) == element)
                gone.append(id)
            default:
                let limit = Int.random(in: 0..<500, using: &random)
                let first = heap.removeFirst(until: start + .seconds(limit))
                let earliest = model.map(\.time).min()
                guard let earliest, earliest <= limit else {
                    #expect(first == nil)
                    continue
                }
                let index = model.firstIndex { $0.element == first && $0.time == earliest }
                if let index { gone.append(model.remove(at: index).id) } else { Issue.record("a wrong element") }
            }
            #expect(heap.count == model.count)
            #expect(heap.firstTime == model.map { start + .seconds($0.time) }.min())
        }
        for id in gone { #expect(heap.remove(id) == nil) }
    }

    @Test("No timer fires before its time, and a cancelled one never fires")
    func queue() async {
        let queue = TimerQueue()
        let (fired, firings) = AsyncStream.makeStream(of: Int.self)
        let start = ContinuousClock.now
        // The later ones first, so that each one sets the system's timer to an earlier time.
        for number in (1...20).reversed() {
            // Those to be removed are due last.
            let delay = Duration.milliseconds(10 * number + (number.isMultiple(of: 3) ? 1_000 : 0))
            let id = queue.add(after: delay) {
                #expect(ContinuousClock.now - start >= delay)
                firings.yield(number)
            }
            if number.isMultiple(of: 3) { queue.remove(id) }
        }
        var numbers: [Int] = []
        for await number in fired {
            numbers.append(number)
            if numbers.count == 14 { break }
        }
        #expect(Set(numbers) == Set((1...20).filter { !$0.isMultiple(of: 3) }))
        #expect(queue.count == 0)
    }

    @Test("A timer that is set while a later one waits fires at its own time")
    func earlier() async {
        let queue = TimerQueue()
        let later = queue.add(after: .seconds(1_000)) { Issue.record("fired too early") }
        await withCheckedContinuation { waiter in _ = queue.add(after: .milliseconds(1)) { waiter.resume() } }
        queue.remove(later)
        #expect(queue.count == 0)
    }

    @Test("The closure of a cancelled timer is released at once")
    func released() {
        final class Held: Sendable {}
        weak var held: Held?
        let queue = TimerQueue()
        do {
            let strong = Held()
            held = strong
            queue.remove(queue.add(after: .seconds(1_000)) { withExtendedLifetime(strong) {} })
        }
        #expect(held == nil)
    }

    @Test(
        "A request that has finished within its limits is held by no timer, whatever clock it has",
        arguments: [false, true])
    func finished(onManualClock: Bool) async throws {
        let clock = ManualClock()
        let configuration = SessionConfiguration {
            if onManualClock { $0.clock = clock }
            $0.options.timeouts.total = .seconds(1_000)
            $0.options.timeouts.attempt = .seconds(500)
        }
        let session = Session(configuration: configuration, transport: StubTransport { _ in .text("body") })
        weak var core: RequestCore?
        func perform() async throws {
            let request = await session.request("http://h/")
            core = request.handle.core
            #expect(try await request.serializingString().value == "body")
        }
        for _ in 0..<100 { try await perform() }
        // Another thread may still be leaving the last request.
        await poll { core == nil }
        await clock.waitForNoSleepers()
    }

    @Test("Limits on the system's clocks pass in time, and the others go on", arguments: [true, false])
    func systemClocks(isSuspending: Bool) async throws {
        let clock: any Clock<Duration> = isSuspending ? SuspendingClock() : ContinuousClock()
        let session = Session(
            configuration: SessionConfiguration { $0.clock = clock },
            transport: StubTransport { _ in StubAnswer([.stall]) })
        let start = ContinuousClock.now
        let long = await session.request("http://h/").timeout(.total(.seconds(1_000)))
        let task = long.serializingData()
        try await withThrowingTaskGroup { group in
            for number in 1...20 {
                group.addTask {
                    let limit = Duration.milliseconds(5 * number)
                    let request = await session.request("http://h/").timeout(.total(limit))
                    let error = try #require(await request.serializingData().response.error)
                    #expect(error.isTimeout && ContinuousClock.now - start >= limit)
                }
            }
            try await group.waitForAll()
        }
        #expect(long.status == .resumed)
        long.cancel()
        #expect(await task.response.error?.isCancelled == true)
    }

    #if os(Linux)
        @Test("Memory does not grow with the number of requests that have finished within their limits")
        func memory() async {
            await #expect(processExitsWith: .success) {
                let session = Session(
                    configuration: SessionConfiguration { $0.options.timeouts.total = .seconds(1_000) },
                    transport: StubTransport { _ in .text("body") })
                func perform(_ count: Int) async {
                    for _ in 0..<count { _ = await session.request("http://h/").serializingData().response }
                }
                await perform(1_000)
                let before = test_heap_bytes()
                await perform(4_000)
                let growth = Int(test_heap_bytes()) - Int(before)
                // A sleeping task that is left behind takes more than half a kilobyte.
                precondition(growth < 4_000 * 128, "the heap has grown by \(growth) bytes")
            }
        }
    #endif
}
