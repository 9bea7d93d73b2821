#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Hash functions in Swift: MD5 (RFC 1321), SHA-256, SHA-512 and SHA-512/256 (FIPS 180-4). They are used if the system
/// has no hash library, or its library does not have the algorithm.
package struct SoftwareHash: HashEngine {
    private var blocks: any BlockHash
    private let blockSize: Int
    private let resultSize: Int
    /// The bytes after the last complete block.
    private var rest: [UInt8] = []
    private var count: UInt64 = 0

    package init(_ algorithm: StreamingHash.Algorithm) {
        (blocks, blockSize, resultSize) =
            switch algorithm {
            case .md5: (MD5(), 64, 16)
            case .sha256: (SHA2(SHA2.squareRoots.map { UInt32($0 >> 32) }), 64, 32)
            case .sha512: (SHA2(SHA2.squareRoots), 128, 64)
            case .sha512Half: (SHA2(SHA2.startOfHalf), 128, 32)
            }
    }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        count += UInt64(bytes.count)
        var bytes = bytes[...]
        if !rest.isEmpty {
            let missing = bytes.prefix(blockSize - rest.count)
            rest += missing
            bytes = bytes.dropFirst(missing.count)
            guard rest.count == blockSize else { return }
            rest.withUnsafeBytes { blocks.absorb($0) }
            rest = []
        }
        let whole = bytes.count - bytes.count % blockSize
        for start in stride(from: bytes.startIndex, to: bytes.startIndex + whole, by: blockSize) {
            blocks.absorb(UnsafeRawBufferPointer(rebasing: bytes[start..<(start + blockSize)]))
        }
        rest += bytes.dropFirst(whole)
    }

    /// Pads the input with a one bit, zeros and the input's length in bits, and returns the hash.
    package mutating func finalize() -> [UInt8] {
        let bits = count << 3
        let lengthSize = blockSize / 8
        let zeros = (2 * blockSize - 1 - lengthSize - rest.count) % blockSize
        var padding = [0x80] + [UInt8](repeating: 0, count: zeros + lengthSize - 8)
        padding += bytes(of: blocks is MD5 ? bits.littleEndian : bits.bigEndian)
        padding.withUnsafeBytes { update($0) }
        return Array(blocks.result.prefix(resultSize))
    }
}

/// A hash function that processes one block at a time.
private protocol BlockHash {
    mutating func absorb(_ block: UnsafeRawBufferPointer)
    var result: [UInt8] { get }
}

private func bytes(of word: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: word) { Array($0) } }

extension FixedWidthInteger {
    fileprivate func rotated(right count: Int) -> Self { self >> Self(count) | self << Self(Self.bitWidth - count) }
}

private struct MD5: BlockHash {
    private var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476]

    var result: [UInt8] { state.flatMap { bytes(of: $0.littleEndian) } }

    private static let shifts = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]]
    private static let sines = (1...64).map { UInt32(abs(sin(Double($0))) * 0x1p32) }

    mutating func absorb(_ block: UnsafeRawBufferPointer) {
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        for step in 0..<64 {
            let mixed: UInt32
            let index: Int
            switch step / 16 {
            case 0: (mixed, index) = (b & c | ~b & d, step)
            case 1: (mixed, index) = (d & b | ~d & c, 5 * step + 1)
            case 2: (mixed, index) = (b ^ c ^ d, 3 * step + 5)
            default: (mixed, index) = (c ^ (b | ~d), 7 * step)
            }
            let word = UInt32(littleEndian: block.loadUnaligned(fromByteOffset: index % 16 * 4, as: UInt32.self))
            let sum = a &+ mixed &+ Self.sines[step] &+ word
            (a, d, c, b) = (d, c, b, b &+ sum.rotated(right: 32 - Self.shifts[step / 16][step % 4]))
        }
        state = [state[0] &+ a, state[1] &+ b, state[2] &+ c, state[3] &+ d]
    }
}

/// SHA-256 and SHA-512. Both have the same steps. SHA-256 works on words of 32 bits, and SHA-512 on words of 64 bits.
/// The constants of SHA-256 are the upper halves of the constants of SHA-512.
private struct SHA2<Word: FixedWidthInteger & UnsignedInteger>: BlockHash {
    private var state: [Word]

