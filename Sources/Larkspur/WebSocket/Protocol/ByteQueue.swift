/// A growing queue of bytes: frames are written at its end, and a transport reads from its start. It gives its memory
/// back when it is empty.
package struct ByteQueue: ~Copyable {
    /// The size of the memory that an empty queue keeps.
    private static let keptCapacity = 2_048

    private var memory: UnsafeMutableRawPointer?
    private var capacity = 0
    private var start = 0
    private var end = 0

    package init() {}

    deinit { memory?.deallocate() }

    package var count: Int { end - start }

    /// Returns memory for this number of bytes at the end of the queue, to be written before ``commit(_:)``.
    mutating func reserve(_ size: Int) -> UnsafeMutableRawPointer {
        if let memory, end + size <= capacity { return memory + end }
        let count = count
        // The bytes move to the start of the memory if that leaves half of it free. Otherwise it grows.
        if let memory, count + size <= capacity / 2 {
            memory.copyMemory(from: memory + start, byteCount: count)
            (start, end) = (0, count)
            return memory + end
        }
        let grown = max(512, (count + size) * 2)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: grown, alignment: 16)
        if let memory {
            larger.copyMemory(from: memory + start, byteCount: count)
            memory.deallocate()
        }
        (memory, capacity, start, end) = (larger, grown, 0, count)
        return larger + count
    }

    /// Adds the bytes that were written to the reserved memory.
    mutating func commit(_ size: Int) { end += size }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count).copyMemory(from: source, byteCount: bytes.count)
        commit(bytes.count)
    }

    /// Moves the oldest bytes to the buffer, and returns their number.
    package mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, count)
        guard count > 0, let memory, let target = buffer.baseAddress else { return 0 }
        target.copyMemory(from: memory + start, byteCount: count)
        start += count
        if start == end { release() }
        return count
    }

    /// Calls the closure with all bytes, which stay in the queue.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        body(UnsafeRawBufferPointer(start: memory.map { $0 + start }, count: count))
    }

    /// Removes and returns all bytes.
    package mutating func takeAll() -> Data {
        // Data of other memory would not begin at index zero if bytes had been read before.
        guard start == 0, count > Self.keptCapacity, let memory else {
            defer { removeAll() }
            return withBytes { Data($0) }
        }
        defer { (self.memory, capacity, end) = (nil, 0, 0) }
        return Data(bytesNoCopy: memory, count: end, deallocator: .custom { memory, _ in memory.deallocate() })
    }

    package mutating func removeAll() {
        start = end
        release()
    }

    /// Removes bytes from the end.
    mutating func removeLast(_ count: Int) { end -= count }

    private mutating func release() {
        (start, end) = (0, 0)
        guard capacity > Self.keptCapacity else { return }
        memory?.deallocate()
        (memory, capacity) = (nil, 0)
    }
}
