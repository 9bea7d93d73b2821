/// A response that is being written to disk.
///
/// The transport's thread only collects the bytes. The file thread of the URL writes several blocks at once. A response
/// of fewer blocks is written in one step, when it is complete.
final class DiskWriter: CacheWriter {
    fileprivate struct State {
        /// Whether more bytes are accepted.
        var isOpen = true
        var isDropped = false
        var isCommitted = false
        /// Whether the disk has failed, and the bytes are kept for readers.
        var isFailing = false
        /// The number of blocks after `written` that no reader needs any more. With one of them, the file is released.
        var released: UInt64 = 0
        /// The number of bytes that were accepted.
        var size: UInt64 = 0
        /// The number of blocks that are in the file.
        var written: UInt64 = 0
        /// The complete blocks that are not in the file yet.
        var queue: [Data] = []
        /// The bytes after the last complete block.
        var tail = Data()
        /// Whether `tail` shares its memory with bytes of the transport.
        var isTailShared = false
        /// Whether the file thread was asked to write complete blocks, and has not written all of them.
        var isWriting = false
        /// Called when the file thread has written the blocks, if the exchange waits for that.
        var caughtUp: (@Sendable () -> Void)?
        var reserved: UInt64
        var file: DiskFile?
        var path = ""
    }

    /// The number of complete blocks for which the file thread is asked to write.
    fileprivate static let batch = 4
    /// The maximum number of blocks that are written at once.
    fileprivate static let largestBatch = 16

    // Immutable
    private let head: StoredHead
    private let overhead: UInt64
    private let mark: UInt64
    private let store: DiskStore
    private let id = UInt64.random(in: .min ... .max)

    // Mutable state, guarded by the lock of `Protected`
    private let box: Protected<State>

    init(_ head: StoredHead, overhead: UInt64, reserved: UInt64, mark: UInt64, store: DiskStore) {
        (self.head, self.overhead, self.mark, self.store) = (head, overhead, mark, store)
        box = Protected(State(reserved: reserved))
    }

    /// Readers may have followed a response until here whose body was replaced.
    deinit { if !box.withLock({ $0.isCommitted }) { discard() } }

    // MARK: Receiving

    func append(_ bytes: Data) {
        if bytes.isEmpty { return }
        guard let isCrowded = store.enqueue(bytes.count) else { return close() }
        let result = box.withLock { state -> (missing: UInt64, isDue: Bool)? in
            guard state.isOpen || state.isFailing && !state.isDropped else { return nil }
            state.add(bytes)
            if state.isFailing { return (0, false) }
            let needed = state.size + overhead
            // A response that is received slowly must not hold much of a crowded queue.
            let isDue = state.queue.count >= (isCrowded ? 1 : Self.batch) && state.isWriting.setOnce()
            return (needed > state.reserved ? needed - state.reserved : 0, isDue)
        }
        guard let result else { return store.dequeue(bytes.count) }
        if result.missing > 0 {
            guard store.accepts(box.withLock { $0.size } + overhead), store.reserve(result.missing) else {
                return drop()
            }
            box.withLock { $0.reserved += result.missing }
        }
        if result.isDue { store.perform(for: head.url) { [self] in writeQueue() } }
    }

    func isBehind(_ caughtUp: @escaping @Sendable () -> Void) -> Bool {
        guard box.withLock({ $0.queue.count >= Self.batch }) else { return false }
        // Many responses at once must not fill the queue of the store.
        let limit = store.isQueueHalfFull ? Self.batch : Self.largestBatch
        return box.withLock { state in
            guard state.isWriting, !state.isDropped, state.queue.count >= limit, state.caughtUp == nil else {
                return false
            }
            state.caughtUp = caughtUp
            return true
        }
    }

    var isOpen: Bool { box.withLock { $0.isOpen } }

    func commit(head: StoredHead?, body: Data?) {
        let isOpen = box.withLock { state in
            defer { state.isOpen = false }
            return state.isOpen
        }
        guard isOpen else { return }
        let stored = head ?? self.head
        if let body { return replace(stored, body) }
        store.perform(for: self.head.url) { [self] in finish(stored) }
    }

    /// Stores another body than the received one.
    private func replace(_ head: StoredHead, _ body: Data) {
        let space = UInt64(body.count) + overhead
        if store.accepts(space), store.reserve(space) {
            let writer = DiskWriter(head, overhead: overhead, reserved: space, mark: mark, store: store)
            writer.append(body)
            if writer.isOpen { return writer.commit(head: nil, body: nil) }
        }
        // The entry that this response would have replaced is older than the response.
        store.perform(for: head.url) { [store, mark] in
            if store.isCurrent(head.url, since: mark) { store.remove(replacedBy: head) }
        }
    }

    func drop() {
        let isOpen = box.withLock { state in
            defer { state.isOpen = false }
            return state.isOpen
        }
        if isOpen { discard() }
    }

    /// Gives up the response if it is not committed, also if readers need its bytes.
    private func close() {
        let isCommitted = box.withLock { !$0.isOpen && !$0.isFailing }
        if !isCommitted { discard() }
    }

