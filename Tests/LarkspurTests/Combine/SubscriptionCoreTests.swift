import Dispatch
import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCombine
@testable import LarkspurCore

/// A subscriber as Combine has them, for tests on every platform. It notes what it receives.
final class NotedSubscriber<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var ends = 0
        var isReceiving = false
        var overlaps = 0
        var probe: ReleaseProbe?
    }

    private let box: Protected<State>
    private let more: ElementDemand
    /// Incremented by each element and by the end.
    let received = Counter()

    /// - Parameters:
    ///   - more: The demand that the subscriber returns with each element.
    ///   - probe: An object that is released with the subscriber.
    init(more: ElementDemand = .none, probe: ReleaseProbe? = nil) {
        self.more = more
        box = Protected(State(probe: probe))
    }

    var elements: [Element] { box.withLock { $0.elements } }
    var ends: Int { box.withLock { $0.ends } }
    /// How often a call came during another one.
    var overlaps: Int { box.withLock { $0.overlaps } }

    var receiver: ElementReceiver<Element> {
        ElementReceiver(
            receive: { element in
                self.box.withLock { state in
                    if !state.isReceiving.setOnce() { state.overlaps += 1 }
                    state.elements.append(element)
                }
                self.box.withLock { $0.isReceiving = false }
                self.received.increment()
                return self.more
            },
            finish: {
                self.box.withLock { $0.ends += 1 }
                self.received.increment()
            })
    }
}

/// A queue whose work runs when the test calls it.
final class HeldQueue: Sendable {
    private let box = Protected<[@Sendable () -> Void]>([])

    func perform(_ work: @escaping @Sendable () -> Void) { box.withLock { $0.append(work) } }

    func run() { while let work = box.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { work() } }
}

@Suite("A subscription", .limited)
struct SubscriptionCoreTests {
    private let queue = HeldQueue()
    private let cancels = Counter()

    private func subscription(_ subscriber: NotedSubscriber<Int>) -> SubscriptionCore<Int> {
        SubscriptionCore(
            subscriber.receiver, on: { [queue] in queue.perform($0) }, cancelling: { [cancels] in cancels.increment() })
    }

    private static func global(_ work: @escaping @Sendable () -> Void) {
        DispatchQueue.global().async { work() }
    }

    @Test("The subscriber is called on the queue alone, and gets no more than it demands")
    func queueAlone() {
        let subscriber = NotedSubscriber<Int>()
        let subscription = subscription(subscriber)
        subscription.request(ElementDemand(2))
        for number in 1...3 { subscription.send(number, isLast: number == 3) }
        #expect(subscriber.elements.isEmpty)
        queue.run()
        #expect(subscriber.elements == [1, 2] && subscriber.ends == 0)
        subscription.request(ElementDemand(1))
        #expect(subscriber.elements == [1, 2])
        queue.run()
        #expect(subscriber.elements == [1, 2, 3] && subscriber.ends == 1)
    }

    @Test("Demand that the subscriber adds while it receives is met by the same delivery")
    func nestedDemand() {
        let subscription = Protected<SubscriptionCore<Int>?>(nil)
        let elements = Journal()
        let receiver = ElementReceiver<Int>(
            receive: { element in
                // Code that wants one more each time, and asks for it before it has handled this one.
                subscription.withLock({ $0 })?.request(ElementDemand(1))
                elements.note("\(element)")
                return .none
            }, finish: { elements.note("end") })
        let core = SubscriptionCore(receiver, on: { [queue] in queue.perform($0) }, cancelling: {})
        subscription.withLock { $0 = core }
        for number in 1...10_000 { core.send(number, isLast: number == 10_000) }
        core.request(ElementDemand(1))
        queue.run()
        #expect(elements.lines == (1...10_000).map { "\($0)" } + ["end"])
        subscription.withLock { $0 = nil }
    }

    @Test("A producer that waits is one element ahead of the demand, not more")
    func waits() async {
        let subscriber = NotedSubscriber<Int>()
        let subscription = SubscriptionCore(subscriber.receiver, on: Self.global, cancelling: {})
        let begun = Counter()
        let producer = Task {
            for number in 1...50 {
                begun.increment()
                await subscription.deliver(number, isLast: number == 50)
            }
        }
        for count in 1...50 {
            await begun.reached(count)
            #expect(subscriber.elements.count == count - 1)
            subscription.request(ElementDemand(1))
            await subscriber.received.reached(count)
            #expect(begun.value <= count + 1)
        }
        await producer.value
        await subscriber.received.reached(51)
        #expect(subscriber.elements == Array(1...50) && subscriber.ends == 1)
    }

