/// A growing queue of bytes: frames are written at its end, and a transport reads from its start. It gives its memory
/// back when it is empty.
package struct ByteQueue: ~Copyable {
    /// The size of the memory that an empty queue keeps.
    private static let keptCapacity = 2_048
    /// A queue moves to larger memory until it is a large block. Then it gets further blocks.
    private static let smallestBlock = 512
    private static let smallLimit = 128 * 1_024
    private static let largeBlock = 256 * 1_024
    private static let pool = BlockPool(size: largeBlock, limit: 16)

    /// Memory whose bytes from `start` to `end` belong to the queue.
    private struct Block {
        let memory: UnsafeMutableRawPointer
        let capacity: Int
        var start = 0
        var end = 0

        init(_ capacity: Int) {
            self.capacity = capacity
            memory = capacity == pool.size ? pool.take() : .allocate(byteCount: capacity, alignment: 16)
        }

        var count: Int { end - start }
        var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory + start, count: count) }

        func release() {
            if capacity == pool.size { pool.put(memory) } else { memory.deallocate() }
        }
    }

    /// The blocks in order; bytes are added to the last one.
    private var blocks: [Block] = []
    package private(set) var count = 0

    package init() {}

    deinit { for block in blocks { block.release() } }

    /// Returns memory for this number of bytes at the end of the queue, to be written before ``commit(_:)``.
    mutating func reserve(_ size: Int) -> UnsafeMutableRawPointer {
        if let last = blocks.last {
            if last.end + size <= last.capacity { return last.memory + last.end }
            // A small block, or one without bytes, is replaced by a larger one.
            if last.capacity < Self.largeBlock || last.count == 0 {
                var larger = Block(Self.capacity(for: last.count + size))
                larger.memory.copyMemory(from: last.memory + last.start, byteCount: last.count)
                larger.end = last.count
                last.release()
                blocks[blocks.count - 1] = larger
                return larger.memory + larger.end
            }
        }
        let block = Block(blocks.isEmpty ? Self.capacity(for: size) : max(Self.largeBlock, size))
        blocks.append(block)
        return block.memory
    }

    private static func capacity(for size: Int) -> Int {
        size * 2 <= smallLimit ? max(smallestBlock, size * 2) : max(largeBlock, size)
    }

    /// Adds the bytes that were written to the reserved memory.
    mutating func commit(_ size: Int) {
        guard size > 0 else { return }
        blocks[blocks.count - 1].end += size
        count += size
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count).copyMemory(from: source, byteCount: bytes.count)
        commit(bytes.count)
    }

    /// Moves the oldest bytes to the buffer, and returns their number.
    package mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var (moved, empty) = (0, 0)
        while moved < buffer.count, empty < blocks.count {
            let size = min(buffer.count - moved, blocks[empty].count)
            UnsafeMutableRawBufferPointer(rebasing: buffer[moved...])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: blocks[empty].bytes.prefix(size)))
            blocks[empty].start += size
            moved += size
            if blocks[empty].count == 0 { empty += 1 }
        }
        count -= moved
        if count == 0 {
            release()
        } else if empty > 0 {
            for block in blocks.prefix(empty) { block.release() }
            blocks.removeFirst(empty)
        }
        return moved
    }

    /// Calls the closure with all bytes, which stay in the queue.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if blocks.count <= 1 { return body(blocks.first?.bytes ?? UnsafeRawBufferPointer(start: nil, count: 0)) }
        return joined().withUnsafeBytes(body)
    }

    private func joined() -> Data {
        var data = Data(capacity: count)
        for block in blocks { data.append(contentsOf: block.bytes) }
        return data
    }

    /// Removes and returns all bytes.
    package mutating func takeAll() -> Data {
        // Data of other memory would not begin at index zero if bytes had been read before.
        guard blocks.count == 1, blocks[0].start == 0, count > Self.keptCapacity else {
            defer { removeAll() }
            return joined()
        }
        let block = blocks[0]
        (blocks, count) = ([], 0)
        return Data(bytesNoCopy: block.memory, count: block.end, deallocator: .custom { _, _ in block.release() })
    }

    package mutating func removeAll() {
        count = 0
        release()
    }

    /// Removes bytes from the end, which were committed last.
    mutating func removeLast(_ size: Int) {
        count -= size
        var rest = size
        while rest > 0 {
            let part = min(rest, blocks[blocks.count - 1].count)
            blocks[blocks.count - 1].end -= part
            rest -= part
            if rest > 0 { blocks.removeLast().release() }
        }
    }

    /// Releases the memory of an empty queue, except for a small block.
    private mutating func release() {
        var kept: Block?
        for var block in blocks {
            guard kept == nil, block.capacity <= Self.keptCapacity else {
                block.release()
                continue
            }
            (block.start, block.end) = (0, 0)
            kept = block
        }
        blocks.removeAll(keepingCapacity: true)
        if let kept { blocks.append(kept) }
    }
}

/// Memory of one size that queues use again, because the system takes long to provide new memory.
private struct BlockPool: Sendable {
    let size: Int
    private let limit: Int
    /// The addresses of unused blocks.
    private let unused = Protected<[UInt]>([])

    init(size: Int, limit: Int) {
        self.size = size
        self.limit = limit
    }

    func take() -> UnsafeMutableRawPointer {
        unused.withLock { $0.popLast() }.flatMap { UnsafeMutableRawPointer(bitPattern: $0) }
            ?? .allocate(byteCount: size, alignment: 16)
    }

    func put(_ memory: UnsafeMutableRawPointer) {
        let address = UInt(bitPattern: memory)
        let isKept = unused.withLock { unused in
            guard unused.count < limit else { return false }
            unused.append(address)
            return true
        }
        if !isKept { memory.deallocate() }
    }
}
