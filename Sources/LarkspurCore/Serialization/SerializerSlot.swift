/// A type-erased response: a `ValueBox` or a `FailureBox`. Only the serializer and its awaiters know the type of the
/// value.
typealias AnyResponse = any SerializedBox

/// A serializer's response and the index of its slot. The request delivers the response after the last of the request's
/// serializers has ended.
struct HeldResponse: Sendable {
    let slot: Int
    let response: AnyResponse
}

/// The work to do after a slot has ended and the request's state is unlocked: resuming the slot's waiters, and
/// releasing objects whose `deinit` may run user code (rule R1 in Concurrency.md).
struct Delivery: Sendable {
    fileprivate let waiters: Few<SerializerSlot.Waiter>
    fileprivate let released: (job: SerializerJob, discarded: AnyResponse?)

    func callAsFunction() { waiters.forEach { $0.continuation?.resume(returning: .ready) } }
}

/// The work of one attached serializer.
///
/// The closures hide the serializer's type, so that one queue can hold serializers of different types. The compiler can
/// specialize the closures for built-in serializers. It cannot specialize calls of `any ResponseSerializer`.
struct SerializerJob: Sendable {
    /// Runs the serializer. Returns the response, and the error if the serializer itself failed. The error is nil if
    /// the exchange had failed before.
    let run: @Sendable (CompletedExchange) async -> (response: AnyResponse, failure: RequestError?)
    let fail: @Sendable (CompletedExchange, RequestError) -> AnyResponse
    /// Serializes a successful exchange at once, if the serializer is a ``PromptSerializer``. Returns nil if `run` must
    /// be called instead. The property itself is nil for other serializers.
    private(set) var prompt: Prompt?

    typealias Prompt = @Sendable (CompletedExchange) -> AnyResponse?

    init<Serializer: ResponseSerializer>(_ serializer: Serializer, requestID: RequestID) {
        self.init(Source(serializer: serializer, requestID: requestID))
    }

    init<Serializer: PromptSerializer>(prompt serializer: Serializer, requestID: RequestID) {
        let source = Source(serializer: serializer, requestID: requestID)
        self.init(source)
        prompt = { exchange in
            guard exchange.error == nil, exchange.fileURL == nil,
                exchange.data?.count ?? 0 <= source.serializer.promptLimit
            else { return nil }
            let start = ContinuousClock.now
            guard let value = try? source.serializer.serialize(exchange) else { return nil }
            return ValueBox(exchange, value, ContinuousClock.now - start)
        }
    }

    /// The data that the closures share. This is a class, because a closure that captures only one reference needs no
    /// allocation.
    private final class Source<Serializer: ResponseSerializer>: Sendable {
        let serializer: Serializer
        let requestID: RequestID

        init(serializer: Serializer, requestID: RequestID) {
            self.serializer = serializer
            self.requestID = requestID
        }

        func failure(
            _ exchange: CompletedExchange, _ error: RequestError, _ duration: Duration = .zero
        ) -> FailureBox {
            FailureBox(exchange, error, duration, Serializer.SerializedObject.self)
        }
    }

    private init<Serializer>(_ source: Source<Serializer>) {
        run = { exchange in
            if let error = exchange.error, error.isCancelled { return (source.failure(exchange, error), nil) }
            let start = ContinuousClock.now
            do {
                let value: Serializer.SerializedObject
                if let error = exchange.error {
                    value = try await source.serializer.recover(from: error, exchange)
                } else {
                    let read = source.serializer.readsDownloadedFile ? try exchange.readingFile() : exchange
                    value = try await source.serializer.serialize(read)
                }
                return (ValueBox(exchange, value, ContinuousClock.now - start), nil)
            } catch {
                let duration = ContinuousClock.now - start
                if let known = exchange.error, let same = error as? RequestError, same.requestID == known.requestID {
                    return (source.failure(exchange, same, duration), nil)
                }
                let own = RequestError(wrapping: error, as: .serializationFailed, stage: .serializing)
                    .adding(to: exchange, requestID: source.requestID)
                return (source.failure(exchange, own, duration), exchange.error == nil ? own : nil)
            }
        }
        fail = { exchange, error in source.failure(exchange, error) }
    }
}

/// A successful response, stored as an `AnyResponse`. It stores the parts of the response and no `DataResponse`,
/// because destroying a value of that generic type needs a type lookup each time.
private final class ValueBox<Value: Sendable>: SerializedBox {
    let exchange: CompletedExchange
    let value: Value
    let duration: Duration

    var valueType: any Any.Type { Value.self }

    init(_ exchange: CompletedExchange, _ value: Value, _ duration: Duration) {
        (self.exchange, self.value, self.duration) = (exchange, value, duration)
    }
}

/// A failed response, which any value's type can read.
private final class FailureBox: SerializedBox {
    let exchange: CompletedExchange
    let error: RequestError
    let duration: Duration
    let valueType: any Any.Type

    init(_ exchange: CompletedExchange, _ error: RequestError, _ duration: Duration, _ valueType: any Any.Type) {
        (self.exchange, self.error, self.duration, self.valueType) = (exchange, error, duration, valueType)
    }
}

extension DataResponse {
    /// Creates a response from a type-erased one. `Value` must be the value type of the attached serializer.
    init(_ response: AnyResponse) {
        if let box = response as? ValueBox<Value> {
            self.init(exchange: box.exchange, result: .success(box.value), serializationDuration: box.duration)
        } else if let box = response as? FailureBox {
            self.init(exchange: box.exchange, result: .failure(box.error), serializationDuration: box.duration)
        } else {
            preconditionFailure("the type of a response does not match its serializer")
        }
    }
}

