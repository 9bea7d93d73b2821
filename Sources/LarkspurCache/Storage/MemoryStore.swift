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
        /// The slots of the responses of a place, at most `Selection.maximumCount`. They differ in their selections.
        var index: [CachePlace: [Int]] = [:]
        /// The partitions of a URL that are not empty.
        var partitions: [String: Set<String>] = [:]
        /// The ends of the list from the most recently used entry to the least recently used one.
        var newest = -1
        var oldest = -1
        var bytes: UInt64 = 0
        /// The bytes of responses that are being received.
        var reserved: UInt64 = 0
        var removals = RemovalLog()
        var evicted = 0
        var lastID: UInt64 = 0
        var lastUse: UInt64 = 0
    }

    fileprivate struct Slot {
        var entry: Entry?
        var newer = -1
        var older = -1
        /// The number of the last use.
        var use: UInt64 = 0
    }

    fileprivate struct Entry {
        let place: CachePlace
        let response: StoredResponse
        let cost: UInt64
        /// The hash of the selection.
        let hash: Int
        /// A number that grows with each entry.
        var id: UInt64 = 0

        init(_ head: StoredHead, _ body: MemoryBody) {
            place = head.place
            response = StoredResponse(head: head, body: body)
            cost = MemoryStore.cost(head, body.count)
            hash = head.selection.hashValue
        }

        var body: MemoryBody? { response.body as? MemoryBody }
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
        _ key: CacheKey, for fields: [HTTPHeader], _ done: @escaping @Sendable (StoredResponse?) -> Void
    ) {
        done(
            box.withLock { state in
                guard let slot = state.slot(for: key, fields) else { return nil }
                state.touch(slot)
                return state.slots[slot].entry?.response
            })
    }

    package func begin(_ head: StoredHead, length: UInt64?) -> (any CacheWriter)? {
        // A server may declare any length, and any number of names.
        guard length ?? 0 <= maximumEntrySize, head.selection.isStorable else { return nil }
        let cost = Self.cost(head, length ?? 0)
        guard cost <= maximumEntrySize, reserve(cost) else { return nil }
        return MemoryWriter(head, reserved: cost, mark: box.withLock { $0.removals.last }, store: self)
    }

    package func update(_ stored: StoredResponse, to head: StoredHead) {
        guard let body = stored.body as? MemoryBody else { return }
        let entry = Entry(head, body)
        _ = box.withLock { state -> [StoredResponse?] in
            guard let slot = state.slot(of: stored) else { return [] }
            let old = state.remove(slot)
            return head.selection.isStorable ? [old] + state.insert(entry, limit: limit) : [old]
        }
    }

    package func remove(_ stored: StoredResponse) {
        _ = box.withLock { state in state.slot(of: stored).map { state.remove($0) } }
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
            (state.reserved, state.evicted, state.removals) = (old.reserved, old.evicted, old.removals)
            (state.lastID, state.lastUse) = (old.lastID, old.lastUse)
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

    func reserve(_ count: UInt64) -> Bool {
        box.withLock { state in
            guard state.reserved + count <= limit else { return false }
            state.reserved += count
            return true
        }
    }

    func release(_ count: UInt64) { box.withLock { $0.reserved -= count } }

    func accepts(_ size: UInt64) -> Bool { size <= maximumEntrySize }

    /// Adds an entry, unless a response of its URL was removed since the mark was made. An entry that is too large with
    /// its head only removes those that it supersedes.
    func insert(_ head: StoredHead, _ body: MemoryBody, since mark: UInt64) {
        let entry = Entry(head, body)
        _ = box.withLock { state -> [StoredResponse?] in
            guard state.removals.isCurrent(head.url, since: mark) else { return [] }
            return entry.cost <= maximumEntrySize
                ? state.insert(entry, limit: limit) : state.removeSuperseded(by: entry)
        }
    }
}

extension MemoryStore.State {
    /// Returns the slots of a URL in all partitions.
    func slots(of url: String) -> [Int] {
        ([""] + (partitions[url] ?? [])).flatMap { index[CachePlace(url: url, partition: $0)] ?? [] }
    }

    /// Returns the slot of a response; nil if it was replaced or removed.
    func slot(of stored: StoredResponse) -> Int? {
        guard let body = stored.body as? MemoryBody else { return nil }
        return index[stored.head.place]?.first { slots[$0].entry?.body === body }
    }

    /// Returns the newest entry that the request selects.
    func slot(for key: CacheKey, _ fields: [HTTPHeader]) -> Int? {
        guard let found = index[key.place] else { return nil }
        if found.count == 1 {
            return slots[found[0]].entry?.response.head.isSelected(by: fields) == true ? found[0] : nil
        }
        // The request's values are read and hashed once for each list of names.
        var asked: [(selection: Selection, hash: Int)] = []
        var best: (slot: Int, id: UInt64)?
        for slot in found {
            guard let entry = slots[slot].entry, entry.id > best?.id ?? 0 else { continue }
            let head = entry.response.head
            if asked.last?.selection.names != head.selection.names {
                if let known = asked.firstIndex(where: { $0.selection.names == head.selection.names }) {
                    asked.append(asked.remove(at: known))
                } else {
                    let selection = Selection(names: head.selection.names, in: fields)
                    asked.append((selection, selection.hashValue))
                }
            }
            guard let last = asked.last, last.hash == entry.hash, head.isSelected(by: last.selection, of: fields)
            else { continue }
            best = (slot, entry.id)
        }
        return best?.slot
    }

    /// Removes the entries that the same requests select. Returns their responses, to be released after unlocking.
    mutating func removeSuperseded(by entry: MemoryStore.Entry) -> [StoredResponse?] {
        let same = index[entry.place]?.filter { slot in
            guard let old = slots[slot].entry, old.hash == entry.hash else { return false }
            return old.response.head.selection == entry.response.head.selection
        }
        return (same ?? []).map { remove($0) }
    }

    /// Adds an entry in place of those that the same requests select. Returns the responses that were removed, also to
    /// keep the limits, to be released after unlocking.
    mutating func insert(_ entry: MemoryStore.Entry, limit: UInt64) -> [StoredResponse?] {
        var removed = removeSuperseded(by: entry)
        let variants = index[entry.place] ?? []
        if variants.count >= Selection.maximumCount, let slot = variants.min(by: { slots[$0].use < slots[$1].use }) {
            removed.append(remove(slot))
            evicted += 1
        }
        while bytes + entry.cost > limit, oldest >= 0 {
            removed.append(remove(oldest))
            evicted += 1
        }
        lastID += 1
        let slot = free.popLast() ?? slots.count
        if slot == slots.count { slots.append(MemoryStore.Slot()) }
        slots[slot].entry = entry
        slots[slot].entry?.id = lastID
        if index[entry.place]?.append(slot) == nil {
            index[entry.place] = [slot]
            if !entry.place.partition.isEmpty {
                partitions[entry.place.url, default: []].insert(entry.place.partition)
            }
        }
        bytes += entry.cost
        link(slot)
        return removed
    }

    @discardableResult
    mutating func remove(_ slot: Int) -> StoredResponse? {
        guard let entry = slots[slot].entry.take() else { return nil }
        let place = entry.place
        index[place]?.removeAll { $0 == slot }
        if index[place]?.isEmpty == true {
            index[place] = nil
            if !place.partition.isEmpty, partitions[place.url]?.remove(place.partition) != nil,
                partitions[place.url]?.isEmpty == true
            {
                partitions[place.url] = nil
            }
        }
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
        lastUse += 1
        (slots[slot].newer, slots[slot].older, slots[slot].use) = (-1, newest, lastUse)
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
