import Larkspur
import TestSupport
import Testing

@Suite("Bodies of asynchronous sequences", .limited)
struct SequenceBodyTests {
    /// Lengths around the sizes of the ring buffer and the read buffers.
    private static let lengths = [0, 1, 2, 65_537, 262_143, 262_144, 262_145, 600_000]

    @Test("Every piece is sent, for any size of pieces and buffers", arguments: lengths, [1, 7, 1 << 20])
    func pieces(length: Int, unit: Int) async throws {
        let size = unit == 1 ? 100_000 : unit * 1_000
        let pieces = Pieces(elements: [UInt8].pattern(length).pieces(of: size))
        for declared in [nil, UInt64(length)] {
            let body = TransportBody.sequence(pieces, length: declared)
            #expect(body.length == declared)
            #expect(try await body.pulled(by: unit == 7 ? 1_009 : 65_536) == .pattern(length))
        }
    }

    @Test("Pieces may be of any type of bytes, or single bytes; empty pieces are skipped")
    func types() async throws {
        let bytes = [UInt8].pattern(3_000)
        let pieces = bytes.pieces(of: 900)
        let bodies: [TransportBody] = [
            .sequence(Pieces(elements: pieces.map { Data($0) })), .sequence(Pieces(elements: pieces.map { $0[...] })),
            .sequence(Pieces(elements: [[]] + pieces + [[]])), .sequence(Pieces(elements: bytes)),
            .sequence(Pieces(elements: bytes), length: 3_000), .sequence { Pieces(elements: pieces) },
            .sequence(length: 3_000) { Pieces(elements: bytes) },
        ]
        for body in bodies { #expect(try await body.pulled(by: 1_000) == bytes) }
    }

    @Test("A sequence can be sent once; a closure can be sent many times")
    func replay() async throws {
        let once = TransportBody.sequence(Pieces(elements: [[1, 2]]))
        #expect(!once.isReplayable)
        #expect(try await once.pulled() == [1, 2])
        await #expect(throws: TransportError.self) { try await once.pulled() }
        let again = TransportBody.sequence { Pieces(elements: [[1, 2] as [UInt8]]) }
        #expect(again.isReplayable)
        for _ in 0..<3 { #expect(try await again.pulled() == [1, 2]) }
    }

    @Test("A body whose closure returns a used sequence fails when it is sent again")
    func usedSequence() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        continuation.yield([1, 2, 3])
        continuation.finish()
        let body = TransportBody.sequence { stream }
        #expect(try await body.pulled() == [1, 2, 3])
        let error = await #expect(throws: TransportError.self) { try await body.pulled() }
        #expect(error?.code == .bodyFailed)
    }

    @Test(
        "A body that misses its declared length fails, and never looks complete",
        arguments: [1, 2, 10, 262_143, 262_144, 600_000], [-1, 1])
    func wrongLength(declared: Int, difference: Int) async throws {
        let pieces = Pieces(elements: [UInt8].pattern(declared + difference).pieces(of: 100_000))
        var pulled = PulledBody(.sequence(pieces, length: UInt64(declared)))
        let error = await #expect(throws: TransportError.self) { try await pulled.rest(by: 65_536) }
        #expect(error?.code == .bodyFailed)
        #expect(pulled.bytes.count < declared)
    }

    @Test(
        "The last byte of a declared length waits until the sequence has ended",
        arguments: [1, 2, 70_000])
    func lastByte(length: Int) async throws {
        for isLonger in [false, true] {
            let (pieces, continuation) = AsyncStream.makeStream(of: [UInt8].self)
            var pulled = PulledBody(.sequence(pieces, length: UInt64(length)))
            continuation.yield(.pattern(length))
            while pulled.bytes.count < length - 1 { _ = try await pulled.next(65_536) }
            for _ in 0..<3 {
                await Task.yield()
                var byte: UInt8 = 0
                guard case .pending = withUnsafeMutableBytes(of: &byte, { pulled.stream.read(into: $0) }) else {
                    Issue.record("the last byte was delivered early")
                    return
                }
            }
            if isLonger { continuation.yield([1]) }
            continuation.finish()
            if isLonger {
                await #expect(throws: TransportError.self) { try await pulled.rest(by: 10) }
            } else {
                try await pulled.rest(by: 10)
                #expect(pulled.bytes == .pattern(length))
            }
        }
    }

    @Test(
        "An error of the sequence fails the body, and is the underlying error", arguments: [0, 1, 400_000],
        [nil, 400_001])
    func thrown(length: Int, declared: UInt64?) async throws {
        let pieces = Pieces(elements: [UInt8].pattern(length).pieces(of: 100_000), error: ForeignError())
        for body: TransportBody in [.sequence(pieces, length: declared), .sequence(length: declared) { pieces }] {
            let error = await #expect(throws: TransportError.self) { try await body.pulled() }
            #expect(error?.code == .bodyFailed)
            #expect(error?.underlying as? ForeignError == ForeignError())
        }
    }

    @Test("A producer is at most 256 KiB and one piece ahead")
    func backpressure() async throws {
        let asked = Counter()
        let pieces = [UInt8].pattern(4 << 20).pieces(of: 16_384)
        var pulled = PulledBody(.sequence(Pieces(elements: pieces, onNext: { asked.increment() })))
        var isOver = false
        while !isOver {
            isOver = try await pulled.next(65_536) == 0
            #expect(asked.value * 16_384 - pulled.bytes.count <= 262_144 + 2 * 16_384)
        }
        #expect(pulled.bytes.count == 4 << 20)
        pulled.stream.end()
    }

    @Test(
        "R2: ending a body cancels its producer, whose cancellation handlers run on another thread",
        arguments: [0, 3])
    func cancelled(given: Int) async throws {
        let (pieces, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        let (depth, isCancelled) = (Protected<Int?>(nil), Gate())
        continuation.onTermination = { _ in
            depth.withLock { $0 = ThreadMarks.transportDepth }
            isCancelled.open()
        }
        for _ in 0..<given { continuation.yield([1, 2, 3]) }
        var pulled = PulledBody(.sequence(pieces))
        while pulled.bytes.count < given * 3 { _ = try await pulled.next(100) }
        let stream = pulled.stream
        Self.asTransport { stream.end() }
        await isCancelled.pass()
        #expect(depth.withLock { $0 } == 0)
    }

    private static func asTransport(_ body: () -> Void) {
        #if DEBUG
            ThreadMarks.transportDepth += 1
            defer { ThreadMarks.transportDepth -= 1 }
        #endif
        body()
    }

    @Test("A body may end before it begins, twice, or while its producer waits for room, and wakes no transport")
    func ends() async throws {
        let wakes = Counter()
        let finished = Gate()
        let body = TransportBody.sequence {
            Pieces(elements: [[UInt8].pattern(1 << 20)], onNext: { finished.open() })
        }
        let never = body.open()
        never.end()
        never.end()
        let stream = body.open()
        stream.begin { wakes.increment() }
        await finished.pass()
        stream.end()
        stream.end()
        let count = wakes.value
        var byte: UInt8 = 0
        guard case .end = withUnsafeMutableBytes(of: &byte, { stream.read(into: $0) }) else {
            Issue.record("an ended body delivered bytes")
            return
        }
        #expect(wakes.value == count)
    }

    @Test("R4: a body that ends at any moment ends its producer")
    func race() async throws {
        for seed in 0..<200 {
            var random = SeededRandom(seed: UInt64(seed))
            let (ended, reads) = (Gate(), Int.random(in: 0..<6, using: &random))
            let body = TransportBody.sequence(length: Bool.random(using: &random) ? 1_000_000 : nil) {
                let producer = OnEnd { ended.open() }
                return Pieces(elements: [UInt8].pattern(1_000_000).pieces(of: 300_000), onNext: { _ = producer })
            }
            var pulled = PulledBody(body)
            for _ in 0..<reads { _ = try await pulled.next(Int.random(in: 1...300_000, using: &random)) }
            pulled.stream.end()
            await ended.pass()
        }
    }
}

/// Reports its deinitialization.
private final class OnEnd: Sendable {
    private let action: @Sendable () -> Void
    init(_ action: @escaping @Sendable () -> Void) { self.action = action }
    deinit { action() }
}
