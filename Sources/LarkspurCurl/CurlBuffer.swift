/// The pieces of a body, collected in one block of memory that becomes a `Data` without being copied.
///
/// libcurl passes on at most 16 KiB at a time. A first piece that is shorter is usually the whole rest of the body, and
/// its block is as large as the piece. Longer bodies are collected in blocks of the pool. If the length of the rest is
/// known, the block is as large as the rest, up to the limit.
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
        release()
    }

    /// Whether the block belongs to the pool.
    private var isPooled: Bool { capacity >= CurlBlockPool.smallestSize }

    private func release() {
        if let block, isPooled { pool.give(block, size: capacity) } else { free(block) }
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
        // Longer blocks come from the pool. The system's allocator would give the memory of each released block back to
        // the system, or would never do so.
        guard wanted > CurlBlockPool.smallestSize / 2 else {
            guard let larger = realloc(block, wanted) else { return false }
            (block, capacity) = (larger, wanted)
            return true
        }
        let size = CurlBlockPool.size(of: wanted)
        guard let pooled = pool.take(size) else { return false }
        if let block { memcpy(pooled, block, count) }
        release()
        (block, capacity) = (pooled, size)
        return true
    }

    /// Returns all bytes and leaves the buffer empty.
    mutating func take() -> Data {
        guard var full = block else { return Data() }
        defer { (block, capacity, count) = (nil, 0, 0) }
        guard isPooled else {
            if count <= Self.limitInline {
                defer { free(full) }
                return Data(bytes: full, count: count)
            }
            // If more than half of the block is unused, the unused part is released.
            if count < capacity / 2, let smaller = realloc(full, count) { full = smaller }
            return Data(bytesNoCopy: full, count: count, deallocator: .free)
        }
        guard count < capacity / 2 else {
            let release = { [pool, capacity] (block: UnsafeMutableRawPointer, _: Int) in
                pool.give(block, size: capacity)
            }
            return Data(bytesNoCopy: full, count: count, deallocator: .custom(release))
        }
        defer { pool.give(full, size: capacity) }
        return Data(bytes: full, count: count)
    }
}

/// A pool of memory blocks for bodies that are longer than 16 KiB. A block returns to the pool when the `Data` with its
/// bytes is released.
///
/// The transport's thread takes the blocks, and other threads return them. The system's allocator would map the pages
/// of each block again, which takes longer than to receive the bytes. After a burst of requests, it might also keep
/// gigabytes of unused memory. The pool maps blocks itself, keeps a few unused blocks, and unmaps the others. The block
/// that was returned last is used first, because it is still in the processor's cache.
final class CurlBlockPool: Sendable {
    /// The sizes of blocks are powers of two from this size to `CurlBuffer.limit`.
    static let smallestSize = 32 * 1_024
    private static let sizeCount = 5
    /// The maximum number of unused bytes that the pool keeps.
    private static let kept = 4 << 20

    private struct Unused {
        /// The addresses of the blocks by size, as integers because pointers are not `Sendable`.
        var blocks: [[UInt]] = Array(repeating: [], count: CurlBlockPool.sizeCount)
        var bytes = 0
    }

    private let unused = Protected(Unused())

    deinit {
        for (index, blocks) in unused.withLock({ $0.blocks }).enumerated() {
            for block in blocks { Self.unmap(UnsafeMutableRawPointer(bitPattern: block), Self.smallestSize << index) }
        }
    }

    /// Returns the size of the smallest block that has this number of bytes, which is at most `CurlBuffer.limit`.
    static func size(of count: Int) -> Int {
        var size = smallestSize
        while size < count { size *= 2 }
        return size
    }

    private static func index(of size: Int) -> Int { (size / smallestSize).trailingZeroBitCount }

    /// Returns a block of this size, which is one of the pool's sizes; nil if there is no memory.
    func take(_ size: Int) -> UnsafeMutableRawPointer? {
        let block = unused.withLock { unused in
            let block = unused.blocks[Self.index(of: size)].popLast()
            if block != nil { unused.bytes -= size }
            return block
        }
        return block.flatMap { UnsafeMutableRawPointer(bitPattern: $0) } ?? Self.map(size)
    }

    func give(_ block: UnsafeMutableRawPointer, size: Int) {
        let address = UInt(bitPattern: block)
        let isKept = unused.withLock { unused in
            guard unused.bytes + size <= Self.kept else { return false }
            unused.blocks[Self.index(of: size)].append(address)
            unused.bytes += size
            return true
        }
        if !isKept { Self.unmap(block, size) }
    }

    private static func map(_ size: Int) -> UnsafeMutableRawPointer? {
        let block = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        return block == MAP_FAILED ? nil : block
    }

    private static func unmap(_ block: UnsafeMutableRawPointer?, _ size: Int) { munmap(block, size) }
}
