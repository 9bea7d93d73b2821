internal import CLarkspur

/// The system's calls that write a file's bytes to the disk.
// In a file of its own, because an internal import of C would make the types of C internal in the file that imports it.
enum FileFlush {
    /// Starts to write a part of the file, and returns at once.
    static func begin(_ descriptor: Int32, from start: UInt64, count: UInt64) {
        clarkspur_file_begin_flush(descriptor, start, count)
    }

    /// Waits until all bytes of the file are on disk. Returns 0, or sets `errno`.
    static func finish(_ descriptor: Int32) -> Int32 { clarkspur_file_flush(descriptor) }
}
