#if canImport(Combine)
    import Combine
    import Dispatch

    /// A subscriber that is passed between threads.
    ///
    /// Unchecked (rule R6 in Concurrency.md), because Combine's subscribers are not `Sendable`, although Combine passes
    /// them between threads: a publisher may call a subscriber on any thread, one call at a time. The box keeps to that
    /// rule. `SubscriptionCore` makes one call at a time, and the lock between two calls orders them.
    private struct SubscriberBox<Element: Sendable>: @unchecked Sendable {
        private let subscriber: any Subscriber<Element, Never>

        init(_ subscriber: any Subscriber<Element, Never>) { self.subscriber = subscriber }

        func receive(_ element: Element) -> ElementDemand { ElementDemand(subscriber.receive(element).max) }

        func finish() { subscriber.receive(completion: .finished) }
    }

    extension SubscriptionCore: Subscription {
        /// Subscribes a subscriber of Combine to a request.
        ///
        /// - Parameters:
        ///   - subscriber: The subscriber.
        ///   - request: The request.
        ///   - queue: The queue on which the subscriber receives the elements and the end.
        ///   - start: Starts the producer, which sends its elements to the subscription.
        static func subscribe(
            _ subscriber: any Subscriber<Element, Never>, to request: any Request, on queue: DispatchQueue,
            start: (SubscriptionCore<Element>) -> Void
        ) {
            let box = SubscriberBox(subscriber)
            subscribe(
                ElementReceiver(receive: { box.receive($0) }, finish: { box.finish() }), to: request,
                on: { work in queue.async { work() } }, handOver: { subscriber.receive(subscription: $0) },
                start: start)
        }

        func request(_ demand: Subscribers.Demand) { request(ElementDemand(demand.max)) }
    }
#endif
