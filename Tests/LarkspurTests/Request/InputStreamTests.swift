import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Bodies as input streams", .limited)
struct InputStreamTests {
    private let url = "http://example.com/stream"
    private let recorder = EventRecorder()
    private let body = MockResponse.pattern(from: 0, count: 600_000)

    private func session(_ answer: StubAnswer, monitors: [any EventMonitor] = []) -> Session {
        Session(transport: StubTransport { _ in answer }, eventMonitors: monitors + [recorder])
    }

    private func chunks(_ data: Data, of size: Int = 997) -> StubAnswer {
        .response(chunks: [UInt8](data).pieces(of: size).map { Data($0) })
    }

    /// Reads on a separate thread, because reading blocks.
    private func reading<Value: Sendable>(
        _ request: DataStreamRequest, _ work: @escaping @Sendable (InputStream) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try work(request.asInputStream()) })
            }
        }
    }

    private func isCancelled(_ request: DataStreamRequest) async -> Bool {
        await recorder.wait { $0.contains { $0.name == "finish" } }
        return request.status == .cancelled
    }

    @Test(
        "The stream gives every byte in order, and then the end, for reads of any size",
        arguments: [7, 65_536, 1 << 20])
    func whole(size: Int) async throws {
        let request = await session(chunks(body)).streamRequest(url)
        let (read, more) = try await reading(request) { stream in
            #expect(stream.streamStatus == .notOpen && stream.read(by: 1).last == -1)
            stream.open()
            #expect(stream.hasBytesAvailable && stream.streamStatus == .open)
            let read = stream.read(by: size)
            #expect(stream.streamStatus == .atEnd && stream.streamError == nil && !stream.hasBytesAvailable)
            return (read, stream.read(by: size).last)
        }
        #expect(read.bytes == body)
        #expect(read.last == 0 && more == 0)
    }

    @Test("A reader that takes nothing stops the peer")
    func backpressure() async throws {
        let received = ByteCounter()
        let (size, buffer) = (10_000, 40_000)
        let answer = StubAnswer.response(chunks: Array(repeating: Data(count: size), count: 500))
        let request = await session(answer, monitors: [received]).streamRequest(url, bufferSize: buffer)
        let total = try await reading(request) { stream in
            stream.open()
            var total = 0
            while case let count = stream.read(by: size, times: 1).bytes.count, count > 0 {
                total += count
                // The stream's own buffer has 256 KiB.
                #expect(received.value - total <= buffer + 256 * 1_024 + 3 * size)
            }
            return total
        }
        #expect(total == 500 * size)
    }

    @Test("The stream of a body that fails gives the received bytes, and then the error")
    func broken() async throws {
        let answer = StubAnswer(chunks(body).steps + [.fail(TransportError(.connectionLost))])
        let request = await session(answer).streamRequest(url)
        let (read, again, error) = try await reading(request) { stream in
            stream.open()
            return (stream.read(by: 10_000), stream.read(by: 1), stream.streamError)
        }
        #expect(read.bytes == body)
        #expect(read.last == -1 && again.last == -1)
        #expect((error as? RequestError)?.code == .connectionLost)
    }

    @Test("A cancelled request ends a read that waits")
    func cancelled() async throws {
        let request = await session(StubAnswer(chunks(Data([7])).steps + [.stall])).streamRequest(url)
        let (isReading, wait) = AsyncStream.makeStream(of: Void.self)
        async let outcome = reading(request) { stream in
            stream.open()
            let first = stream.read(by: 1, times: 1)
            wait.finish()
            return (first.bytes, stream.read(by: 1).last, stream.streamError)
        }
        for await _ in isReading {}
        request.cancel()
        let (bytes, last, error) = try await outcome
        #expect(bytes == Data([7]) && last == -1)
        #expect(error is CancellationError)
    }

    @Test("Closing or releasing the stream ends the transfer", arguments: [true, false])
    func left(isClosed: Bool) async throws {
        let request = await session(StubAnswer(chunks(Data([7])).steps + [.stall])).streamRequest(url)
        try await reading(request) { stream in
            stream.open()
            #expect(stream.read(by: 1, times: 1).last == 1)
            guard isClosed else { return }
            stream.close()
            #expect(stream.streamStatus == .closed && stream.read(by: 1).last == -1)
        }
        #expect(await isCancelled(request))
    }

    @Test("A stream that is never opened leaves the request to other readers")
    func unopened() async throws {
        let request = await session(chunks(body)).streamRequest(url)
        try await reading(request) { $0.close() }
        #expect(request.status == .initialized)
        #expect(
            try await reading(request) { stream in
                stream.open()
                return stream.read(by: 65_536).bytes
            } == body)
    }

    @Test("Foundation's decoders and the bodies of other requests can read the stream")
    func readers() async throws {
        let json = await session(chunks(Data(#"{"name": "Ada"}"#.utf8), of: 3)).streamRequest(url)
        let name = try await reading(json) { stream in
            stream.open()
            return (try JSONSerialization.jsonObject(with: stream) as? [String: Any])?["name"] as? String
        }
        #expect(name == "Ada")
        let request = await session(chunks(body)).streamRequest(url)
        #expect(try await TransportBody.inputStream(request.asInputStream()).pulled() == [UInt8](body))
    }
}

extension InputStream {
    /// Reads until a read gives nothing, or so many times: the bytes, and what the last read said.
    fileprivate func read(by size: Int, times: Int = .max) -> (bytes: Data, last: Int) {
        var (all, buffer, last, left) = (Data(), [UInt8](repeating: 0, count: size), 0, times)
        repeat {
            last = read(&buffer, maxLength: size)
            if last > 0 { all += buffer[..<last] }
            left -= 1
        } while last > 0 && left > 0
        return (all, last)
    }
}
