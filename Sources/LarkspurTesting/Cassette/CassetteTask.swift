import Dispatch
import Larkspur
import LarkspurInsight

/// A task of a cassette. Its first `resume()` chooses what answers: this needs the request's body, if bodies are
/// compared. Until then, the calls of its user are kept.
final class CassetteTask: TransportTask {
    private struct State {
        /// The task that answers.
        var base: (any TransportTask)?
        /// Whether the task was resumed, or cancelled before.
        var hasBegun = false
        var calls: EarlyCalls
        var body: CassetteBodyReader?
    }

    let id: TransportTaskID
    private let request: TransportRequest
    private let cassette: Cassette
    private let delegate: Protected<(any TransportDelegate)?>
    private let state: Protected<State>

    init(_ id: TransportTaskID, _ request: TransportRequest, _ cassette: Cassette, _ delegate: any TransportDelegate) {
        (self.id, self.request, self.cassette) = (id, request, cassette)
        self.delegate = Protected(delegate)
        let calls = EarlyCalls(isSuspended: false, isCancelled: false, allowed: request.initialAllowance)
        state = Protected(State(calls: calls))
    }

    func resume() {
        let (isFirst, base) = state.withLock { state in
            defer { state.hasBegun = true }
            state.calls.isSuspended = false
            return (!state.hasBegun, state.base)
        }
        guard isFirst else { return base?.resume() ?? () }
        begin()
    }

    func suspend() {
        state.withLock { state in
            state.calls.isSuspended = true
            return state.base
        }?.suspend()
    }

    func cancel() {
        let (isUnbegun, base, body) = state.withLock { state in
            defer { (state.hasBegun, state.calls.isCancelled) = (true, true) }
            return (!state.hasBegun, state.base, state.body.take())
        }
        body?.cancel()
        if body != nil { cassette.setReading(false, self) }
        if isUnbegun || body != nil {
            end(.cancelled, isResumed: !isUnbegun)
        } else {
            base?.cancel()
        }
    }

    func allow(upTo position: UInt64) {
        state.withLock { state in
            state.calls.allowed = max(state.calls.allowed, position)
            return state.base
        }?.allow(upTo: position)
    }

    private func begin() {
        let wanted = CassetteRequest(request)
        let choice = cassette.choose(wanted)
        // Without a reader of the body, its writer would never end.
        let isStream = if case .stream = request.body { true } else { false }
        let isPassedOn = if case .unknown = choice { true } else { false }
        let mustRead: Bool = if case .readBody = choice { true } else { isStream && !isPassedOn }
        guard mustRead, !request.upgrades else { return answer(choice, nil) }
        let reader = CassetteBodyReader(request.body) { [self] result in
            state.withLock { $0.body = nil }
            cassette.setReading(false, self)
            switch result {
            case .failure(let error): end(error, isResumed: true)
            case .success(let body):
                var wanted = wanted
                wanted.body = body
                if case .readBody = choice { answer(cassette.choose(wanted), body) } else { answer(choice, body) }
            }
        }
        let isCancelled = state.withLock { state in
            if !state.calls.isCancelled { state.body = reader }
            return state.calls.isCancelled
        }
        if isCancelled {
            reader.cancel()
            return end(.cancelled, isResumed: true)
        }
        if cassette.setReading(true, self) { reader.begin() } else { invalidate() }
    }

    /// Ends the reading of the body, because the cassette was invalidated.
    func invalidate() {
        state.withLock { $0.body.take() }?.cancel()
        end(TransportError(.invalidated), isResumed: true)
    }

    /// Lets the chosen task answer, and repeats the calls that came before.
    ///
    /// - Parameter body: The request's body, if it was read.
    private func answer(_ choice: CassetteDeck.Choice, _ body: Data?) {
        if state.withLock({ $0.calls.isCancelled }) { return end(.cancelled, isResumed: true) }
        guard let delegate = delegate.withLock({ $0.take() }) else { return }
        var request = request
        if let body { request.body = choice.isPlayed || !request.body.isReplayable ? .data(body) : request.body }
        // The task is suspended after its start, and would deliver a whole body in between.
        if state.withLock({ $0.calls.isSuspended }) { request.initialAllowance = 0 }
        let base = cassette.task(for: choice, request, id: id, delegate: delegate)
        state.withLock { $0.base = base }
        base.start(granted: request.initialAllowance) { state.withLock { $0.calls } }
    }

    /// Ends the task without an answer, so that no entry counts as played.
    private func end(_ error: TransportError, isResumed: Bool) {
        guard let delegate = delegate.withLock({ $0.take() }) else { return }
        var request = request
        request.body = .none
        let base = cassette.stub.task(for: request, id: id, delegate: delegate) { _ in StubAnswer([.fail(error)]) }
        if isResumed { base.resume() } else { base.cancel() }
    }
}

/// Reads the body of a request completely, as the network would.
final class CassetteBodyReader: Sendable {
    private struct State {
        var content = Data()
        var isOver = false
    }

    /// Bodies beyond this size are not compared.
    private static let limit = 256 << 20

    private let stream: any TransportBodyStream
    private let queue = DispatchQueue(label: "Larkspur cassette")
    private let state = Protected(State())
    private let length: UInt64?
    private let complete: @Sendable (Result<Data, TransportError>) -> Void

    init(_ body: TransportBody, complete: @escaping @Sendable (Result<Data, TransportError>) -> Void) {
        (length, stream) = (body.length, body.open())
        self.complete = complete
    }

    func begin() {
        stream.begin { [weak self] in self?.read() }
        read()
    }

    func cancel() { queue.async { [self] in end(nil) } }

    private func read() { queue.async { [self] in readAvailable() } }

    private func readAvailable() {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
        defer { buffer.deallocate() }
        while !state.withLock({ $0.isOver }) {
            let left = length.map { $0 - UInt64(state.withLock { $0.content.count }) } ?? .max
            guard left > 0 else { return end(.success(state.withLock { $0.content })) }
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(clamping: left)))
            switch stream.read(into: part) {
            case .pending: return
            case .end:
                let content = state.withLock { $0.content }
                let isShort = length.map { UInt64(content.count) < $0 } ?? false
                return end(isShort ? .failure(.bodyFailed("the body ended early")) : .success(content))
            case .failed(let error): return end(.failure(.bodyFailed("the body cannot be read", error)))
            case .bytes(let count):
                guard (1...part.count).contains(count) else {
                    return end(.failure(.bodyFailed("the body's stream returned \(count) bytes")))
                }
                let size = state.withLock { state in
                    state.content += part.prefix(count)
                    return state.content.count
                }
                if size > Self.limit {
                    let text = "the body is too large to be compared with a recording"
                    return end(.failure(TransportError(.bodyFailed, text)))
                }
            }
        }
    }

    private func end(_ result: Result<Data, TransportError>?) {
        let isFirst = state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver
        }
        guard isFirst else { return }
        stream.end()
        if let result { complete(result) }
    }
}
