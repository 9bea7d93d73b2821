/// A response whose type only its serializer and its awaiters know: a `ValueBox` or a `FailureBox`.
typealias AnyResponse = any AnyObject & Sendable

/// A serializer's response that waits for the request's other serializers, and the slot that it is for.
struct HeldResponse: Sendable {
    let slot: Int
    let response: AnyResponse
}

/// What is to be done for a slot that has ended, after unlocking: its waiters are resumed, and what it held is let go
/// of, whose end may be somebody's code (R1).
struct Delivery: Sendable {
    fileprivate let waiters: Few<SerializerSlot.Waiter>
    fileprivate let released: (job: SerializerJob, discarded: AnyResponse?)

    func callAsFunction() { waiters.forEach { $0.continuation?.resume(returning: .ready) } }
}

/// What the pipeline runs for one attached serializer.
///
/// Closures, made where the serializer's type is known: the queue is then the same for all types, and what is generic is
/// specialised for the library's own serializers, which an existential's methods are not.
struct SerializerJob: Sendable {
    /// The response, and a failure in it that was not the exchange's own.
    let run: @Sendable (CompletedExchange) async -> (response: AnyResponse, failure: RequestError?)
    let fail: @Sendable (CompletedExchange, RequestError) -> AnyResponse
    /// The response to an exchange that went well, from a serializer that a transport's thread may run. The closure returns
    /// nil where `run` has to be called: after a failure, for a file, and for a long body.
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

    /// What the closures share: a closure over one reference needs no memory of its own.
    private final class Source<Serializer: ResponseSerializer>: Sendable {
        let serializer: Serializer
        let requestID: RequestID

        init(serializer: Serializer, requestID: RequestID) {
            self.serializer = serializer
            self.requestID = requestID
        }
    }

    private init<Serializer>(_ source: Source<Serializer>) {
        run = { exchange in
            if let error = exchange.error, error.isCancelled { return (FailureBox(exchange, error), nil) }
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
                    return (FailureBox(exchange, same, duration), nil)
                }
                let own = RequestError(wrapping: error, as: .serializationFailed, stage: .serializing)
                    .adding(to: exchange, requestID: source.requestID)
                return (FailureBox(exchange, own, duration), exchange.error == nil ? own : nil)
            }
        }
        fail = { exchange, error in FailureBox(exchange, error) }
    }
}

/// A typed response as the untyped queue keeps it. In parts: the end of a whole one, whose type depends on the value's,
/// would be looked up each time.
private final class ValueBox<Value: Sendable>: Sendable {
    let exchange: CompletedExchange
    let value: Value
    let duration: Duration

    init(_ exchange: CompletedExchange, _ value: Value, _ duration: Duration) {
        (self.exchange, self.value, self.duration) = (exchange, value, duration)
    }
}

/// A response without a value, of whatever type it would be.
private final class FailureBox: Sendable {
    let exchange: CompletedExchange
    let error: RequestError
    let duration: Duration

    init(_ exchange: CompletedExchange, _ error: RequestError, _ duration: Duration = .zero) {
        (self.exchange, self.error, self.duration) = (exchange, error, duration)
    }
}

extension DataResponse {
    /// Who attached a serializer knows the type of its response.
    init(_ response: AnyResponse) {
        if let box = response as? ValueBox<Value> {
            self.init(exchange: box.exchange, result: .success(box.value), serializationDuration: box.duration)
        } else if let box = response as? FailureBox {
            self.init(exchange: box.exchange, result: .failure(box.error), serializationDuration: box.duration)
        } else {
            preconditionFailure("a serializer's response was asked for with a type other than its own")
        }
    }
}

/// The box's record of one attached serializer: where it stands, and who waits for it.
struct SerializerSlot {
    /// Somebody who wants the answer; without a continuation while at work for it, to ask again afterwards.
    typealias Waiter = (number: UInt64, continuation: Suspension<Answer>?)
    typealias Handler = @Sendable (AnyResponse) async -> Void
    typealias Call = (handler: Handler, response: AnyResponse)

