/// SHA-1 (FIPS 180-4), which the handshake of WebSocket needs. It is not safe for any other purpose.
enum SHA1 {
    static func hash(_ text: String) -> [UInt8] {
        var message = Array(text.utf8)
        let bitCount = UInt64(message.count) * 8
        message.append(0x80)
        while message.count % 64 != 56 { message.append(0) }
        message += withUnsafeBytes(of: bitCount.bigEndian) { Array($0) }
        var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
        for start in stride(from: 0, to: message.count, by: 64) { absorb(message[start..<(start + 64)], &state) }
        return state.flatMap { word in withUnsafeBytes(of: word.bigEndian) { Array($0) } }
    }

    private static func absorb(_ block: ArraySlice<UInt8>, _ state: inout [UInt32]) {
        var words = stride(from: block.startIndex, to: block.endIndex, by: 4).map { index in
            block[index..<(index + 4)].reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
        }
        for index in 16..<80 {
            words.append(rotated(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1))
        }
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for (index, word) in words.enumerated() {
            let (mix, constant): (UInt32, UInt32) =
                switch index {
                case ..<20: (b & c | ~b & d, 0x5A82_7999)
                case ..<40: (b ^ c ^ d, 0x6ED9_EBA1)
                case ..<60: (b & c | b & d | c & d, 0x8F1B_BCDC)
                default: (b ^ c ^ d, 0xCA62_C1D6)
                }
            (a, b, c, d, e) = (rotated(a, 5) &+ mix &+ e &+ constant &+ word, a, rotated(b, 30), c, d)
        }
        state[0] &+= a
        state[1] &+= b
        state[2] &+= c
        state[3] &+= d
        state[4] &+= e
    }

    private static func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
}
