#if os(Linux)
    import Foundation
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    @testable import LarkspurCurl

    @Suite("Body buffers", .limited)
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
            let block = try #require(pool.take(CurlBuffer.limit))
            #expect(UInt(bitPattern: block) == address)
            pool.give(block, size: CurlBuffer.limit)
        }

        @Test("The block that was released last is reused first")
        func order() throws {
            let pool = CurlBlockPool()
            let size = CurlBuffer.limit
            let blocks = try (0..<4).map { _ in try #require(pool.take(size)) }
            #expect(Set(blocks).count == 4)
            for block in blocks { pool.give(block, size: size) }
            let again = try blocks.map { _ in try #require(pool.take(size)) }
            #expect(again == blocks.reversed())
            for block in again { pool.give(block, size: size) }
        }

        @Test(
            "Memory for a body of known length is reused for the next body of about that length",
            arguments: [(30_000, 32 << 10), (40_000, 64 << 10), (100_000, 128 << 10), (300_000, 512 << 10)])
        func reuse(of length: Int, size: Int) {
            #expect(CurlBlockPool.size(of: length) == size)
            let pool = CurlBlockPool()
            var addresses: Set<UInt> = []
            for round in 0..<20 {
                var buffer = CurlBuffer(pool: pool)
                var left = length - round
                while left > 0 {
                    let piece = [UInt8](repeating: UInt8(round), count: min(16_384, left))
                    #expect(append(piece, of: left, to: &buffer))
                    left -= piece.count
                }
                let body = buffer.take()
                #expect(body == Data(repeating: UInt8(round), count: length - round))
                body.withUnsafeBytes { _ = addresses.insert(UInt(bitPattern: $0.baseAddress)) }
            }
            #expect(addresses.count == 1)
        }

        @Test("The pool keeps a limited number of unused bytes")
        func limitOfUnusedBytes() throws {
            let (pool, size) = (CurlBlockPool(), 128 << 10)
            let blocks = try (0..<64).map { _ in try #require(pool.take(size)) }
            for block in blocks { pool.give(block, size: size) }
            let again = try (0..<64).map { _ in try #require(pool.take(size)) }
            // The first 32 blocks that were returned are reused, the last of them first.
            #expect(Array(again.prefix(32)) == Array(blocks.prefix(32).reversed()))
            for block in again { pool.give(block, size: size) }
        }

        @Test("A part of a body is delivered although the rest does not arrive", arguments: [1, 20_000, 100_000])
        func part(of count: Int) async throws {
            let (server, gate) = (try MockServer(), Gate())
            let whole = [UInt8].pattern(count + 50_000)
            let steps: [MockResponse.Step] = [
                .head(ResponseHead(status: 200), .length(UInt64(whole.count))),
                .body(Data(whole[..<count])), .pause { try await gate.passUnlessCancelled() },
                .body(Data(whole[count...])),
            ]
            server.on("GET", "/", MockResponse(steps))
            let delegate = CurlTransport().start(TransportRequest(url: try RequestURL(server.url + "/")))
            try await delegate.wait { $0.bodyCount == count }
            gate.open()
            let trace = try await delegate.wait { $0.isCompleted && $0.depth == 0 }
            #expect(trace.isSuccess)
            #expect(trace.body == whole)
        }
    }
#endif
