/// A response that is being written to disk.
///
/// The transport's thread only copies bytes. Complete blocks are written by the file thread of the URL; a response that
/// is smaller than a block is written in one step, when it is complete.
final class DiskWriter: CacheWriter {
    fileprivate struct State {
        /// Whether more bytes are accepted.
        var isOpen = true
        var isDropped = false
        var isCommitted = false
        /// The number of bytes that were accepted.
        var size: UInt64 = 0
        /// The number of blocks that are in the file.
        var written: UInt64 = 0
        /// The complete blocks that are not in the file yet.
        var queue: [Data] = []
        /// The bytes after the last complete block.
        var tail = Data()
        var reserved: UInt64
        var file: DiskFile?
        var path = ""
    }

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
        guard !bytes.isEmpty, store.enqueue(bytes.count) else { return bytes.isEmpty ? () : drop() }
        let result = box.withLock { state -> (isAccepted: Bool, missing: UInt64, hasBlocks: Bool) in
            guard state.isOpen else { return (false, 0, false) }
            let before = state.queue.count
            state.add(bytes)
            let needed = state.size + overhead
            return (true, needed > state.reserved ? needed - state.reserved : 0, state.queue.count > before)
        }
        guard result.isAccepted else { return store.dequeue(bytes.count) }
        if result.missing > 0 {
            guard store.accepts(box.withLock { $0.size } + overhead), store.reserve(result.missing) else {
                return drop()
            }
            box.withLock { $0.reserved += result.missing }
        }
        if result.hasBlocks { store.perform(for: head.url) { [self] in writeQueue() } }
    }

    func commit(head: ResponseHead?, body: Data?) {
        let isOpen = box.withLock { state in
            defer { state.isOpen = false }
            return state.isOpen
        }
        guard isOpen else { return }
        let stored = head.map(self.head.with) ?? self.head
        if let body { return replace(stored, body) }
        store.perform(for: self.head.url) { [self] in
            guard writeQueue() else { return }
            finish(stored)
        }
    }

    /// Stores another body than the received one.
    private func replace(_ head: StoredHead, _ body: Data) {
        let space = UInt64(body.count) + overhead
        guard store.accepts(space), store.reserve(space) else { return }
        let writer = DiskWriter(head, overhead: overhead, reserved: space, mark: mark, store: store)
        writer.append(body)
        writer.commit(head: nil, body: nil)
    }

    func drop() {
        let isOpen = box.withLock { state in
            defer { state.isOpen = false }
            return state.isOpen
        }
        if isOpen { discard() }
    }

    /// Gives up the response, with its temporary file.
    private func discard() {
        let (file, path, reserved, queued, _) = box.withLock { $0.giveUp() }
        store.release(reserved)
        store.dequeue(queued)
        if let file { store.perform(for: head.url) { [store] in store.remove(temporary: path, file) } }
    }

    // MARK: Writing, on the file thread of the URL

    /// Writes the complete blocks that wait. Returns false if the response was given up.
    @discardableResult
    private func writeQueue() -> Bool {
        while true {
            let (isDropped, block, index) = box.withLock { ($0.isDropped, $0.queue.first, $0.written) }
            if isDropped { return false }
            guard let block else { return true }
            do throws(DiskFailure) {
                let file = try openFile()
                try file.write(block, index, id)
                let isDropped = box.withLock { state in
                    if !state.isDropped { (state.written, _) = (index + 1, state.queue.removeFirst()) }
                    return state.isDropped
                }
                // A response that was given up meanwhile has given back the space in the queue.
                if !isDropped { store.dequeue(block.count) }
            } catch {
                fail(error)
                return false
            }
        }
    }

    private func openFile() throws(DiskFailure) -> DiskFile {
        if let file = box.withLock({ $0.file }) { return file }
        let (file, path) = try store.folder.create(in: DiskName.prefix(ofURL: head.url).shard)
        // The lock tells other processes that the file is in use. The system releases it when the process ends.
        flock(file.descriptor, LOCK_EX | LOCK_NB)
        let isDropped = box.withLock { state in
            if !state.isDropped { (state.file, state.path) = (file, path) }
            return state.isDropped
        }
        if isDropped { store.remove(temporary: path, file) }
        try file.write(DiskFormat.preamble(id), at: 0)
        return file
    }

    /// Writes the last bytes and the record, and gives the file its name.
    private func finish(_ head: StoredHead) {
        let (tail, size, index, opened, opening) = box.withLock {
            ($0.tail, $0.size, $0.written, $0.file, $0.path)
        }
        guard store.isCurrent(head.url, since: mark) else { return discard() }
        let record = DiskRecord(head, partition: DiskName.partitionHash(head.partition), count: size)
        var bytes = opened == nil ? DiskFormat.preamble(id) : []
        let position = opened == nil ? 0 : DiskFormat.position(ofBlock: index)
        if !tail.isEmpty {
            bytes.append(contentsOf: tail)
            bytes.append(integer: tail.withUnsafeBytes { DiskFormat.checksum($0, index, id) })
        }
        bytes += DiskFormat.sealed(record.bytes, id)
        do throws(DiskFailure) {
            let (file, path): (DiskFile, String)
            if let opened {
                (file, path) = (opened, opening)
            } else {
                (file, path) = try store.folder.create(in: DiskName.prefix(ofURL: head.url).shard)
                box.withLock { ($0.file, $0.path) = (file, path) }
            }
            try file.write(bytes, at: position)
            try store.place(path, record, size: position + UInt64(bytes.count))
            let reserved = box.withLock { state in
                defer { (state.reserved, state.tail, state.isCommitted) = (0, Data(), true) }
                if !tail.isEmpty { state.written += 1 }
                return state.reserved
            }
            store.release(reserved)
            store.dequeue(tail.count)
            flock(file.descriptor, LOCK_UN)
        } catch {
            fail(error)
        }
    }

    private func fail(_ failure: DiskFailure) {
        box.withLock { $0.isOpen = false }
        discard()
        store.failed(failure)
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
                done(.success(offset == 0 ? block : block.subdata(from: offset)))
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

    mutating func add(_ bytes: Data) {
        size += UInt64(bytes.count)
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(DiskFormat.blockSize - tail.count)
            tail.append(piece)
            rest = rest.dropFirst(piece.count)
            guard tail.count == DiskFormat.blockSize else { return }
            queue.append(tail)
            tail = Data()
        }
    }

    /// Returns everything that was held. It is released after unlocking.
    mutating func giveUp() -> (DiskFile?, String, reserved: UInt64, queued: Int, [Data]) {
        let queued = queue.reduce(tail.count) { $0 + $1.count }
        let held = (isDropped ? nil : file, path, reserved, queued, queue + [tail])
        (isDropped, isOpen, file, reserved, queue, tail) = (true, false, nil, 0, [], Data())
        return held
    }

    func place(of position: UInt64) -> Place {
        guard !isDropped, position < size else { return .nowhere }
        let index = position / UInt64(DiskFormat.blockSize)
        if index < written { return file.map { .file($0, block: index, of: size) } ?? .nowhere }
        let block = Int(index - written) < queue.count ? queue[Int(index - written)] : tail
        let offset = Int(position % UInt64(DiskFormat.blockSize))
        guard offset < block.count else { return .nowhere }
        return .memory(offset == 0 ? block : block.subdata(from: offset))
    }
}

extension DiskStore {
    func remove(temporary path: String, _ file: DiskFile) {
        guard let own = file.status, let status = folder.status(of: path), status.isSame(as: own) else { return }
        folder.remove(path)
    }
}