    /// What an awaiter goes on with. The response it takes out of the box itself.
    enum Answer: Sendable {
        case ready
        /// The awaiter was cancelled, and waits for nothing any more.
        case cancelled
        /// The hop has ended well, and the awaiter goes on with the request.
        case takeUpHop
    }

    enum Status {
        /// Not serialized in this attempt.
        case waiting
        /// Serialized; held back until the last serializer of the request has ended.
        case held(AnyResponse)
        /// Ended by its own `cancel()`.
        case withdrawn(AnyResponse)
        /// Answered; the response stays for awaiters to come.
        case delivered(AnyResponse)
    }

    /// Whether anybody is left who wants the answer.
    enum Interest { case wanted, abandoned }

    /// Given up when the slot has ended, or a closure that mentions its own request would keep it for ever.
    private(set) var job: SerializerJob?
    private var handler: Handler?
    private(set) var status = Status.waiting
    private(set) var interest = Interest.wanted
    private var waiters = Few<Waiter>()

    init(job: SerializerJob, handler: Handler? = nil) {
        self.job = job
        self.handler = handler
    }

    /// Whether code of the user's is still to run for this slot.
    var needsTask: Bool { handler != nil || job.map { $0.prompt == nil } ?? false }

    /// Whether the request still owes somebody this answer.
    var isOwed: Bool {
        switch status {
        case .waiting, .held: interest == .wanted
        case .withdrawn, .delivered: false
        }
    }

    /// The response once it is not held back any more.
    var finalResponse: AnyResponse? {
        switch status {
        case .waiting, .held: nil
        case .withdrawn(let response), .delivered(let response): response
        }
    }

    /// Takes a serializer's response, unless the slot was withdrawn meanwhile; gives back the one it replaces.
    mutating func hold(_ response: AnyResponse) -> (isHeld: Bool, replaced: AnyResponse?) {
        guard finalResponse == nil else { return (false, nil) }
        defer { status = .held(response) }
        if case .held(let replaced) = status { return (true, replaced) }
        return (true, nil)
    }

    /// A new attempt begins: the response of the last one never was. It is given back, to be let go of after unlocking.
    mutating func discard() -> AnyResponse? {
        guard case .held(let response) = status else { return nil }
        status = .waiting
        return response
    }

    /// Keeps the waiter for the response; false if it is final.
    mutating func keep(_ waiter: Waiter) -> Bool {
        guard finalResponse == nil else { return false }
        _ = waiters.remove { $0.number == waiter.number }
        waiters.append(waiter)
        interest = .wanted
        return true
    }

    /// Takes one waiter out; the slot is abandoned if it was the last who wanted the answer.
    mutating func removeWaiter(_ number: UInt64, abandons: Bool) -> Waiter? {
        guard let waiter = waiters.remove(where: { $0.number == number && $0.continuation != nil }) else { return nil }
        if waiters.count == 0, abandons { interest = .abandoned }
        return waiter
    }

    /// Ends the slot before its time, with this response; nil if it has ended already.
    mutating func withdraw(with response: AnyResponse) -> Delivery? {
        guard finalResponse == nil, let job else { return nil }
        let discarded = discard()
        status = .withdrawn(response)
        self.job = nil
        return Delivery(waiters: takeWaiters(), released: (job, discarded))
    }

    /// Ends the slot that has its response: queues its handler's call, and gives what is to be done for its waiters.
    mutating func deliver(queueing calls: inout [Call]) -> Delivery? {
        guard case .held(let response) = status, let job = job.take() else { return nil }
        status = .delivered(response)
        if let handler = handler.take() { calls.append((handler, response)) }
        return Delivery(waiters: takeWaiters(), released: (job, nil))
    }

    /// The only one who waits, to be given work instead of a response: of several, one could have to wait for another.
    mutating func takeSoleWaiter() -> Suspension<Answer>? {
        guard waiters.count == 1, let (number, continuation) = waiters.first else { return nil }
        waiters.first = (number, nil)
        return continuation
    }

    private mutating func takeWaiters() -> Few<Waiter> {
        defer { waiters = Few() }
        return waiters
    }
}

/// A list that has one element as a rule, and needs no memory of its own then.
struct Few<Element> {
    /// Nil if there is none at all.
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
