/// A store in memory. If it is full, it removes the entries that were not used for the longest time.
package final class MemoryStore: CacheStore {
    /// The cost of an entry besides its texts and its body.
    private static let overhead: UInt64 = 512

    private let limit: UInt64
    private let maximumEntrySize: UInt64
    private let box = Protected(State())

    fileprivate struct State {
        var slots: [Slot] = []
        var free: [Int] = []
        /// The slots of a URL.
        var index: [String: [Int]] = [:]
        /// The ends of the list from the most recently used entry to the least recently used one.
        var newest = -1
        var oldest = -1
        var bytes: UInt64 = 0
        /// The bytes of responses that are being received.
        var reserved: UInt64 = 0
        var removals = RemovalLog()
        var evicted = 0
        var lastID: UInt64 = 0
    }

    fileprivate struct Slot {
        var entry: Entry?
        var newer = -1
        var older = -1
    }

    fileprivate struct Entry {
        let id: UInt64
        var response: StoredResponse
        let cost: UInt64
    }

    package init(limit: UInt64, maximumEntrySize: UInt64) {
        // Sums of sizes must not overflow.
        self.limit = min(limit, 1 << 60)
        self.maximumEntrySize = min(self.limit, maximumEntrySize)
    }

    private static func cost(_ head: StoredHead, _ length: UInt64) -> UInt64 {
        let selection = head.selection.values.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
        let texts = head.url.utf8.count + head.partition.utf8.count + head.head.rawFields.count + selection
        return overhead + UInt64(texts) + length
    }

    package func find(
        _ key: CacheKey, for fields: [HeaderField], _ done: @escaping @Sendable (StoredResponse?) -> Void
    ) {
        done(
            box.withLock { state in
                guard let slot = state.slot(for: key, fields) else { return nil }
                state.touch(slot)
                return state.slots[slot].entry?.response
            })
    }

    package func begin(_ head: StoredHead, length: UInt64?) -> (any CacheWriter)? {
        // A server may declare any length.
        guard length ?? 0 <= maximumEntrySize else { return nil }
        let cost = Self.cost(head, length ?? 0)
        guard cost <= maximumEntrySize, reserve(cost) else { return nil }
        return MemoryWriter(head, reserved: cost, mark: box.withLock { $0.removals.last }, store: self)
    }

    package func update(_ stored: StoredResponse, to head: StoredHead) {
        guard let body = stored.body as? MemoryBody else { return }
        _ = box.withLock { state -> [StoredResponse?] in
            guard let slot = state.slots(of: head.url).first(where: { state.body(in: $0) === body }) else { return [] }
            let old = state.remove(slot)
            return [old] + state.insert(head, body, cost: Self.cost(head, body.count), limit: limit)
        }
    }

    package func remove(_ stored: StoredResponse) {
        guard let body = stored.body as? MemoryBody else { return }
        _ = box.withLock { state in
            state.slots(of: stored.head.url).first { state.body(in: $0) === body }.map { state.remove($0) }
        }
    }

    package func remove(url: String) {
        _ = box.withLock { state in
            state.removals.add(url)
            return state.slots(of: url).map { state.remove($0) }
        }
    }

    package func removeAll() {
        _ = box.withLock { state in
            let old = state
            state = State()
            (state.reserved, state.evicted, state.lastID) = (old.reserved, old.evicted, old.lastID)
            state.removals = old.removals
            state.removals.addAll()
            return old.slots
        }
    }

    package func list() -> any CacheListing {
        // The heads are in memory anyway, and the bodies are not kept.
        MemoryListing(box.withLock { $0.slots.compactMap(\.entry).map { ($0.response.head, $0.response.body.count) } })
    }

    package func filter(_ isKept: @escaping @Sendable (StoredHead, UInt64) -> Bool) async throws {
        let all = box.withLock { state in state.slots.compactMap(\.entry) }
        for entry in all where !isKept(entry.response.head, entry.response.body.count) { remove(entry.response) }
    }

    package var usage: (entries: Int, bytes: UInt64, evicted: Int) {
        box.withLock { ($0.slots.count - $0.free.count, $0.bytes, $0.evicted) }
    }

    // MARK: Writing

    fileprivate func reserve(_ count: UInt64) -> Bool {
        box.withLock { state in
            guard state.reserved + count <= limit else { return false }
            state.reserved += count
            return true
        }
    }

    fileprivate func release(_ count: UInt64) { box.withLock { $0.reserved -= count } }

    fileprivate func accepts(_ size: UInt64) -> Bool { size <= maximumEntrySize }

    /// Adds an entry, unless a response of its URL was removed since the mark was made. An entry that is too large with
    /// its head only removes those that it supersedes.
    fileprivate func insert(_ head: StoredHead, _ body: MemoryBody, since mark: UInt64) {
        let cost = Self.cost(head, body.count)
        _ = box.withLock { state -> [StoredResponse?] in
            guard state.removals.isCurrent(head.url, since: mark) else { return [] }
            // The same request would select all of these. Only the newest one may remain.
            let same = state.slots(of: head.url).filter { slot in
                guard let old = state.slots[slot].entry?.response.head, old.partition == head.partition else {
                    return false
                }
                return old.selection == head.selection
            }
            let superseded = same.map { state.remove($0) }
            guard cost <= maximumEntrySize else { return superseded }
            return superseded + state.insert(head, body, cost: cost, limit: limit)
        }
    }
}

