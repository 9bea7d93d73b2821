/// The number of further elements that a subscriber wants: Combine's `Subscribers.Demand`, which does not exist on
/// Linux.
struct ElementDemand: Sendable, Equatable {
    /// The number of elements; nil if it is unlimited.
    private(set) var limit: Int?

    static let none = ElementDemand(0)
    static let unlimited = ElementDemand(nil)

    /// Creates a demand; nil means unlimited. A negative number counts as zero.
    init(_ limit: Int?) { self.limit = limit.map { max(0, $0) } }

    /// Adds a further demand. A sum that is too large for an integer is unlimited.
    static func += (demand: inout ElementDemand, more: ElementDemand) {
        guard let old = demand.limit, let new = more.limit else { return demand.limit = nil }
        let (sum, overflows) = old.addingReportingOverflow(new)
        demand.limit = overflows ? nil : sum
    }

    /// Takes one element from the demand; returns false if there is none left.
    mutating func take() -> Bool {
        guard let limit else { return true }
        guard limit > 0 else { return false }
        self.limit = limit - 1
        return true
    }
}

/// The receiving end of a subscription: the functions of a subscriber.
struct ElementReceiver<Element: Sendable>: Sendable {
    /// Receives an element; returns the additional demand.
    let receive: @Sendable (Element) -> ElementDemand
    /// Receives the end, once, after the last element.
    let finish: @Sendable () -> Void
}

/// The state of one subscription, guarded by the lock of its core: the elements that wait for demand, and who delivers
/// them.
///
/// Functions change the state and return an action. The caller performs it after unlocking, because subscribers are
/// user code (rule R1 in Concurrency.md). One thread at a time delivers, so a subscriber never receives two elements
/// concurrently, even if its queue is concurrent.
struct SubscriptionState<Element: Sendable>: Sendable {
    /// An element, and the producer's closure to call once the element has been delivered or dropped.
    struct Entry: Sendable {
        let element: Element
        let settle: @Sendable () -> Void
    }

    private enum Stage {
        case open
        /// The last element has arrived. It is delivered when there is demand, and then the end.
        case ending
        /// The subscriber has received the end, or has cancelled.
        case over
    }

    private var stage = Stage.open
    private var demand = ElementDemand.none
    private var waiting: [Entry] = []
    private var isDelivering = false
    // Released at the end, because the subscriber usually owns the subscription
    private var receiver: ElementReceiver<Element>?
    /// Cancels the request. Nil after the last element: the request has finished then.
    private var cancelRequest: (@Sendable () -> Void)?

    init(_ receiver: ElementReceiver<Element>, cancelling cancelRequest: @escaping @Sendable () -> Void) {
        self.receiver = receiver
        self.cancelRequest = cancelRequest
    }

    /// Whether the subscriber still wants elements.
    var isOpen: Bool { if case .open = stage { true } else { false } }

    /// Adds demand. Returns whether the caller has to schedule a delivery.
    mutating func request(_ more: ElementDemand) -> Bool {
        demand += more
        return beginDelivery()
    }

    struct Addition: Sendable {
        /// Whether the caller has to schedule a delivery.
        let schedules: Bool
        /// The entry, if the subscription is over and nothing more is delivered.
        let refused: Entry?
        /// An object to release after unlocking.
        fileprivate var released: (@Sendable () -> Void)?
    }

    /// Adds an element of the producer.
    mutating func add(_ entry: Entry, isLast: Bool) -> Addition {
        guard isOpen else { return Addition(schedules: false, refused: entry) }
        waiting.append(entry)
        var released: (@Sendable () -> Void)?
        if isLast { (stage, released) = (.ending, cancelRequest.take()) }
        return Addition(schedules: beginDelivery(), refused: nil, released: released)
    }

    /// Returns true if there is something to deliver and no thread delivers.
    private mutating func beginDelivery() -> Bool {
        guard !isDelivering, !waiting.isEmpty, demand != .none else { return false }
        return isDelivering.setOnce()
    }

    enum Step: Sendable {
        case deliver(Entry, ElementReceiver<Element>)
        case finish(ElementReceiver<Element>)
        /// There is nothing to deliver now: the delivery has ended.
        case stop
    }

    /// Returns the next step of the thread that delivers.
    ///
    /// - Parameter more: The additional demand that the subscriber returned for the last element.
    mutating func next(adding more: ElementDemand = .none) -> Step {
        demand += more
        if case .ending = stage, waiting.isEmpty, let receiver = receiver.take() {
            stage = .over
            return .finish(receiver)
        }
        guard let receiver, !waiting.isEmpty, demand.take() else {
            isDelivering = false
            return .stop
        }
        return .deliver(waiting.removeFirst(), receiver)
    }

    /// The actions of a cancel: cancelling the request, and calling the closures of dropped elements. The receiver is
    /// released after unlocking.
    struct Cancellation: Sendable {
        let cancelRequest: (@Sendable () -> Void)?
        let dropped: [Entry]
        fileprivate let receiver: ElementReceiver<Element>?
    }

    /// Ends the subscription: no further element is delivered. The request is cancelled, unless the last element has
    /// arrived.
    mutating func cancel() -> Cancellation {
        stage = .over
        defer { waiting = [] }
        return Cancellation(cancelRequest: cancelRequest.take(), dropped: waiting, receiver: receiver.take())
    }
}
