/// Pieces of a body, collected in one block of memory that becomes a `Data` without being copied.
///
/// libcurl gives 16 KiB at a time, however much there is. A shorter piece is the last one, as a rule, and gets a block of
/// its size; so does what is left of a body that is nearly over. Everything else comes in blocks of the pool.
struct CurlBuffer: ~Copyable {
    /// What a block holds at most.
    static let limit = 512 * 1_024
    private static let fullPiece = 16 * 1_024
    /// So few bytes `Data` keeps in itself.
    private static let limitInline = 14

    private let pool: CurlBlockPool
    private var block: UnsafeMutableRawPointer?
    private var capacity = 0
    private(set) var count = 0

    init(pool: CurlBlockPool) {
        self.pool = pool
    }

    deinit {
        if let block, capacity == Self.limit { pool.give(block) } else { free(block) }
    }

    var isEmpty: Bool { count == 0 }

    func hasRoom(for piece: UnsafeRawBufferPointer) -> Bool { count + piece.count <= Self.limit }

    /// False if there is no memory; the piece must fit within the limit.
    ///
    /// - Parameter rest: How much of the body is to come, this piece included, if that is known.
    mutating func append(_ piece: UnsafeRawBufferPointer, of rest: Int?) -> Bool {
        if count + piece.count > capacity {
            let isShort = isEmpty && piece.count < Self.fullPiece
            let wanted =
                isShort ? piece.count : max(count + piece.count, min(Self.limit, rest.map { count + $0 } ?? .max))
            guard grow(to: wanted) else { return false }
        }
        guard let block, let bytes = piece.baseAddress else { return piece.isEmpty }
        memcpy(block + count, bytes, piece.count)
        count += piece.count
        return true
    }

    private mutating func grow(to wanted: Int) -> Bool {
        // What is longer than half a block is not given to the system's allocator, which would keep the memory.
        guard wanted >= Self.limit / 2 else {
            guard let larger = realloc(block, wanted) else { return false }
            (block, capacity) = (larger, wanted)
            return true
        }
        guard let pooled = pool.take() else { return false }
        if let block {
            memcpy(pooled, block, count)
            free(block)
        }
        (block, capacity) = (pooled, Self.limit)
        return true
    }

    /// Everything, and nothing is left.
    mutating func take() -> Data {
        guard var full = block else { return Data() }
        defer { (block, capacity, count) = (nil, 0, 0) }
        guard capacity == Self.limit else {
            if count <= Self.limitInline {
                defer { free(full) }
                return Data(bytes: full, count: count)
            }
            // What is not needed goes back, unless it is little.
            if count < capacity / 2, let smaller = realloc(full, count) { full = smaller }
            return Data(bytesNoCopy: full, count: count, deallocator: .free)
        }
        guard count < capacity / 2 else {
            return Data(bytesNoCopy: full, count: count, deallocator: .custom { [pool] block, _ in pool.give(block) })
        }
        defer { pool.give(full) }
        return Data(bytes: full, count: count)
    }
}

/// Blocks of memory for long bodies, which come back when their bytes were read.
///
/// One after the other they come from the transport's thread and go elsewhere. The system's allocator would keep what is freed
/// after a burst, gigabytes of it, or map each block and unmap it again. The pool maps blocks itself, keeps a few, and returns
/// the others to the system. The last one that has come back is the next one that goes out: the processor still has it at hand.
final class CurlBlockPool: Sendable {
    /// The maximum number of unused blocks: a stream has hardly more under way.
    private static let kept = 8

    /// Addresses, because pointers are for one thread.
    private let blocks = Protected<[UInt]>([])

    deinit {
        for block in blocks.withLock({ $0 }) { Self.unmap(UnsafeMutableRawPointer(bitPattern: block)) }
    }

    /// Nil if there is no memory.
    func take() -> UnsafeMutableRawPointer? {
        let block = blocks.withLock { $0.popLast() }
        return block.flatMap { UnsafeMutableRawPointer(bitPattern: $0) } ?? Self.map()
    }

    func give(_ block: UnsafeMutableRawPointer) {
        let address = UInt(bitPattern: block)
        let isKept = blocks.withLock { blocks in
            guard blocks.count < Self.kept else { return false }
            blocks.append(address)
            return true
        }
        if !isKept { Self.unmap(block) }
    }

    private static func map() -> UnsafeMutableRawPointer? {
        let block = mmap(nil, CurlBuffer.limit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        return block == MAP_FAILED ? nil : block
    }

    private static func unmap(_ block: UnsafeMutableRawPointer?) { munmap(block, CurlBuffer.limit) }
}