/// One attached serializer with its status and its waiters.
struct SerializerSlot {
    /// A task that awaits the response. Its continuation is nil while the task itself runs the request's next steps
    /// (`takeUpHop`). After these steps the task checks for the response again.
    typealias Waiter = (number: UInt64, continuation: Continuation<Answer>?)
    typealias Handler = @Sendable (AnyResponse) async -> Void
    typealias Call = (handler: Handler, response: AnyResponse)

    /// The reason why an awaiting task is resumed.
    enum Answer: Sendable {
        /// The response is final. The awaiter reads it from the request's state.
        case ready
        /// The awaiter was cancelled and no longer waits.
        case cancelled
        /// The hop has ended successfully; the awaiter runs the request's next steps.
        case takeUpHop
    }

    enum Status {
        /// Not serialized in this attempt.
        case waiting
        /// Serialized; held back until the last serializer of the request has ended.
        case held(AnyResponse)
        /// Ended early, for example by ``DataTask/cancel()``.
        case withdrawn(AnyResponse)
        /// Delivered; the response is kept for later awaiters.
        case delivered(AnyResponse)
    }

    /// Whether the response is still needed. It is abandoned when the last task that awaited it was cancelled.
    enum Interest { case wanted, abandoned }

    /// The serializer's work. It is released when the slot has ended. Otherwise a serializer that captures its own
    /// request would form a reference cycle, and the request would never be freed.
    private(set) var job: SerializerJob?
    private var handler: Handler?
    private(set) var status = Status.waiting
    private(set) var interest = Interest.wanted
    private var waiters = Few<Waiter>()

    init(job: SerializerJob, handler: Handler? = nil) {
        self.job = job
        self.handler = handler
    }

    /// Whether user code still has to run for this slot, which needs a task.
    var needsTask: Bool { handler != nil || job.map { $0.prompt == nil } ?? false }

    /// Whether the request still has to deliver the response of this slot.
    var isOwed: Bool {
        switch status {
        case .waiting, .held: interest == .wanted
        case .withdrawn, .delivered: false
        }
    }

    /// The delivered or withdrawn response; nil while the slot waits or holds its response.
    var finalResponse: AnyResponse? {
        switch status {
        case .waiting, .held: nil
        case .withdrawn(let response), .delivered(let response): response
        }
    }

    /// Stores a serializer's response, unless the slot has already ended. Returns whether the response was stored, and
    /// the earlier response that it has replaced, if there was one.
    mutating func hold(_ response: AnyResponse) -> (isHeld: Bool, replaced: AnyResponse?) {
        guard finalResponse == nil else { return (false, nil) }
        defer { status = .held(response) }
        if case .held(let replaced) = status { return (true, replaced) }
        return (true, nil)
    }

    /// Resets the slot for a new attempt. Returns the discarded response, if there was one. The caller releases it
    /// after unlocking.
    mutating func discard() -> AnyResponse? {
        guard case .held(let response) = status else { return nil }
        status = .waiting
        return response
    }

    /// Adds or updates a waiter. Returns false if the response is already final, so that the task need not wait.
    mutating func keep(_ waiter: Waiter) -> Bool {
        guard finalResponse == nil else { return false }
        _ = waiters.remove { $0.number == waiter.number }
        waiters.append(waiter)
        interest = .wanted
        return true
    }

    /// Removes a waiter. If no other waiter is left and `abandons` is true, marks the response as abandoned.
    mutating func removeWaiter(_ number: UInt64, abandons: Bool) -> Waiter? {
        guard let waiter = waiters.remove(where: { $0.number == number && $0.continuation != nil }) else { return nil }
        if waiters.count == 0, abandons { interest = .abandoned }
        return waiter
    }

    /// Ends the slot early with the response. Returns the work to do after unlocking; nil if the slot has already
    /// ended.
    mutating func withdraw(with response: AnyResponse) -> Delivery? {
        guard finalResponse == nil, let job else { return nil }
        let discarded = discard()
        status = .withdrawn(response)
        self.job = nil
        return Delivery(waiters: takeWaiters(), released: (job, discarded))
    }

    /// Marks the held response as delivered, and appends the handler to `calls`. Returns the work to do after
    /// unlocking; nil if the slot holds no response.
    mutating func deliver(queueing calls: inout [Call]) -> Delivery? {
        guard case .held(let response) = status, let job = job.take() else { return nil }
        status = .delivered(response)
        if let handler = handler.take() { calls.append((handler, response)) }
        return Delivery(waiters: takeWaiters(), released: (job, nil))
    }

    /// Removes and returns the continuation of the only waiter, whose task then runs the request's next steps. Returns
    /// nil if there is no waiter, or if there are several: a task would then run steps that other tasks wait for.
    mutating func takeSoleWaiter() -> Continuation<Answer>? {
        guard waiters.count == 1, let (number, continuation) = waiters.first else { return nil }
        waiters.first = (number, nil)
        return continuation
    }

    private mutating func takeWaiters() -> Few<Waiter> {
        defer { waiters = Few() }
        return waiters
    }
}

/// A list that needs no allocation for its first element. Most of these lists have only one element.
struct Few<Element> {
    /// The first element; nil if the list is empty.
    var first: Element?
    private var others: [Element] = []

    var count: Int { first == nil ? 0 : 1 + others.count }

    mutating func append(_ element: Element) {
        if first == nil { first = element } else { others.append(element) }
    }

    mutating func remove(where isMeant: (Element) -> Bool) -> Element? {
        guard let element = first else { return nil }
        guard isMeant(element) else { return others.firstIndex(where: isMeant).map { others.remove(at: $0) } }
        first = others.isEmpty ? nil : others.removeFirst()
        return element
    }

    func forEach(_ body: (Element) -> Void) {
        guard let first else { return }
        body(first)
        for element in others { body(element) }
    }
}

extension Few: Sendable where Element: Sendable {}
