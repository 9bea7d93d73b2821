import Larkspur
import TestSupport
import Testing

@Suite("Bodies of input streams", .limited)
struct InputStreamBodyTests {
    @Test(
        "Every byte is sent, of known and of unknown length", arguments: [0, 1, 65_536, 262_144, 600_000],
        [true, false])
    func whole(length: Int, isDeclared: Bool) async throws {
        let declared = isDeclared ? UInt64(length) : nil
        let bytes = [UInt8].pattern(length)
        let once = TransportBody.inputStream(InputStream(data: Data(bytes)), length: declared)
        #expect(once.length == declared)
        #expect(!once.isReplayable)
        #expect(try await once.pulled() == bytes)
        await #expect(throws: TransportError.self) { try await once.pulled() }
        let again = TransportBody.inputStream(length: declared) { InputStream(data: Data(bytes)) }
        #expect(again.isReplayable)
        for size in [1_009, 65_536] { #expect(try await again.pulled(by: size) == bytes) }
    }

    @Test("A stream of a file is sent")
    func file() async throws {
        let folder = try TemporaryFolder()
        let url = try folder.write([UInt8].pattern(300_000))
        #expect(try await TransportBody.inputStream { InputStream(url: url) }.pulled() == .pattern(300_000))
    }

    @Test(
        "A body that misses its declared length fails, and never looks complete", arguments: [1, 262_144, 300_000],
        [-1, 1])
    func wrongLength(declared: Int, difference: Int) async throws {
        let bytes = [UInt8].pattern(declared + difference)
        var pulled = PulledBody(.inputStream(InputStream(data: Data(bytes)), length: UInt64(declared)))
        let error = await #expect(throws: TransportError.self) { try await pulled.rest(by: 65_536) }
        #expect(error?.code == .bodyFailed)
        #expect(pulled.bytes.count < declared)
    }

    @Test("A stream that cannot be created or opened fails the body, with the reason")
    func failed() async throws {
        let folder = try TemporaryFolder()
        let missing = folder["missing"]
        let bodies: [TransportBody] = [
            .inputStream { throw ForeignError() }, .inputStream { nil }, .inputStream { InputStream(url: missing) },
        ]
        for body in bodies {
            let error = await #expect(throws: TransportError.self) { try await body.pulled() }
            #expect(error?.code == .bodyFailed)
            #expect(error?.underlying != nil)
        }
    }

    @Test("R2: blocking streams block neither the task pool nor the thread that ends the body")
    func blocking() async throws {
        let streams = (0..<32).map { _ in (reading: Gate(), data: DispatchSemaphore(value: 0), closed: Gate()) }
        let bodies = streams.map { reading, data, closed in
            PulledBody(.inputStream { BlockingStream(reading: reading, data: data, closed: closed) })
        }
        for stream in streams { await stream.reading.pass() }
        await Task.detached {}.value  // would never run if each stream blocked a thread of the pool
        for body in bodies { body.stream.end() }
        for stream in streams {
            stream.data.signal()
            await stream.closed.pass()
        }
    }
}

/// Delivers one byte when the test allows it.
private final class BlockingStream: InputStream {
    private let reading: Gate
    private let data: DispatchSemaphore
    private let closed: Gate

    init(reading: Gate, data: DispatchSemaphore, closed: Gate) {
        (self.reading, self.data, self.closed) = (reading, data, closed)
        super.init(data: Data())
    }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
        reading.open()
        data.wait()
        buffer.pointee = 7
        return 1
    }

    override func close() {
        super.close()
        closed.open()
    }
}
