extension TransportBody {
    /// Returns the body with fields that follow it (trailers), such as a checksum.
    ///
    ///     let upload = await session.upload(.sequence { lines() }.trailers { ["Content-Digest": sum()] }, to: url)
    ///
    /// The closure is called each time the body has been sent to its end, so a retry calls it again. If it throws, the
    /// request fails with `.bodyFailed`. The request also fails if a field may not follow a body: fields that frame,
    /// route, authenticate or encode the message have to come before it.
    ///
    /// If the body already has trailers, they are sent first.
    ///
    /// The body is sent in chunks, over HTTP/1.1 only. Over a transport that cannot send trailers, such as
    /// `URLSessionTransport`, the request fails with `.transportUnavailable`.
    ///
    /// - Parameters:
    ///   - names: The names of the fields, which the request announces in its `Trailer` field. Without names, the
    ///     request has no such field.
    ///   - make: Returns the fields. It runs in a task of its own.
    public func trailers(
        _ names: String..., make: @escaping @Sendable () async throws -> HTTPHeaders
    ) -> TransportBody {
        followed(by: names, make)
    }

    package func followed(
        by names: [String], _ make: @escaping @Sendable () async throws -> HTTPHeaders
    ) -> TransportBody {
        .stream(
            TransportBodySource(length: nil, isReplayable: isReplayable, trailerNames: trailerNames(and: names)) {
                TrailingBodyStream(open(), make)
            })
    }

    /// Returns the names of the fields that follow this body, and the further ones.
    func trailerNames(and others: [String]) -> [String] {
        var names = trailerNames ?? []
        for other in others where !names.contains(where: { $0.lowercased() == other.lowercased() }) {
            names.append(other)
        }
        return names
    }

    /// A body that cannot be sent.
    static func failing(_ problem: String) -> TransportBody {
        .pumped(nil, isReplayable: true) { _ in throw BodyProblem(problem) }
    }
}

/// A stream that calls a closure for the trailers at the end of another stream.
private final class TrailingBodyStream: TransportBodyStream {
    typealias Make = @Sendable () async throws -> HTTPHeaders

    private enum Stage {
        case body
        /// The closure runs in this task; nil until the task is stored.
        case making(Task<Void, Never>?)
        case made(Result<[HTTPHeader], TransportError>)
        case ended
    }

    private struct State {
        var stage = Stage.body
        var wake: (@Sendable () -> Void)?
    }

    private let base: any TransportBodyStream
    private let make: Make
    private let box = Protected(State())

    init(_ base: any TransportBodyStream, _ make: @escaping Make) { (self.base, self.make) = (base, make) }

    var trailers: [HTTPHeader] {
        let own = box.withLock { state -> [HTTPHeader]? in
            if case .made(.success(let fields)) = state.stage { fields } else { nil }
        }
        return own.map { base.trailers + $0 } ?? []
    }

    func begin(wake: @escaping @Sendable () -> Void) {
        box.withLock { $0.wake = wake }
        base.begin(wake: wake)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead {
        switch box.withLock({ $0.stage }) {
        case .body:
            let read = base.read(into: buffer)
            guard case .end = read else { return read }
            start()
            return .pending
        case .making: return .pending
        case .made(.success), .ended: return .end
        case .made(.failure(let error)): return .failed(error)
        }
    }

    func end() {
        let (stage, wake) = box.withLock { state in
            defer { (state.stage, state.wake) = (.ended, nil) }
            return (state.stage, state.wake)
        }
        withExtendedLifetime(wake) {}
        base.end()
        // `cancel()` runs the closure's cancellation handlers, and the transport's thread must not run user code (rule
        // R2 in Concurrency.md).
        if case .making(let task?) = stage { Task { task.cancel() } }
    }

    private func start() {
        box.withLock { $0.stage = .making(nil) }
        // An unstructured task, because the transport's thread must neither wait nor run user code. It ends with the
        // closure.
        let task = Task { finish(await result()) }
        box.withLock { if case .making = $0.stage { $0.stage = .making(task) } }
    }

    private func result() async -> Result<[HTTPHeader], TransportError> {
        do {
            let fields = Array(try await make())
            for field in fields {
                if let problem = TrailerRules.problem(with: field) { return .failure(.bodyFailed(problem)) }
            }
            return .success(fields)
        } catch {
            return .failure(.bodyFailed("the trailers' closure failed: \(error)", error))
        }
    }

    private func finish(_ result: Result<[HTTPHeader], TransportError>) {
        let wake = box.withLock { state -> (@Sendable () -> Void)? in
            guard case .making = state.stage else { return nil }
            state.stage = .made(result)
            return state.wake
        }
        wake?()
    }
}
