/// A ring buffer of fixed capacity between one writer and one reader.
struct ByteRing {
    let capacity: Int
    private var bytes: [UInt8] = []  // allocated by the first write
    private var start = 0
    private(set) var count = 0

    init(capacity: Int) {
        precondition(capacity > 0, "a ring buffer without capacity would block its writer forever")
        self.capacity = capacity
    }

    /// Writes the first bytes of the source, as many as the ring has room for, and returns their count.
    mutating func write(_ source: UnsafeRawBufferPointer) -> Int {
        if bytes.isEmpty { bytes = Array(repeating: 0, count: capacity) }
        let taken = min(source.count, capacity - count)
        let end = (start + count) % capacity
        let head = min(taken, capacity - end)
        bytes.withUnsafeMutableBytes { ring in
            UnsafeMutableRawBufferPointer(rebasing: ring[end...]).copyMemory(
                from: UnsafeRawBufferPointer(rebasing: source[..<head]))
            ring.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[head..<taken]))
        }
        count += taken
        return taken
    }

    /// Moves the oldest bytes to the buffer, and returns their count.
    mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let given = min(buffer.count, count)
        let head = min(given, capacity - start)
        bytes.withUnsafeBytes { ring in
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: ring[start..<(start + head)]))
            UnsafeMutableRawBufferPointer(rebasing: buffer[head...]).copyMemory(
                from: UnsafeRawBufferPointer(rebasing: ring[..<(given - head)]))
        }
        start = (start + given) % capacity
        count -= given
        return given
    }

    /// Removes all bytes and releases the memory.
    mutating func clear() { self = ByteRing(capacity: capacity) }
}
