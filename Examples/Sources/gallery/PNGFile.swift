import Larkspur

/// A PNG file of opaque pixels, written without a library: the pixels are stored, not compressed.
struct PNGFile: Sendable {
    let width: Int
    let height: Int
    /// Returns the red, green and blue of a pixel, each from 0 to 1. Both coordinates are below 1.
    let color: @Sendable (_ x: Double, _ y: Double) -> (Double, Double, Double)

    var data: Data {
        var header = big32(width) + big32(height)
        header += [8, 2, 0, 0, 0]  // eight bits, red-green-blue, and the only methods that there are
        let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        return Data(signature + chunk("IHDR", header) + chunk("IDAT", stored(rows)) + chunk("IEND", []))
    }

    /// The pixels, row by row. Each row begins with the number of its filter, which is 0 for none.
    private var rows: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(height * (width * 3 + 1))
        for row in 0..<height {
            bytes.append(0)
            for column in 0..<width {
                let (red, green, blue) = color(Double(column) / Double(width), Double(row) / Double(height))
                for channel in [red, green, blue] { bytes.append(UInt8(max(0, min(1, channel)) * 255)) }
            }
        }
        return bytes
    }

    /// Returns a zlib stream whose blocks are stored: each has at most 65,535 bytes, after their number.
    private func stored(_ bytes: [UInt8]) -> [UInt8] {
        var stream: [UInt8] = [0x78, 0x01]
        for start in stride(from: 0, to: bytes.count, by: 65_535) {
            let block = bytes[start..<min(start + 65_535, bytes.count)]
            let count = UInt16(block.count)
            stream.append(block.endIndex == bytes.count ? 1 : 0)
            for value in [count, ~count] { stream += [UInt8(value & 0xFF), UInt8(value >> 8)] }
            stream += block
        }
        var (low, high) = (1, 0)
        for byte in bytes {
            low = (low + Int(byte)) % 65_521
            high = (high + low) % 65_521
        }
        return stream + big32(high << 16 | low)
    }

    private func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
        let checked = Array(type.utf8) + content
        var sum = UInt32.max
        for byte in checked { sum = Self.table[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] ^ sum >> 8 }
        return big32(content.count) + checked + big32(Int(~sum))
    }

    /// The cyclic redundancy check of each byte.
    private static let table = (0..<UInt32(256)).map { byte in
        (0..<8).reduce(byte) { sum, _ in sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
    }

    private func big32(_ value: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
    }
}
