#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Pieces of a body, collected in one block of memory that becomes a `Data` without being copied.
///
/// libcurl gives 16 KiB at a time, however much there is. A shorter piece is the last one, as a rule, and gets a block of
/// its size; after a full one more will come.
struct CurlBuffer: ~Copyable {
    /// What a block holds at most.
    static let limit = 64 * 1_024
    private static let fullPiece = 16 * 1_024

    private var block: UnsafeMutableRawPointer?
    private var capacity = 0
    private(set) var count = 0

    deinit {
        free(block)
    }

    var isEmpty: Bool { count == 0 }

    func hasRoom(for piece: UnsafeRawBufferPointer) -> Bool { count + piece.count <= Self.limit }

    /// False if there is no memory; the piece must fit within the limit.
    mutating func append(_ piece: UnsafeRawBufferPointer) -> Bool {
        if count + piece.count > capacity {
            let wanted = isEmpty && piece.count < Self.fullPiece ? piece.count : max(Self.limit, piece.count)
            guard let larger = realloc(block, wanted) else { return false }
            (block, capacity) = (larger, wanted)
        }
        guard let block, let bytes = piece.baseAddress else { return piece.isEmpty }
        memcpy(block + count, bytes, piece.count)
        count += piece.count
        return true
    }

    /// Everything, and nothing is left.
    mutating func take() -> Data {
        guard var full = block else { return Data() }
        // What is not needed goes back, unless it is little.
        if count < capacity / 2, let smaller = realloc(full, count) { full = smaller }
        let data = Data(bytesNoCopy: full, count: count, deallocator: .free)
        (block, capacity, count) = (nil, 0, 0)
        return data
    }
}
