/// The implementation of a subscription to a publisher: its locked state, and the actions that the state's functions
/// return, which run after unlocking.
///
/// It does not use Combine, so it is compiled and tested on every platform. Rules:
///
/// - An element is delivered only if the subscriber has demanded it, and one at a time, in order.
/// - The subscriber is called by `perform`, which runs a closure on the publisher's queue.
/// - The end follows the last element without further demand.
/// - After a cancel no further element is delivered. An element that is being delivered meanwhile is the last one.
final class SubscriptionCore<Element: Sendable>: Sendable {
    private let box: Protected<SubscriptionState<Element>>
    private let perform: @Sendable (@escaping @Sendable () -> Void) -> Void

    /// Creates a subscription.
    ///
    /// - Parameters:
    ///   - receiver: The functions of the subscriber. They are released at the end of the subscription.
    ///   - perform: Runs a closure on the publisher's queue.
    ///   - cancelRequest: Cancels the request. Called at most once, by a cancel before the last element has arrived.
    init(
        _ receiver: ElementReceiver<Element>, on perform: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        cancelling cancelRequest: @escaping @Sendable () -> Void
    ) {
        box = Protected(SubscriptionState(receiver, cancelling: cancelRequest))
        self.perform = perform
    }

    /// Whether the subscriber still wants elements, and the last one has not arrived.
    var isOpen: Bool { box.withLock { $0.isOpen } }

    // MARK: The subscriber's side

    func request(_ demand: ElementDemand) {
        if box.withLock({ $0.request(demand) }) { scheduleDelivery() }
    }

    func cancel() {
        let cancellation = box.withLock { $0.cancel() }
        cancellation.cancelRequest?()
        for entry in cancellation.dropped { entry.settle() }
    }

    // MARK: The producer's side

    /// Adds an element, which waits for demand.
    ///
    /// - Parameter settle: Called once the element has been delivered or dropped.
    func send(_ element: Element, isLast: Bool, settle: @escaping @Sendable () -> Void = {}) {
        let addition = box.withLock {
            $0.add(SubscriptionState.Entry(element: element, settle: settle), isLast: isLast)
        }
        if let refused = addition.refused { return refused.settle() }
        if addition.schedules { scheduleDelivery() }
    }

    /// Adds an element, and waits until it has been delivered or dropped. So a producer that calls this for each
    /// element waits while there is no demand.
    func deliver(_ element: Element, isLast: Bool) async {
        await suspended { (continuation: Continuation<Void>) in
            send(element, isLast: isLast) { continuation.resume() }
        }
    }

    // MARK: Delivery

    private func scheduleDelivery() { perform { self.deliverWaiting() } }

    /// Delivers elements until none is left or demanded. A subscriber that adds demand while it receives an element
    /// gets the next one from this loop, not from a nested call.
    private func deliverWaiting() {
        var more = ElementDemand.none
        while true {
            switch box.withLock({ $0.next(adding: more) }) {
            case .deliver(let entry, let receiver):
                more = receiver.receive(entry.element)
                entry.settle()
            case .finish(let receiver): return receiver.finish()
            case .stop: return
            }
        }
    }
}
