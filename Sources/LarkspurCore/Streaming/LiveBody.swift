/// A response's body in parts, as it is received. A slow reader slows the server down (back pressure).
///
/// Middleware changes the body by wrapping it. The wrapped body is still received in parts:
///
///     if case .live(let body) = response.body { response.body = .live(LiveBody(body.map(decrypt))) }
///
/// A body from the network can be iterated once, and only until the exchange ends. Otherwise iterating it throws.
public struct LiveBody: AsyncSequence, Sendable {
    private let open: @Sendable () -> Iterator

    /// Creates a body from an asynchronous sequence. Each iteration of the body makes another iterator of the sequence.
    public init<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks) where Chunks.Element == Data {
        open = {
            var iterator = chunks.makeAsyncIterator()
            return Iterator { try await iterator.next() }
        }
    }

    /// Creates the body of a hop in flight.
    init(_ body: HopBody) {
        let isTaken = Protected(false)
        open = {
            guard isTaken.withLock({ $0.setOnce() }) else {
                return Iterator { throw RequestError(.receivingFailed, "a live body can be iterated only once") }
            }
            let iterator = body.makeAsyncIterator()
            return Iterator { try await iterator.next() }
        }
    }

    public func makeAsyncIterator() -> Iterator { open() }

    /// The iterator of a live body, for one reader.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let pull: @concurrent () async throws -> Data?

        @concurrent public func next() async throws -> Data? { try await pull() }
    }
}
