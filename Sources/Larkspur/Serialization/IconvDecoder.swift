internal import CLarkspur

/// A text decoder of the system's iconv.
struct IconvDecoder: ~Copyable {
    /// Returns the size of the output buffer: enough for a short text, and for a part of a long one.
    private static func roomCount(for count: Int) -> Int { min(16 * 1_024, 32 + 3 * count) }

    private let decoder: UnsafeMutableRawPointer

    /// Creates a decoder. Returns nil if the system does not have the encoding; on Linux its module may not be
    /// installed.
    init?(_ encoding: String) {
        guard let decoder = clarkspur_text_open(encoding) else { return nil }
        self.decoder = decoder
    }

    deinit { clarkspur_text_close(decoder) }

    /// Appends the whole text in UTF-8. Returns false if the bytes are not text in the encoding.
    func decode(_ bytes: UnsafeRawBufferPointer, into text: inout [UInt8]) -> Bool {
        var step = clarkspur_text_step()
        step.input = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        step.input_count = bytes.count
        return withUnsafeTemporaryAllocation(byteCount: Self.roomCount(for: bytes.count), alignment: 1) { room in
            while true {
                step.output = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
                step.output_count = room.count
                let state = clarkspur_text_decode(decoder, &step)
                text.append(contentsOf: room[..<(room.count - step.output_count)])
                guard state == clarkspur_text_is_full else { return state == clarkspur_text_ended }
            }
        }
    }
}