extension MemoryStore.State {
    func slots(of url: String) -> [Int] { index[url] ?? [] }

    func body(in slot: Int) -> MemoryBody? { slots[slot].entry?.response.body as? MemoryBody }

    /// Returns the newest entry that the request selects.
    func slot(for key: CacheKey, _ fields: [HeaderField]) -> Int? {
        var best: (slot: Int, id: UInt64)?
        for slot in slots(of: key.url) {
            guard let entry = slots[slot].entry, entry.response.head.partition == key.partition,
                entry.id > best?.id ?? 0, entry.response.head.isSelected(by: fields)
            else { continue }
            best = (slot, entry.id)
        }
        return best?.slot
    }

    /// Adds an entry. Returns the responses that were removed to keep the limit, to be released after unlocking.
    mutating func insert(_ head: StoredHead, _ body: MemoryBody, cost: UInt64, limit: UInt64) -> [StoredResponse?] {
        var removed: [StoredResponse?] = []
        while bytes + cost > limit, oldest >= 0 {
            removed.append(remove(oldest))
            evicted += 1
        }
        lastID += 1
        let slot = free.popLast() ?? slots.count
        if slot == slots.count { slots.append(MemoryStore.Slot()) }
        slots[slot].entry = MemoryStore.Entry(
            id: lastID, response: StoredResponse(head: head, body: body), cost: cost)
        index[head.url, default: []].append(slot)
        bytes += cost
        link(slot)
        return removed
    }

    @discardableResult
    mutating func remove(_ slot: Int) -> StoredResponse? {
        guard let entry = slots[slot].entry.take() else { return nil }
        let url = entry.response.head.url
        index[url]?.removeAll { $0 == slot }
        if index[url]?.isEmpty == true { index[url] = nil }
        bytes -= entry.cost
        unlink(slot)
        free.append(slot)
        return entry.response
    }

    mutating func touch(_ slot: Int) {
        guard newest != slot else { return }
        unlink(slot)
        link(slot)
    }

    private mutating func link(_ slot: Int) {
        (slots[slot].newer, slots[slot].older) = (-1, newest)
        if newest >= 0 { slots[newest].newer = slot } else { oldest = slot }
        newest = slot
    }

    private mutating func unlink(_ slot: Int) {
        let (newer, older) = (slots[slot].newer, slots[slot].older)
        if newer >= 0 { slots[newer].older = older } else { newest = older }
        if older >= 0 { slots[older].newer = newer } else { oldest = newer }
    }
}

/// The entries of a store in memory at one moment.
private final class MemoryListing: CacheListing {
    private let entries: Protected<[(head: StoredHead, size: UInt64)]?>

    init(_ entries: [(head: StoredHead, size: UInt64)]) { self.entries = Protected(entries) }

    func next() async -> [(head: StoredHead, size: UInt64)]? { entries.withLock { $0.take() } }
}

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
private final class MemoryWriter: CacheWriter {
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
