import LarkspurTransport

/// What the pipeline runs for one attached serializer; its types are known inside.
protocol SerializerJob: Sendable {
    /// Serializes, and holds the response in the slot if the request is still in this phase; a cancel meanwhile means
    /// that somebody else answers. Returns a failure that was not the exchange's own.
    func run(
        _ exchange: CompletedExchange, in core: RequestCore, slot: Int, during phase: RequestPhase
    ) async -> RequestError?

    /// Holds this failure in place of the serializer's own.
    func fail(
        with error: RequestError, _ exchange: CompletedExchange, in core: RequestCore, slot: Int,
        during phase: RequestPhase)
}

/// Resumes waiters and the like, after unlocking.
typealias Delivery = @Sendable () -> Void

/// The box's record of one attached serializer: where it stands, and who waits for it.
///
/// A class without a lock: slots live in the request's box and never leave it.
class SerializerSlot {
    enum Status {
        /// Not serialized in this attempt.
        case waiting
        /// Serialized; held back until the last serializer of the request has ended.
        case held
        /// Ended by its own `cancel()`.
        case withdrawn
        /// Answered; the response stays for awaiters to come.
        case delivered
    }

    /// Whether anybody is left who wants the answer.
    enum Interest { case wanted, abandoned }

    let job: any SerializerJob
    fileprivate(set) var status = Status.waiting
    fileprivate(set) var interest = Interest.wanted

    fileprivate init(job: any SerializerJob) {
        self.job = job
    }

    /// Whether the request still owes somebody this answer.
    var isOwed: Bool { (status == .waiting || status == .held) && interest == .wanted }

    /// A new attempt begins: the response of the last one never was.
    func discard() -> (any Sendable)? { nil }

    /// Ends the slot before its time, with this failure.
    func withdraw(_ exchange: CompletedExchange, _ error: RequestError) -> Delivery? { nil }

    /// Ends the slot: what is to be done for its waiters, and the handler to be called.
    func deliver() -> (waiters: Delivery?, handler: (@Sendable () async -> Void)?) { (nil, nil) }
}

final class TypedSlot<Value: Sendable>: SerializerSlot {
    typealias Handler = @Sendable (DataResponse<Value>) async -> Void
    typealias Waiter = Suspension<DataResponse<Value>>

    private(set) var response: DataResponse<Value>?
    private var waiters: [(number: UInt64, continuation: Waiter)] = []
    private let handler: Handler?

    init(job: any SerializerJob, handler: Handler?) {
        self.handler = handler
        super.init(job: job)
    }

    override func discard() -> (any Sendable)? {
        guard status == .held else { return nil }
        status = .waiting
        defer { response = nil }
        return response
    }

    /// Takes a serializer's response, unless the slot was withdrawn meanwhile; gives back the one it replaces.
    func hold(_ response: DataResponse<Value>) -> DataResponse<Value>? {
        guard status == .waiting || status == .held else { return nil }
        defer { self.response = response }
        status = .held
        return self.response
    }

    /// The response once it is not held back any more.
    var finalResponse: DataResponse<Value>? {
        status == .delivered || status == .withdrawn ? response : nil
    }

    /// Gives the response if it is final, or keeps the waiter for it.
    func answer(_ number: UInt64, _ waiter: Waiter) -> DataResponse<Value>? {
        if let finalResponse { return finalResponse }
        waiters.append((number, waiter))
        interest = .wanted
        return nil
    }

    /// Takes one waiter out; the slot is abandoned if it was the last who wanted the answer.
    func removeWaiter(_ number: UInt64, abandons: Bool) -> Waiter? {
        guard let index = waiters.firstIndex(where: { $0.number == number }) else { return nil }
        let waiter = waiters.remove(at: index).continuation
        if waiters.isEmpty, abandons { interest = .abandoned }
        return waiter
    }

    override func withdraw(_ exchange: CompletedExchange, _ error: RequestError) -> Delivery? {
        guard status == .waiting || status == .held else { return nil }
        let discarded = discard()
        let response = DataResponse<Value>(exchange: exchange, result: .failure(error))
        self.response = response
        status = .withdrawn
        let answer = takeWaiters(for: response)
        return { withExtendedLifetime(discarded) { answer?() } }
    }

    override func deliver() -> (waiters: Delivery?, handler: (@Sendable () async -> Void)?) {
        guard status == .held, let response else { return (nil, nil) }
        status = .delivered
        let handler = handler.map { handler in { @Sendable in await handler(response) } }
        return (takeWaiters(for: response), handler)
    }

    private func takeWaiters(for response: DataResponse<Value>) -> Delivery? {
        guard !waiters.isEmpty else { return nil }
        let answered = waiters
        waiters = []
        return { for waiter in answered { waiter.continuation.resume(returning: response) } }
    }
}

/// A serializer with its type, as the pipeline runs it.
struct TypedJob<Serializer: ResponseSerializer>: SerializerJob {
    let serializer: Serializer

    func run(
        _ exchange: CompletedExchange, in core: RequestCore, slot: Int, during phase: RequestPhase
    ) async -> RequestError? {
        let start = ContinuousClock.now
        var failure: RequestError?
        let result: Result<Serializer.SerializedObject, RequestError>
        do {
            result = .success(try await value(of: exchange))
        } catch {
            if let known = exchange.error, let same = error as? RequestError, same.requestID == known.requestID {
                result = .failure(same)
            } else {
                let own = RequestError(wrapping: error, as: .serializationFailed, stage: .serializing)
                    .adding(to: exchange, requestID: core.id)
                if exchange.error == nil { failure = own }
                result = .failure(own)
            }
        }
        let response = DataResponse(
            exchange: exchange, result: result, serializationDuration: ContinuousClock.now - start)
        core.hold(response, in: slot, during: phase)
        return failure
    }

    func fail(
        with error: RequestError, _ exchange: CompletedExchange, in core: RequestCore, slot: Int,
        during phase: RequestPhase
    ) {
        let response = DataResponse<Serializer.SerializedObject>(exchange: exchange, result: .failure(error))
        core.hold(response, in: slot, during: phase)
    }

    private func value(of exchange: CompletedExchange) async throws -> Serializer.SerializedObject {
        if let error = exchange.error { return try await serializer.recover(from: error, exchange) }
        return try await serializer.serialize(exchange)
    }
}