    /// Gives up the response, with its temporary file.
    private func discard() {
        let (file, path, reserved, queued, _) = box.withLock { $0.giveUp() }
        store.release(reserved)
        store.dequeue(queued)
        if let file { store.perform(for: head.url) { [store] in store.remove(temporary: path, file) } }
    }

    // MARK: Writing, on the file thread of the URL

    /// Writes the complete blocks that wait.
    private func writeQueue() {
        defer { box.withLock { $0.caughtUp.take() }?() }
        while case let isCrowded = store.isQueueHalfFull,
            let (blocks, index) = box.withLock({ $0.nextBatch(of: isCrowded ? 1 : Self.batch) })
        {
            do throws(DiskFailure) {
                let file = try openFile()
                try write(blocks, index, to: file)
                let isDropped = box.withLock { state in
                    if !state.isDropped {
                        state.written += UInt64(blocks.count)
                        state.queue.removeFirst(blocks.count)
                    }
                    return state.isDropped
                }
                // A response that was given up meanwhile has given back the space in the queue.
                if !isDropped { store.dequeue(blocks.reduce(0) { $0 + $1.count }) }
            } catch {
                return fail(error)
            }
        }
    }

    /// Writes blocks with their checksums, and the bytes before the first block and after the last one. Returns the
    /// position at which they end.
    @discardableResult
    private func write(
        _ blocks: [Data], _ index: UInt64, _ record: [UInt8] = [], to file: DiskFile
    ) throws(DiskFailure) -> UInt64 {
        var parts: [Data] = []
        parts.reserveCapacity(2 * blocks.count + 2)
        var position: UInt64 = 0
        if index == 0 {
            parts.append(Data(DiskFormat.preamble(id)))
        } else {
            position = DiskFormat.position(ofBlock: index)
        }
        for (offset, block) in blocks.enumerated() {
            parts.append(block)
            parts.append(DiskFormat.sum(of: block, index + UInt64(offset), id))
        }
        if !record.isEmpty { parts.append(Data(record)) }
        try file.write(parts, at: position)
        return position + parts.reduce(0) { $0 + UInt64($1.count) }
    }

    /// Returns the file of a response that is written in several steps.
    private func openFile() throws(DiskFailure) -> DiskFile {
        if let file = box.withLock({ $0.file }) { return file }
        let (file, path) = try create()
        // The lock tells other processes that the file is in use. The system releases it when the file is closed.
        flock(file.descriptor, LOCK_EX | LOCK_NB)
        let isDropped = box.withLock { state in
            if !state.isDropped { (state.file, state.path) = (file, path) }
            return state.isDropped
        }
        if isDropped { store.remove(temporary: path, file) }
        return file
    }

    private func create() throws(DiskFailure) -> (DiskFile, path: String) {
        let partition = DiskName.partitionHash(head.partition)
        return try store.folder.create(in: store.name(of: head.url, partition).shard, number: id)
    }

    /// Writes the last bytes and the record, and gives the file its name.
    private func finish(_ head: StoredHead) {
        guard let (blocks, index, size, opened) = box.withLock({ $0.rest() }) else {
            if box.withLock({ $0.isFailing }) { store.remove(replacedBy: head) }
            return
        }
        guard store.isCurrent(head.url, since: mark) else { return discard() }
        let record = DiskRecord(head, partition: DiskName.partitionHash(head.partition), count: size)
        do throws(DiskFailure) {
            let (file, path): (DiskFile, String)
            if let opened {
                (file, path) = opened
            } else {
                (file, path) = try create()
                box.withLock { ($0.file, $0.path) = (file, path) }
            }
            let end = try write(blocks, index, DiskFormat.sealed(record.bytes, id), to: file)
            try store.place(path, record, size: end, file, since: mark)
            let reserved = box.withLock { state in
                defer {
                    (state.reserved, state.queue, state.tail, state.isCommitted) = (0, [], Data(), true)
                    state.written = index + UInt64(blocks.count)
                }
                return state.reserved
            }
            store.release(reserved)
            store.dequeue(blocks.reduce(0) { $0 + $1.count })
        } catch {
            // The entry that this response would have replaced is older than the response.
            store.remove(replacedBy: head)
            fail(error)
        }
    }

    /// Notes that the response is not stored. Its bytes stay readable: those in the file, which loses its name, and
    /// those that were not written.
    private func fail(_ failure: DiskFailure) {
        let (file, path, reserved) = box.withLock { $0.fail() }
        store.release(reserved)
        if let file { store.remove(temporary: path, file) }
        store.failed(failure)
    }

    // MARK: Serving readers after a failure

    var servesReadersOnly: Bool { box.withLock { $0.isFailing && !$0.isDropped } }

    var firstKept: UInt64 { box.withLock { $0.firstKept } }

    func release(before position: UInt64, orBefore limit: UInt64) {
        let position = store.isQueueHalfFull ? max(position, limit) : position
        let (blocks, file) = box.withLock { $0.release(before: position) }
        store.dequeue(blocks.reduce(0) { $0 + $1.count })
        withExtendedLifetime(file) {}  // closed after unlocking
    }

