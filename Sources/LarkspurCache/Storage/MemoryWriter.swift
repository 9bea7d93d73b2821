/// A body in memory.
final class MemoryBody: StoredBody {
    let data: Data

    init(_ data: Data) { self.data = data }

    var count: UInt64 { UInt64(data.count) }

    var whole: Data? { data.count <= StoredResponse.buffer ? data : nil }

    func read(at position: UInt64, _ done: @escaping @Sendable (Result<Data, TransportError>) -> Void) {
        if position == 0, let whole { return done(.success(whole)) }
        let start = data.startIndex + Int(position)
        done(.success(data.subdata(in: start..<min(start + StoredResponse.buffer, data.endIndex))))
    }
}

/// A response that is being collected in memory.
final class MemoryWriter: CacheWriter {
    private struct Chunk {
        let start: Int
        let bytes: Data
    }

    private struct State {
        var chunks: [Chunk] = []
        var size = 0
        var reserved: UInt64
        var isOpen = true
        /// The body after the commit, for readers that have not read everything yet.
        var committed: MemoryBody?

        /// Returns the bytes from the position to the end of their chunk; nil if they are not there.
        func bytes(at position: Int) -> Data? {
            // The last chunk that starts at the position or before it
            var (low, high) = (0, chunks.count)
            while low < high {
                let middle = (low + high) / 2
                if chunks[middle].start <= position { low = middle + 1 } else { high = middle }
            }
            guard low > 0, position < size else { return nil }
            let chunk = chunks[low - 1]
            return position == chunk.start ? chunk.bytes : chunk.bytes.dropFirst(position - chunk.start)
        }
    }

    private let head: StoredHead
    private let mark: UInt64
    private let store: MemoryStore
    private let box: Protected<State>

    init(_ head: StoredHead, reserved: UInt64, mark: UInt64, store: MemoryStore) {
        (self.head, self.mark, self.store) = (head, mark, store)
        box = Protected(State(reserved: reserved))
    }

    func append(_ bytes: Data) {
        guard !bytes.isEmpty else { return }
        let missing = box.withLock { state -> UInt64? in
            guard state.isOpen else { return nil }
            state.chunks.append(Chunk(start: state.size, bytes: bytes))
            state.size += bytes.count
            let needed = UInt64(state.size)
            return needed > state.reserved ? needed - state.reserved : 0
        }
        guard let missing, missing > 0 else { return }
        guard store.accepts(UInt64(box.withLock { $0.size })), store.reserve(missing) else { return drop() }
        box.withLock { $0.reserved += missing }
    }

    func read(at position: UInt64, _ done: @escaping @Sendable (Result<Data, TransportError>) -> Void) {
        let (bytes, body) = box.withLock { ($0.bytes(at: Int(position)), $0.committed) }
        if let body { return body.read(at: position, done) }
        done(bytes.map(Result.success) ?? .failure(TransportError(.other, "the response was too large to be stored")))
    }

    var isOpen: Bool { box.withLock { $0.isOpen } }

    func commit(head: StoredHead?, body: Data?) {
        guard let chunks = close(keepingChunks: true) else { return }
        let received = MemoryBody(Self.joined(chunks))
        _ = box.withLock { state in
            (state.committed, state.chunks) = (received, [])
            return chunks
        }
        // A handler's body may be a part of a larger one, too.
        let replacement = body.map { MemoryBody(Self.joined([Chunk(start: 0, bytes: $0)])) }
        store.insert(head ?? self.head, replacement ?? received, since: mark)
    }

    /// Returns a copy of the bytes. The chunks may be parts of larger blocks of the transport, which the copy releases.
    private static func joined(_ chunks: [Chunk]) -> Data {
        var data = Data(capacity: chunks.reduce(0) { $0 + $1.bytes.count })
        for chunk in chunks { chunk.bytes.withUnsafeBytes { data.append($0.bindMemory(to: UInt8.self)) } }
        return data
    }

    func drop() { _ = close(keepingChunks: false) }

    /// Ends the collection. Returns the chunks; nil if it has ended before.
    private func close(keepingChunks: Bool) -> [Chunk]? {
        let (chunks, reserved) = box.withLock { state -> ([Chunk]?, UInt64) in
            guard state.isOpen else { return (nil, 0) }
            defer {
                (state.isOpen, state.reserved) = (false, 0)
                if !keepingChunks { state.chunks = [] }
            }
            return (state.chunks, state.reserved)
        }
        if reserved > 0 { store.release(reserved) }
        return chunks
    }

    deinit { drop() }
}
