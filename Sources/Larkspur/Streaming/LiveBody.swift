/// A response's body, chunk by chunk, as it comes: as fast as it is read, and no faster.
///
/// Middleware changes one by wrapping it, and it still flows:
///
///     if case .live(let body) = response.body { response.body = .live(LiveBody(body.map(decrypt))) }
///
/// One that comes from the network can be iterated once, and until the exchange is over. Too late or once more, it throws.
public struct LiveBody: AsyncSequence, Sendable {
    private let open: @Sendable () -> Iterator

    /// A body of anything that gives bytes asynchronously; each iteration begins one of its own.
    public init<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks) where Chunks.Element == Data {
        open = {
            var iterator = chunks.makeAsyncIterator()
            return Iterator { try await iterator.next() }
        }
    }

    /// The body of a hop under way.
    init(_ body: HopBody) {
        let isTaken = Protected(false)
        open = {
            guard isTaken.withLock({ $0.raise() }) else {
                return Iterator { throw RequestError(.receivingFailed, "a live body can be iterated only once") }
            }
            let iterator = body.makeAsyncIterator()
            return Iterator { try await iterator.next() }
        }
    }

    public func makeAsyncIterator() -> Iterator { open() }

    /// Reads the body's pieces, for one reader.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let pull: @concurrent () async throws -> Data?

        @concurrent public func next() async throws -> Data? { try await pull() }
    }
}
