import Larkspur
import TestSupport
import Testing

@testable import LarkspurCombine
@testable import LarkspurCore

@Suite("The state of a subscription", .limited)
struct SubscriptionStateTests {
    private typealias State = SubscriptionState<Int>

    private static let receiver = ElementReceiver<Int>(receive: { _ in .none }, finish: {})

    /// A state that can be changed within an expectation.
    private final class Played {
        private var state = State(SubscriptionStateTests.receiver, cancelling: {})

        var isOpen: Bool { state.isOpen }
        func request(_ demand: ElementDemand) -> Bool { state.request(demand) }
        func add(_ entry: State.Entry, isLast: Bool) -> State.Addition { state.add(entry, isLast: isLast) }
        func next(adding more: ElementDemand) -> State.Step { state.next(adding: more) }
        func cancel() -> State.Cancellation { state.cancel() }
    }

    private static func entry(_ element: Int, settle: @escaping @Sendable () -> Void = {}) -> State.Entry {
        State.Entry(element: element, settle: settle)
    }

    /// Delivers as long as there is something to deliver.
    private static func deliver(_ state: Played, adding more: ElementDemand = .none) -> [String] {
        var lines: [String] = []
        var more = more
        while true {
            switch state.next(adding: more) {
            case .deliver(let entry, _): lines.append("\(entry.element)")
            case .finish: return lines + ["end"]
            case .stop: return lines
            }
            more = .none
        }
    }

    @Test("Demands add up; a sum that is too large for an integer is unlimited, a negative demand is zero")
    func demand() {
        var demand = ElementDemand(2)
        demand += ElementDemand(1)
        #expect(demand == ElementDemand(3))
        let taken = (0..<4).map { _ in demand.take() }
        #expect(taken == [true, true, true, false])
        demand += ElementDemand(-5)
        #expect(demand == .none)
        demand += ElementDemand(.max)
        #expect(demand.limit == .max)
        demand += ElementDemand(1)
        #expect(demand == .unlimited)
        let isTaken = demand.take()
        #expect(isTaken && demand == .unlimited)
        demand += ElementDemand(1)
        #expect(demand == .unlimited)
        var limited = ElementDemand(1)
        limited += .unlimited
        #expect(limited == .unlimited)
    }

    @Test("Elements wait for demand, come in order, and the end follows the last one without demand")
    func order() {
        let state = Played()
        #expect(!state.add(Self.entry(1), isLast: false).schedules)
        #expect(!state.add(Self.entry(2), isLast: false).schedules)
        #expect(state.request(ElementDemand(1)))
        #expect(Self.deliver(state) == ["1"])
        #expect(!state.add(Self.entry(3), isLast: true).schedules)
        #expect(!state.isOpen)
        #expect(state.request(ElementDemand(2)))
        #expect(Self.deliver(state) == ["2", "3", "end"])
        #expect(Self.deliver(state).isEmpty, "the end comes once")
    }

    @Test("Demand that comes first is used by later elements")
    func demandFirst() {
        let state = Played()
        #expect(!state.request(ElementDemand(2)), "there is nothing to deliver")
        #expect(state.add(Self.entry(1), isLast: false).schedules)
        #expect(Self.deliver(state) == ["1"])
        #expect(state.add(Self.entry(2), isLast: false).schedules)
        #expect(Self.deliver(state) == ["2"])
        #expect(!state.add(Self.entry(3), isLast: false).schedules)
    }

    @Test("One thread delivers: neither demand nor an element schedules a second delivery until it has stopped")
    func oneDeliverer() {
        let state = Played()
        #expect(!state.request(ElementDemand(1)))
        #expect(state.add(Self.entry(1), isLast: false).schedules)
        #expect(!state.request(.unlimited))
        #expect(!state.add(Self.entry(2), isLast: false).schedules)
        #expect(Self.deliver(state) == ["1", "2"])
        #expect(state.add(Self.entry(3), isLast: false).schedules)
    }

    @Test("The demand that a subscriber returns with an element counts")
    func returnedDemand() {
        let state = Played()
        for element in 1...3 { _ = state.add(Self.entry(element), isLast: false) }
        #expect(state.request(ElementDemand(1)))
        guard case .deliver(let first, _) = state.next(adding: .none), first.element == 1 else {
            Issue.record("the first element was not delivered")
            return
        }
        #expect(Self.deliver(state, adding: ElementDemand(1)) == ["2"])
    }

