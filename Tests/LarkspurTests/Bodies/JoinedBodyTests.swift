import Larkspur
import TestSupport
import Testing

@Suite("Joined bodies", .limited)
struct JoinedBodyTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test(
        "The bytes of the bodies follow each other, for any kinds of bodies and any buffers",
        arguments: [1, 1_009, 65_536, 1 << 20])
    func order(size: Int) async throws {
        let unit = size == 1 ? 1_000 : 100_000
        let pieces = (0..<6).map { [UInt8](repeating: UInt8($0), count: unit + $0) }
        let bodies: [TransportBody] = [
            .data(Data([9] + pieces[0]).dropFirst()), .none, try .file(folder.write(pieces[1])),
            .sequence { Pieces(elements: pieces[2].pieces(of: 777)) }, .data(Data()),
            .inputStream { InputStream(data: Data(pieces[3])) },
            .joined([.data(Data(pieces[4])), .sequence(length: UInt64(unit + 5)) { Pieces(elements: [pieces[5]]) }]),
        ]
        let body = TransportBody.joined(bodies)
        #expect(body.isReplayable)
        #expect(body.length == nil)
        for _ in 0..<2 { #expect(try await body.pulled(by: size) == pieces.flatMap { $0 }) }
    }

    @Test("The length is the sum, if all lengths are known and the sum does not overflow")
    func lengths() throws {
        let file = try TransportBody.file(folder.write([UInt8].pattern(1_000)))
        let rows: [([TransportBody], UInt64?)] = [
            ([], 0), ([file], 1_000), ([file, .data(Data([1, 2])), file], 2_002),
            ([file, .sequence(length: 7) { Pieces(elements: [UInt8]()) }], 1_007),
            ([file, .sequence { Pieces(elements: [UInt8]()) }], nil),
            ([file, .sequence(length: .max) { Pieces(elements: [UInt8]()) }], nil),
        ]
        for (bodies, length) in rows { #expect(TransportBody.joined(bodies).length == length) }
    }

    @Test("A joined body can be sent again if all of its bodies can")
    func replay() {
        let again = TransportBody.sequence { Pieces(elements: [1 as UInt8]) }
        #expect(TransportBody.joined([again, again]).isReplayable)
        #expect(!TransportBody.joined([again, .onceOnly, again]).isReplayable)
    }

    @Test("Small pieces of data become one piece, which can be sent with the head")
    func merged() {
        func data(_ count: Int) -> TransportBody { .data(Data([UInt8].pattern(count))) }
        guard case .data(let joined) = TransportBody.joined([data(3), .none, data(5)]) else {
            Issue.record("not data")
            return
        }
        #expect(joined == Data([UInt8].pattern(3) + .pattern(5)))
        guard case .stream = TransportBody.joined([data(65_536), data(1)]) else {
            Issue.record("large data was copied")
            return
        }
    }

    @Test("Only one of many files is open at a time, and none after an early end")
    func descriptors() async throws {
        var bodies: [TransportBody] = []
        for index in 0..<1_000 {
            bodies.append(try .file(folder.write([UInt8](repeating: 7, count: 100), to: "\(index)")))
        }
        var pulled = PulledBody(.joined(bodies))
        for _ in 0..<99 {
            #expect(try await pulled.next(1_001) == 1_001)
            #expect(folder.openFiles <= 1)
        }
        pulled.stream.end()
        #expect(folder.openFiles == 0)
        #expect(try await TransportBody.joined(bodies).pulled() == [UInt8](repeating: 7, count: 100_000))
    }

    @Test(
        "A stream begins when it is next, and ends once: after it was read, or with the whole body",
        arguments: [0, 1, 150, 250, 400])
    func turns(count: Int) async throws {
        let notes = (0..<3).map { _ in Journal() }
        let body = TransportBody.joined(notes.map { ScriptedStream.body(length: 100, giving: [100], noting: $0) })
        var pulled = PulledBody(body)
        if count > 0 { while pulled.bytes.count < count, try await pulled.next(min(50, count)) > 0 {} }
        pulled.stream.end()
        pulled.stream.end()
        for (index, notes) in notes.enumerated() {
            #expect(notes.lines == (count > index * 100 ? ["begin", "end"] : []))
        }
    }

    @Test(
        "A part that ends early or returns too many bytes fails the whole body",
        arguments: [[50], [0], [-1], [50, 1_000]])
    func broken(giving counts: [Int]) async throws {
        let notes = Journal()
        let body = TransportBody.joined([
            .data(Data([1])), ScriptedStream.body(length: 100, giving: counts, noting: notes), .data(Data([2])),
        ])
        var pulled = PulledBody(body)
        let error = await #expect(throws: TransportError.self) { try await pulled.rest(by: 65_536) }
        #expect(error?.code == .bodyFailed)
        #expect(pulled.bytes.count < 102)
        pulled.stream.end()
        #expect(notes.lines == ["begin", "end"])
    }
}

/// Returns the counts of its script, and then its end.
private final class ScriptedStream: TransportBodyStream {
    private let counts: Protected<ArraySlice<Int>>
    private let notes: Journal

    static func body(length: UInt64, giving counts: [Int], noting notes: Journal) -> TransportBody {
        .stream(TransportBodySource(length: length, isReplayable: false) { ScriptedStream(counts, notes) })
    }

    private init(_ counts: [Int], _ notes: Journal) {
        self.counts = Protected(counts[...])
        self.notes = notes
    }

    func begin(wake: @escaping @Sendable () -> Void) { notes.note("begin") }
    func end() { notes.note("end") }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead {
        counts.withLock { counts in
            guard let count = counts.popFirst() else { return .end }
            guard count > buffer.count, count <= 100 else { return .bytes(count) }
            counts = [count - buffer.count] + counts
            return .bytes(buffer.count)
        }
    }
}
