extension SubscriptionCore {
    /// Subscribes a receiver to a request: passes the subscription on, then starts the producer, unless the subscriber
    /// has cancelled meanwhile. A later cancel cancels the request.
    ///
    /// - Parameters:
    ///   - receiver: The functions of the subscriber.
    ///   - request: The request.
    ///   - perform: Runs a closure on the publisher's queue.
    ///   - handOver: Passes the subscription to the subscriber, which may demand elements or cancel at once.
    ///   - start: Starts the producer, which sends its elements to the subscription.
    static func subscribe(
        _ receiver: ElementReceiver<Element>, to request: any Request,
        on perform: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        handOver: (SubscriptionCore<Element>) -> Void, start: (SubscriptionCore<Element>) -> Void
    ) {
        let subscription = SubscriptionCore(receiver, on: perform, cancelling: { _ = request.cancel() })
        handOver(subscription)
        if subscription.isOpen { start(subscription) }
    }
}

extension Request {
    /// Attaches a receiver of the response, and starts the request. Keeps the session meanwhile: a request that does
    /// not start automatically releases its session when a receiver is attached.
    fileprivate func start(attaching attach: () -> Void) {
        let session = handle.core.heldSession
        attach()
        resume()
        withExtendedLifetime(session) {}
    }
}

extension SerializableRequest {
    /// Sends the response of a serializer to a subscription, and starts the request.
    func send<Serializer: ResponseSerializer>(
        responseOf serializer: Serializer, to subscription: SubscriptionCore<DataResponse<Serializer.SerializedObject>>
    ) {
        start { response(using: serializer) { subscription.send($0, isLast: true) } }
    }
}

extension DataStreamRequest {
    /// Attaches a handler that sends its events to a subscription, and starts the request. The handler waits until the
    /// subscriber has received the event, and meanwhile the server waits.
    func send<Value>(
        eventsTo subscription: SubscriptionCore<Stream<Value>>,
        attaching attach: (@escaping Handler<Value>) -> DataStreamRequest
    ) {
        start { _ = attach { await subscription.deliver($0, isLast: $0.completion != nil) } }
    }
}