    @Test("R4: a cancel ends the producer's wait, and each later wait at once")
    func cancelEndsWait() async {
        let subscriber = NotedSubscriber<Int>()
        let subscription = subscription(subscriber)
        let begun = Counter()
        let producer = Task {
            for number in 1...3 {
                begun.increment()
                await subscription.deliver(number, isLast: number == 3)
            }
        }
        await begun.reached(1)
        subscription.cancel()
        subscription.cancel()
        await producer.value
        subscription.request(.unlimited)
        queue.run()
        #expect(subscriber.elements.isEmpty && subscriber.ends == 0)
        #expect(cancels.value == 1)
    }

    @Test("A cancel while the subscriber receives an element makes it the last one")
    func cancelWithin() {
        let subscription = Protected<SubscriptionCore<Int>?>(nil)
        let elements = Journal()
        let receiver = ElementReceiver<Int>(
            receive: { element in
                elements.note("\(element)")
                subscription.withLock({ $0 })?.cancel()
                return .unlimited
            }, finish: { elements.note("end") })
        let core = SubscriptionCore(
            receiver, on: { [queue] in queue.perform($0) }, cancelling: { [cancels] in cancels.increment() })
        subscription.withLock { $0 = core }
        core.request(.unlimited)
        for number in 1...3 { core.send(number, isLast: false) }
        queue.run()
        #expect(elements.lines == ["1"])
        #expect(cancels.value == 1)
        subscription.withLock { $0 = nil }
    }

    @Test("The end or a cancel releases the subscriber, even if the subscription is kept", arguments: [true, false])
    func release(isCancelled: Bool) async {
        let released = Gate()
        var subscriber: NotedSubscriber<Int>? = NotedSubscriber(probe: ReleaseProbe(opening: released))
        let subscription = SubscriptionCore(
            subscriber?.receiver ?? ElementReceiver(receive: { _ in .none }, finish: {}),
            on: { [queue] in queue.perform($0) }, cancelling: {})
        subscriber = nil
        if isCancelled {
            subscription.cancel()
        } else {
            subscription.request(.unlimited)
            subscription.send(1, isLast: true)
            queue.run()
        }
        await released.pass()
        withExtendedLifetime(subscription) {}
    }

    @Test("Demands of four threads, on a concurrent queue: every element once, in order, one call at a time")
    func racingDemands() async {
        for _ in 0..<20 {
            let subscriber = NotedSubscriber<Int>()
            let subscription = SubscriptionCore(subscriber.receiver, on: Self.global, cancelling: {})
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 { group.addTask { for _ in 0..<50 { subscription.request(ElementDemand(1)) } } }
                group.addTask { for number in 1...200 { await subscription.deliver(number, isLast: number == 200) } }
            }
            await subscriber.received.reached(201)
            #expect(subscriber.elements == Array(1...200))
            #expect(subscriber.overlaps == 0 && subscriber.ends == 1)
        }
    }

    @Test("A cancel that races elements and demands ends every wait, and cancels the request at most once")
    func racingCancels() async {
        for round in 0..<200 {
            let cancels = Counter()
            let subscriber = NotedSubscriber<Int>(more: ElementDemand(1))
            let subscription = SubscriptionCore(
                subscriber.receiver, on: Self.global, cancelling: { cancels.increment() })
            await withTaskGroup(of: Void.self) { group in
                group.addTask { for number in 1...20 { await subscription.deliver(number, isLast: number == 20) } }
                group.addTask { subscription.request(ElementDemand(1)) }
                group.addTask {
                    await subscriber.received.reached(round % 20 + 1)
                    subscription.cancel()
                }
                group.addTask { for _ in 0..<3 { subscription.request(ElementDemand(1)) } }
            }
            let count = subscriber.elements.count
            #expect(subscriber.elements == Array((1...20).prefix(count)) && count > round % 20)
            #expect(cancels.value <= 1 && subscriber.ends <= 1)
        }
    }
}