    // MARK: Reading while it is written

    /// Reads bytes of the body that is being stored, from this position on: at least one, and at most one buffer. The
    /// position is below the number of appended bytes.
    func read(at position: UInt64, _ done: @escaping @Sendable (Result<Data, TransportError>) -> Void) {
        let place = box.withLock { $0.place(of: position) }
        switch place {
        case .nowhere: done(.failure(Self.lost))
        case .memory(let data): done(.success(data))
        case .file(let file, let index, let size):
            store.perform(for: head.url) { [id] in
                let offset = Int(position % UInt64(DiskFormat.blockSize))
                guard let block = file.block(index, of: size, id), block.count > offset else {
                    return done(.failure(Self.lost))
                }
                done(.success(block.rest(from: offset)))
            }
        }
    }

    private static let lost = TransportError(
        .truncated, "the response that another request receives is no longer stored; try again")
}

extension DiskWriter.State {
    enum Place {
        case nowhere
        case memory(Data)
        case file(DiskFile, block: UInt64, of: UInt64)
    }

    /// Adds bytes. Whole blocks, and the bytes of a response that comes in one piece, are not copied.
    mutating func add(_ bytes: Data) {
        size += UInt64(bytes.count)
        var rest = bytes
        while !rest.isEmpty {
            if tail.isEmpty, rest.count < DiskFormat.blockSize {
                (tail, isTailShared) = (rest, true)
                return
            }
            let piece = rest.prefix(DiskFormat.blockSize - tail.count)
            rest = rest.dropFirst(piece.count)
            if tail.isEmpty {
                queue.append(piece)
                continue
            }
            if isTailShared {
                var own = Data(capacity: DiskFormat.blockSize)
                own.append(tail)
                (tail, isTailShared) = (own, false)
            }
            tail.append(piece)
            guard tail.count == DiskFormat.blockSize else { return }
            queue.append(tail)
            tail = Data()
        }
    }

    /// Returns the next blocks to be written and the index of the first one; nil if too few wait for it.
    mutating func nextBatch(of count: Int) -> ([Data], UInt64)? {
        guard !isDropped, !isFailing, queue.count >= count else {
            isWriting = false
            return nil
        }
        return (Array(queue.prefix(DiskWriter.largestBatch)), written)
    }

    /// Returns the blocks that are not in the file, with the last one; nil if the response was given up.
    func rest() -> ([Data], index: UInt64, size: UInt64, (DiskFile, path: String)?)? {
        isDropped || isFailing ? nil : (tail.isEmpty ? queue : queue + [tail], written, size, file.map { ($0, path) })
    }

    /// Returns everything that was held. It is released after unlocking.
    mutating func giveUp() -> (DiskFile?, String, reserved: UInt64, queued: Int, [Data]) {
        let queued = queue.reduce(tail.count) { $0 + $1.count }
        let held = (isDropped ? nil : file, path, reserved, queued, queue + [tail])
        (isDropped, isOpen, file, reserved, queue, tail) = (true, false, nil, 0, [], Data())
        return held
    }

    /// Notes a failure. Returns the file, which has to lose its name, and the space that was reserved.
    mutating func fail() -> (DiskFile?, String, reserved: UInt64) {
        defer { (isOpen, isWriting, reserved, isFailing) = (false, false, 0, true) }
        return (isDropped ? nil : file, path, reserved)
    }

    var firstKept: UInt64 { released == 0 ? 0 : (written + released) * UInt64(DiskFormat.blockSize) }

    /// Releases the complete blocks before the position, and the file with the first of them.
    mutating func release(before position: UInt64) -> ([Data], DiskFile?) {
        let first = written + released
        let end = position / UInt64(DiskFormat.blockSize)
        guard isFailing, !isDropped, end > first else { return ([], nil) }
        let blocks = Array(queue.prefix(Int(end - first)))
        guard !blocks.isEmpty else { return ([], nil) }
        queue.removeFirst(blocks.count)
        released += UInt64(blocks.count)
        return (blocks, file.take())
    }

    func place(of position: UInt64) -> Place {
        guard !isDropped, position < size, position >= firstKept else { return .nowhere }
        let index = position / UInt64(DiskFormat.blockSize)
        if index < written { return file.map { .file($0, block: index, of: size) } ?? .nowhere }
        let first = written + released
        let block = Int(index - first) < queue.count ? queue[Int(index - first)] : tail
        let offset = Int(position % UInt64(DiskFormat.blockSize))
        guard offset < block.count else { return .nowhere }
        return .memory(block.rest(from: offset))
    }
}

extension DiskStore {
    /// Removes the entry whose place a response would have taken. On the file thread of the URL.
    func remove(replacedBy head: StoredHead) {
        let name = name(of: head.url, DiskName.partitionHash(head.partition))
        let path = name.entry(DiskSelection(head.selection))
        if let status = folder.status(of: path) { remove(path, ifSameAs: status) }
    }

    func remove(temporary path: String, _ file: DiskFile) {
        guard let own = file.status, let status = folder.status(of: path), status.isSame(as: own) else { return }
        folder.remove(path)
    }
}