    init(_ state: [Word]) { self.state = state }

    var result: [UInt8] { state.flatMap { bytes(of: $0.bigEndian) } }

    private static var rounds: Int { Word.bitWidth == 64 ? 80 : 64 }
    private static var large: [[Int]] {
        Word.bitWidth == 64 ? [[28, 34, 39], [14, 18, 41]] : [[2, 13, 22], [6, 11, 25]]
    }
    /// The bit counts for `spread`. Each row has two rotations and a shift.
    private static var small: [[Int]] {
        Word.bitWidth == 64 ? [[1, 8, 7], [19, 61, 6]] : [[7, 18, 3], [17, 19, 10]]
    }

    mutating func absorb(_ block: UnsafeRawBufferPointer) {
        let (large, small) = (Self.large, Self.small)
        func spread(_ word: Word, _ by: [Int]) -> Word {
            word.rotated(right: by[0]) ^ word.rotated(right: by[1]) ^ word >> Word(by[2])
        }
        func mix(_ word: Word, _ by: [Int]) -> Word {
            word.rotated(right: by[0]) ^ word.rotated(right: by[1]) ^ word.rotated(right: by[2])
        }
        var words = (0..<16).map { index in
            Word(bigEndian: block.loadUnaligned(fromByteOffset: index * Word.bitWidth / 8, as: Word.self))
        }
        for step in 16..<Self.rounds {
            let sum = words[step - 16] &+ spread(words[step - 15], small[0])
            words.append(sum &+ words[step - 7] &+ spread(words[step - 2], small[1]))
        }
        var v = state
        for step in 0..<Self.rounds {
            // Each step of SHA-2 moves the eight variables by one place. Here the array elements stay, and `index`
            // returns the element that has the role of a variable in this step.
            func index(_ name: Int) -> Int { (name &- step) & 7 }
            let (a, b, c) = (v[index(0)], v[index(1)], v[index(2)])
            let (e, f, g) = (v[index(4)], v[index(5)], v[index(6)])
            let constant = Word(truncatingIfNeeded: cubeRoots[step] >> UInt64(64 - Word.bitWidth))
            let first = v[index(7)] &+ mix(e, large[1]) &+ (e & f ^ ~e & g) &+ constant &+ words[step]
            v[index(3)] &+= first
            v[index(7)] = first &+ mix(a, large[0]) &+ (a & b ^ a & c ^ b & c)
        }
        for index in state.indices { state[index] &+= v[index] }
    }
}

extension SHA2<UInt64> {
    /// The fractional parts of the square roots of the first eight primes.
    static var squareRoots: [UInt64] {
        [
            0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1, 0x510e527fade682d1,
            0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
        ]
    }

    /// The initial state of SHA-512/256.
    static var startOfHalf: [UInt64] {
        [
            0x22312194fc2bf72c, 0x9f555fa3c84c64c2, 0x2393b86b6f53b151, 0x963877195940eabd, 0x96283ee2a88effe3,
            0xbe5e1e2553863992, 0x2b0199fc2c85b8aa, 0x0eb72ddc81c52ca2,
        ]
    }
}

/// The fractional parts of the cube roots of the first eighty primes.
private let cubeRoots: [UInt64] = [
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc, 0x3956c25bf348b538,
    0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118, 0xd807aa98a3030242, 0x12835b0145706fbe,
    0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2, 0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235,
    0xc19bf174cf692694, 0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5, 0x983e5152ee66dfab,
    0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4, 0xc6e00bf33da88fc2, 0xd5a79147930aa725,
    0x06ca6351e003826f, 0x142929670a0e6e70, 0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed,
    0x53380d139d95b3df, 0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30, 0xd192e819d6ef5218,
    0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8, 0x19a4c116b8d2d0c8, 0x1e376c085141ab53,
    0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8, 0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373,
    0x682e6ff3d6b2b8a3, 0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b, 0xca273eceea26619c,
    0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178, 0x06f067aa72176fba, 0x0a637dc5a2c898a6,
    0x113f9804bef90dae, 0x1b710b35131c471b, 0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc,
    0x431d67c49c100d4c, 0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817,
]