    @Test("A cancel drops what waits, refuses what comes, and cancels the request once")
    func cancel() {
        let state = Played()
        _ = state.request(ElementDemand(1))
        _ = state.add(Self.entry(1), isLast: false)
        _ = state.add(Self.entry(2), isLast: false)
        let cancellation = state.cancel()
        #expect(cancellation.cancelRequest != nil)
        #expect(cancellation.dropped.map(\.element) == [1, 2])
        #expect(!state.isOpen)
        #expect(Self.deliver(state).isEmpty, "not even the end")
        #expect(!state.request(.unlimited))
        let late = state.add(Self.entry(3), isLast: true)
        #expect(late.refused?.element == 3 && !late.schedules)
        let again = state.cancel()
        #expect(again.cancelRequest == nil && again.dropped.isEmpty)
    }

    @Test("A cancel after the last element has arrived does not cancel the request, which has finished")
    func cancelAfterLast() {
        let state = Played()
        _ = state.add(Self.entry(1), isLast: true)
        let cancellation = state.cancel()
        #expect(cancellation.cancelRequest == nil && cancellation.dropped.map(\.element) == [1])
        let finished = Played()
        _ = finished.request(.unlimited)
        _ = finished.add(Self.entry(1), isLast: true)
        #expect(Self.deliver(finished) == ["1", "end"])
        #expect(finished.cancel().cancelRequest == nil)
    }

    @Test("2,000 random orders of events: no more than demanded, in order, one end, and each element settled once")
    func randomOrders() {
        for seed in 0..<2_000 {
            var random = SeededRandom(seed: UInt64(seed))
            var model = Model()
            for _ in 0..<40 { model.step(&random) }
            model.drain()
            #expect(model.faults.isEmpty, "seed \(seed): \(model.faults)")
        }
    }

    /// Plays producer, subscriber and queue, and checks each step.
    private struct Model {
        private let state = Played()
        var faults: [String] = []
        private var sent = 0
        private var isEnded = false
        private var isCancelled = false
        private var demanded = 0
        private var delivered: [Int] = []
        private var ends = 0
        private var isScheduled = false
        private let settled = Counter()

        mutating func step(_ random: inout SeededRandom) {
            switch Int.random(in: 0..<10, using: &random) {
            case 0...2: send(isLast: random.once(in: 8))
            case 3...4:
                let count = Int.random(in: 0...3, using: &random)
                if !isCancelled { demanded += count }
                schedule(if: state.request(ElementDemand(count)))
            case 5...8: deliver(adding: 0)
            default: if random.once(in: 4) { cancel() }
            }
        }

        private mutating func send(isLast: Bool) {
            guard !isEnded else { return }
            sent += 1
            isEnded = isLast
            let settled = settled
            let addition = state.add(SubscriptionStateTests.entry(sent) { settled.increment() }, isLast: isLast)
            schedule(if: addition.schedules)
            if (addition.refused != nil) != isCancelled { faults.append("element \(sent) was refused or not") }
            addition.refused?.settle()
        }

        private mutating func schedule(if schedules: Bool) {
            guard schedules else { return }
            if isScheduled { faults.append("a second delivery was scheduled") }
            isScheduled = true
        }

        /// One step of the scheduled delivery, so that other events come between two steps.
        private mutating func deliver(adding more: Int) {
            guard isScheduled else { return }
            switch state.next(adding: ElementDemand(more)) {
            case .deliver(let entry, _):
                delivered.append(entry.element)
                entry.settle()
                if isCancelled { faults.append("element \(entry.element) came after the cancel") }
                if delivered.count > demanded { faults.append("element \(entry.element) was not demanded") }
            case .finish:
                ends += 1
                isScheduled = false
            case .stop: isScheduled = false
            }
        }

        private mutating func cancel() {
            let cancellation = state.cancel()
            if (cancellation.cancelRequest != nil) != (!isCancelled && !isEnded) { faults.append("the cancel") }
            isCancelled = true
            for entry in cancellation.dropped { entry.settle() }
        }

        /// Demands and delivers all, and checks the end.
        mutating func drain() {
            if !isEnded { send(isLast: true) }
            if !isCancelled { demanded += sent }
            schedule(if: state.request(ElementDemand(sent)))
            while isScheduled { deliver(adding: 0) }
            if delivered != Array((1...sent).prefix(delivered.count)) { faults.append("the order: \(delivered)") }
            if settled.value != sent { faults.append("\(settled.value) of \(sent) were settled") }
            if !isCancelled, delivered.count != sent || ends != 1 {
                faults.append("\(delivered.count) of \(sent) were delivered, with \(ends) ends")
            }
            if ends > 1 { faults.append("\(ends) ends") }
        }
    }
}
