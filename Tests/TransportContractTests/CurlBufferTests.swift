#if os(Linux)
    import Foundation
    import Testing

    @testable import LarkspurCurl

    @Suite("Body buffers", .timeLimit(.minutes(3)))
    struct CurlBufferTests {
        private func append(_ bytes: [UInt8], of rest: Int?, to buffer: inout CurlBuffer) -> Bool {
            bytes.withUnsafeBytes { buffer.append($0, of: rest) }
        }

        @Test(
            "Pieces come out as one, whatever length was expected",
            arguments: [[1], [5, 5], [16_384, 1], [16_384, 16_384, 99], [100, 16_384, 16_384]],
            [nil, 0, 1, 40_000, 10_000_000])
        func pieces(of counts: [Int], rest: Int?) {
            var buffer = CurlBuffer(pool: CurlBlockPool())
            for round in 0..<3 {
                var expected: [UInt8] = []
                for (index, count) in counts.enumerated() {
                    let piece = [UInt8](repeating: UInt8(10 * round + index), count: count)
                    #expect(append(piece, of: rest, to: &buffer))
                    expected += piece
                }
                let (count, whole, left) = (buffer.count, buffer.take(), buffer.count)
                #expect(count == expected.count)
                #expect(whole == Data(expected))
                #expect(left == 0)
            }
        }

        @Test("A block is filled up to its limit and then has no room")
        func room() {
            var buffer = CurlBuffer(pool: CurlBlockPool())
            let piece = [UInt8](repeating: 7, count: 16_384)
            for _ in 0..<CurlBuffer.limit / piece.count {
                #expect(piece.withUnsafeBytes { buffer.hasRoom(for: $0) })
                #expect(append(piece, of: nil, to: &buffer))
            }
            #expect(!piece.withUnsafeBytes { buffer.hasRoom(for: $0) })
            let whole = buffer.take()
            #expect(whole == Data(repeating: 7, count: CurlBuffer.limit))
        }

        @Test("A block is reused when its bytes have been released, and not before")
        func reuse() throws {
            let pool = CurlBlockPool()
            var buffer = CurlBuffer(pool: pool)
            let piece = [UInt8](repeating: 1, count: 16_384)
            for _ in 0..<CurlBuffer.limit / piece.count { #expect(append(piece, of: nil, to: &buffer)) }
            var full: Data? = buffer.take()
            let address = full?.withUnsafeBytes { $0.baseAddress.map { UInt(bitPattern: $0) } }
            #expect(append([2], of: nil, to: &buffer))
            for _ in 0..<8 { #expect(append(piece, of: nil, to: &buffer)) }
            #expect(full == Data(repeating: 1, count: CurlBuffer.limit))
            full = nil
            let block = try #require(pool.take())
            #expect(UInt(bitPattern: block) == address)
            pool.give(block)
        }

        @Test("The block that was released last is reused first")
        func order() throws {
            let pool = CurlBlockPool()
            let blocks = try (0..<4).map { _ in try #require(pool.take()) }
            #expect(Set(blocks).count == 4)
            for block in blocks { pool.give(block) }
            let again = try blocks.map { _ in try #require(pool.take()) }
            #expect(again == blocks.reversed())
            for block in again { pool.give(block) }
        }
    }
#endif
