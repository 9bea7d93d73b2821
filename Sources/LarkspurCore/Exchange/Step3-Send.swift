/// The third step: the request is sent, through middleware if there is any.
///
/// Middleware runs around the hop loop, and inside validation and retries. While the middleware's code runs, the phase
/// is `.preparing` before the first hop, `.receiving` while a live body is open, and `.settling` otherwise. In each of
/// these phases a cancel takes effect at once.
extension RequestPipeline {
    func intercept(_ request: OutgoingRequest, _ plan: AttemptPlan) -> Next {
        guard !plan.settings.middleware.isEmpty else { return .wait(request, plan, HopLoop()) }
        return .later { () async throws(Exit) in
            try core.enter(.sending)
            let exchange = try await send(request, through: plan.settings.middleware, attempt: plan.number)
            return .now(.examine(exchange, try core.currentPlan()))
        }
    }

    func send(
        _ request: OutgoingRequest, through middleware: [any RequestMiddleware], attempt: Int
    ) async throws(Exit) -> CompletedExchange {
        let passage = Passage(self, request, attempt)
        let outcome: Result<ExchangeResponse, any Error>
        do {
            let exchange = Exchange(request: request, requestID: core.id, session: session, attempt: attempt)
            outcome = .success(try await passage.pass(exchange, through: middleware[...]))
        } catch {
            outcome = .failure(error)
        }
        guard core.isWithPipeline else { throw .abandon }
        switch outcome {
        case .success(let response) where core.receiver == nil: return try await keep(response, passage)
        case .success(let response): return try await receive(response, passage)
        case .failure(let error):
            try await passage.settle()
            return failed(passage.failure(error), passage.latest)
        }
    }

    /// Handles the response that middleware returned, if the request keeps the body in memory.
    private func keep(_ response: ExchangeResponse, _ passage: Passage) async throws(Exit) -> CompletedExchange {
        try await passage.settle()
        let exchange = passage.exchange(of: response)
        let limit = exchange.request?.options.maximumBodySize ?? HopProgress.limitInMemory
        do {
            return exchange.with(try await response.data(upTo: Int(clamping: limit)))
        } catch {
            return failed(passage.failure(error), exchange)
        }
    }

    /// Handles the response that middleware returned, if the request has a receiver for the body.
    private func receive(_ response: ExchangeResponse, _ passage: Passage) async throws(Exit) -> CompletedExchange {
        // A live body is read from its hop, so that hop must stay open. A response with a buffered body needs no hop
        // any more.
        if case .buffered = response.body { try await passage.settle() }
        let exchange = passage.exchange(of: response)
        let ending = Ending { () async throws(Exit) in
            try await passage.settle()
            return (passage.exchange(of: response), passage.latest.hop?.error)
        } failure: {
            passage.failure($0)
        }
        return try await receive(response.body.chunks, of: exchange, ending)
    }
}

extension ExchangeResponse.Body {
    fileprivate var chunks: LiveBody {
        switch self {
        case .live(let chunks): chunks
        case .buffered(let data):
            LiveBody(
                AsyncStream { chunks in
                    chunks.yield(data)
                    chunks.finish()
                })
        }
    }
}

/// The calls of middleware in one attempt, and the results of the middleware's calls of `next`.
private final class Passage: Sendable {
    private enum HopState {
        /// No hop was sent.
        case notSent
        /// A hop is in flight, and the channel delivers its body.
        case live(ByteChannel)
        /// The hop has ended.
        case settled
    }

    private struct State {
        var hopState = HopState.notSent
        /// The latest result of a call of `next`.
        var latest: CompletedExchange
        /// The errors that calls of `next` have thrown.
        var errors: [RequestError] = []
        /// The hops of the responses that `next` has returned. `given` is the hop when `next` returned, and `ended` is
        /// the same hop after its end.
        var hops: [(given: Hop, ended: Hop)] = []
    }

    // Immutable
    private let pipeline: RequestPipeline
    private let request: OutgoingRequest

    // Mutable state, guarded by the lock of `Protected`
    private let box: Protected<State>

    init(_ pipeline: RequestPipeline, _ request: OutgoingRequest, _ attempt: Int) {
        self.pipeline = pipeline
        self.request = request
        let past = pipeline.core.read { $0.past }
        box = Protected(State(latest: CompletedExchange(attempts: attempt, past: past)))
    }

    var latest: CompletedExchange { box.withLock { $0.latest } }

    /// Calls the first middleware. The middleware's `next` calls the other middleware and finally sends the request.
    func pass(
        _ exchange: Exchange, through rest: ArraySlice<any RequestMiddleware>
    ) async throws -> ExchangeResponse {
        guard pipeline.core.isWithPipeline else { throw CancellationError() }
        guard let middleware = rest.first else { return try await send(exchange.request) }
        let turn = Turn()
        defer { turn.close() }
        return try await middleware.intercept(exchange) { exchange in
            try turn.begin()
            defer { turn.end() }
            return try await self.pass(exchange, through: rest.dropFirst())
        }
    }

    // MARK: Sending

