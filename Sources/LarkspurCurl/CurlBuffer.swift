/// The pieces of a body, collected in one block of memory that becomes a `Data` without being copied.
///
/// libcurl passes on at most 16 KiB at a time. A first piece that is shorter is usually the whole rest of the body, and
/// its block is as large as the piece. If the length of the rest is known and small, the block is as large as the rest.
/// All other pieces are collected in blocks of the pool.
struct CurlBuffer: ~Copyable {
    /// The maximum number of bytes in a block.
    static let limit = 512 * 1_024
    private static let fullPiece = 16 * 1_024
    /// The maximum number of bytes that `Data` stores inline.
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

    /// Appends a piece. The caller has checked `hasRoom(for:)`. Returns false if there is no memory.
    ///
    /// - Parameter rest: The number of body bytes still to come, including this piece; nil if it is not known.
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
        // Blocks longer than half of the limit come from the pool. The system's allocator would not return their memory
        // to the system.
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

    /// Returns all bytes and leaves the buffer empty.
    mutating func take() -> Data {
        guard var full = block else { return Data() }
        defer { (block, capacity, count) = (nil, 0, 0) }
        guard capacity == Self.limit else {
            if count <= Self.limitInline {
                defer { free(full) }
                return Data(bytes: full, count: count)
            }
            // If more than half of the block is unused, the unused part is released.
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

/// A pool of memory blocks for long bodies. A block returns to the pool when the `Data` with its bytes is released.
///
/// The transport's thread takes the blocks, and other threads return them. After a burst of requests, the system's
/// allocator might keep gigabytes of unused memory, or it would map and unmap each block. The pool maps blocks itself,
/// keeps a few unused blocks, and unmaps the others. The block that was returned last is used first, because it is
/// still in the processor's cache.
final class CurlBlockPool: Sendable {
    /// The maximum number of unused blocks that the pool keeps. A stream rarely uses more blocks at a time.
    private static let kept = 8

    /// The addresses of the unused blocks, as integers because pointers are not `Sendable`.
    private let blocks = Protected<[UInt]>([])

    deinit {
        for block in blocks.withLock({ $0 }) { Self.unmap(UnsafeMutableRawPointer(bitPattern: block)) }
    }

    /// Returns a block; nil if there is no memory.
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