    private func send(_ request: OutgoingRequest) async throws -> ExchangeResponse {
        var request = request
        try pipeline.core.retarget(&request)
        // Adapters have added credentials for the origin of `self.request`. Another origin must not get them.
        let origin = try pipeline.core.target(for: self.request.url).origin
        if request.url.origin != origin { request.removeFieldsOfOrigin() }
        try request.complete()
        let sent = pipeline.core.read { $0.attempt?.hops ?? [] }
        guard request.body.isReplayable || sent.allSatisfy(\.request.body.isReplayable) else {
            throw RequestError(.bodyNotReplayable, "next was called again, and the body can be sent only once")
        }
        let outcome = await withTaskCancellationHandler {
            await perform(request)
        } onCancel: {
            pipeline.core.endHop()
        }
        switch try outcome.get() {
        case .ended(let exchange):
            box.withLock { ($0.hopState, $0.latest) = (.settled, exchange) }
            guard let error = exchange.error else {
                return try response(exchange) { _ in .buffered(exchange.data ?? Data()) }
            }
            box.withLock { $0.errors.append(error) }
            try Task.checkCancellation()  // throws if only the task of this call was cancelled
            throw error
        case .live(let exchange, let channel?):
            box.withLock { ($0.hopState, $0.latest) = (.live(channel), exchange) }
            return try response(exchange) { .live(LiveBody(HopBody(channel, of: $0))) }
        case .live, .redirect, .notBegun: throw CancellationError()
        }
    }

    /// Runs the hop loop. If the request was cancelled, returns the error for the middleware: a `CancellationError`, or
    /// the error of the total timeout if a server did not answer in time. The request finishes without waiting for the
    /// middleware.
    private func perform(_ request: OutgoingRequest) async -> Result<HopOutcome, any Error> {
        let core = pipeline.core
        do {
            if case .live = box.withLock({ $0.hopState }) { try await settle() }
            let earlier = core.read { $0.attempt?.hops.count ?? 0 }
            let loop = RequestPipeline.HopLoop(earlier: earlier)
            return .success(try await pipeline.hops(.wait(request, core.currentPlan(), loop)))
        } catch {
            let (timeout, exchange) = core.read { ($0.timeoutOfHop, $0.cancelledExchange) }
            switch error {
            case .unwind: core.unwind(core.read { $0.pipeline.task })
            case .abandon: break
            }
            return .failure(timeout?.adding(to: exchange, requestID: core.id) ?? CancellationError())
        }
    }

    private func response(
        _ exchange: CompletedExchange, body: (Hop) -> ExchangeResponse.Body
    ) throws -> ExchangeResponse {
        guard let hop = exchange.hop, let head = hop.head else {
            throw RequestError(.protocolViolation, "the transport has ended a hop well without a response")
        }
        box.withLock { $0.hops.append((hop, hop)) }
        return ExchangeResponse(of: hop, head: head, body: body(hop))
    }

    /// Ends the hop whose body is live, if there is one. After this method the phase is `.settling`.
    func settle() async throws(RequestPipeline.Exit) {
        switch box.withLock({ $0.hopState }) {
        case .notSent: try pipeline.core.step(.settle)
        case .live(let channel):
            let exchange = try await pipeline.end(channel)
            box.withLock { state in
                state.latest = exchange
                if let hop = exchange.hop { state.hops[state.hops.count - 1].ended = hop }
            }
        case .settled: break
        }
        box.withLock { $0.hopState = .settled }
    }

    // MARK: Results

    /// Returns the exchange for the response that middleware returned. If the response came from a hop of this attempt,
    /// the exchange has that hop's request and metrics.
    func exchange(of response: ExchangeResponse) -> CompletedExchange {
        let (ended, latest) = box.withLock { state in
            (state.hops.last { $0.given === response.hop }?.ended, state.latest)
        }
        let answer = Hop(
            request: ended?.request ?? request, head: response.head, metrics: ended?.metrics,
            informationalResponses: ended?.informationalResponses ?? [], trailers: ended?.trailers)
        let past = pipeline.core.read { state in
            if state.isWithPipeline { state.answer = answer }
            return state.past
        }
        return CompletedExchange(hop: answer, attempts: latest.attempts, past: past)
    }

    /// Returns the request's error for an error that middleware threw. An error of `next` is returned unchanged, and
    /// any other error is wrapped.
    func failure(_ error: any Error) -> RequestError {
        if let error = error as? RequestError, box.withLock({ $0.errors }).contains(where: error.isSame) {
            return error
        }
        return RequestError(wrapping: error, as: .middlewareFailed, stage: .sending, about: request)
    }
}

/// The permission of one middleware to call `next`. The middleware may call `next` only while it runs, and only one
/// call at a time.
final class Turn: Sendable {
    private enum Stage { case free, taken, over }

    private let box = Protected(Stage.free)

    func begin() throws(RequestError) {
        let stage = box.withLock { stage in
            defer { if stage == .free { stage = .taken } }
            return stage
        }
        switch stage {
        case .free: break
        case .taken: throw RequestError(.nextRefused, "next was called while an earlier call of it was under way")
        case .over: throw RequestError(.nextRefused, "next was called after its middleware had returned")
        }
    }

    func end() { box.withLock { if $0 == .taken { $0 = .free } } }

    func close() { box.withLock { $0 = .over } }
}
