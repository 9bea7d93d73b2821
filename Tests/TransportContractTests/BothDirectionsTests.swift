#if os(Linux)
    import CLarkspur
    import CTestWidth
    import Larkspur
    import TestSupport
    import Testing

    @testable import LarkspurCurl

    /// Requests whose response comes while their body is still being sent (T30).
    @Suite("Both directions at once", .limited)
    struct BothDirectionsTests {
        private static let versions: [HTTPVersionChoice] =
            clarkspur_curl_load() == nil && CurlLibrary.current.hasHTTP2 ? [.http1, .http2] : [.http1]

        @Test("T30: the response is delivered while the request's body is being sent", arguments: versions)
        func echo(version: HTTPVersionChoice) async throws {
            let peer = try WirePeer { wire in
                let talk = try Talk(wire, version)
                try talk.sendHead()
                while let piece = try talk.receive() { try talk.send(piece) }
                try talk.end()
                try wire.drain()
            }
            let (stream, trace) = try Self.start(peer, version)
            _ = try await trace.wait { !$0.heads.isEmpty }
            for number in 1...20 {
                stream.add([UInt8](repeating: UInt8(number), count: 100))
                let state = try await trace.wait { $0.bodyCount >= 100 * number }
                #expect(!state.isCompleted)
            }
            stream.finish()
            let state = try await trace.wait { $0.isCompleted && $0.depth == 0 }
            #expect(state.isSuccess)
            #expect(state.body == (1...20).flatMap { [UInt8](repeating: UInt8($0), count: 100) })
            #expect(state.audit() == [])
        }

        @Test("T30: a complete response below 300 leaves the body to the user, who may finish it", arguments: versions)
        func earlyAnswer(version: HTTPVersionChoice) async throws {
            let received = Observed<[UInt8]>([])
            let peer = try WirePeer { wire in
                let talk = try Talk(wire, version)
                try talk.sendHead(hasLength: true)
                try talk.send(Array("ok".utf8))
                try talk.end()
                while let piece = try talk.receive() { received.change { $0 += piece } }
                received.change { $0 += [0xFF] }
                try wire.drain()
            }
            let (stream, trace) = try Self.start(peer, version)
            _ = try await trace.wait { $0.bodyCount == 2 }
            stream.add(.pattern(100))
            try await received.wait { $0.count == 100 }
            #expect(!trace.recorded.isCompleted)
            stream.finish()
            let state = try await trace.wait { $0.isCompleted && $0.depth == 0 }
            #expect(state.isSuccess)
            try await received.wait { $0.last == 0xFF }
            #expect(state.audit() == [])
        }

        @Test("T30: after a final head from 300 on, the rest of the body is not sent", arguments: versions)
        func refusal(version: HTTPVersionChoice) async throws {
            // The response sometimes comes before libcurl asks for more of the body, and sometimes afterwards.
            for _ in 0..<test_rounds(30, 100) { try await refuse(version) }
        }

        private func refuse(_ version: HTTPVersionChoice) async throws {
            let peer = try WirePeer { wire in
                let talk = try Talk(wire, version)
                _ = try talk.receive()  // the body has begun
                try talk.sendHead(isRefusal: true)
                try talk.send(Array("no".utf8))
                try talk.end()
                try wire.drain()
            }
            let (stream, trace) = try Self.start(peer, version)
            stream.add(.pattern(100))
            let state = try await trace.wait { $0.isCompleted && $0.depth == 0 }
            #expect(state.heads.map(\.status) == [400])
            #expect(state.body == Array("no".utf8))
            #expect(state.isSuccess)
            #expect(stream.timesEnded == 1)
            #expect(state.audit() == [])
        }

        @Test("T30: a paused response does not stop the request's body", arguments: versions)
        func pausedResponse(version: HTTPVersionChoice) async throws {
            let received = Observed(0)
            let peer = try WirePeer { wire in
                let talk = try Talk(wire, version)
                try talk.sendHead()
                try talk.send(.pattern(10_000))
                while let piece = try talk.receive() { received.change { $0 += piece.count } }
                try talk.end()
                try wire.drain()
            }
            let (stream, trace) = try Self.start(peer, version, allowance: 0)
            _ = try await trace.wait { !$0.heads.isEmpty }
            for number in 1...10 {
                stream.add(.pattern(1_000))
                try await received.wait { $0 == 1_000 * number }
            }
            #expect(trace.recorded.bodyCount == 0)
            stream.finish()
            trace.task.allow(upTo: .max)
            let state = try await trace.wait { $0.isCompleted && $0.depth == 0 }
            #expect(state.isSuccess)
            #expect(state.body == .pattern(10_000))
            #expect(state.audit() == [])
        }

        @Test("T30: a cancel while both bodies are under way ends the task and the body's stream", arguments: versions)
        func cancel(version: HTTPVersionChoice) async throws {
            let peer = try WirePeer { wire in
                let talk = try Talk(wire, version)
                try talk.sendHead()
                while let piece = try talk.receive() { try talk.send(piece) }
            }
            let (stream, trace) = try Self.start(peer, version)
            stream.add(.pattern(10))
            _ = try await trace.wait { $0.bodyCount == 10 }
            trace.task.cancel()
            let state = try await trace.wait { $0.isCompleted && $0.depth == 0 }
            #expect(state.failure == .cancelled)
            #expect(stream.timesEnded == 1)
            #expect(state.audit() == [])
        }

        // MARK: Parts

        private struct Running {
            let task: any TransportTask
            let delegate: RecordingDelegate
            var recorded: Trace { delegate.recorded }

            func wait(until isReached: @escaping @Sendable (Trace) -> Bool) async throws -> Trace {
                try await delegate.wait(until: isReached)
            }
        }

        private static func start(
            _ peer: WirePeer, _ version: HTTPVersionChoice, allowance: UInt64 = .max
        ) throws -> (TestStream, Running) {
            let stream = TestStream()
            let source = TransportBodySource(length: nil, isReplayable: false) { stream }
            var request = TransportRequest(
                method: "POST", url: try RequestURL(peer.url + "/"), body: .stream(source), initialAllowance: allowance)
            request.version = version
            request.timeouts = .long
            let delegate = RecordingDelegate()
            let task = CurlTransport().task(for: request, id: TransportTaskID(1), delegate: delegate)
            task.resume()
            return (stream, Running(task: task, delegate: delegate))
        }
    }

    /// The server's side of one exchange with HTTP/1.1 chunks or HTTP/2 frames.
    private final class Talk {
        private let wire: Wire
        private let stream: UInt32?

        init(_ wire: Wire, _ version: HTTPVersionChoice) throws {
            self.wire = wire
            if version == .http2 {
                try wire.beginHTTP2()
                stream = try wire.request()
            } else {
                try wire.head()
                stream = nil
            }
        }

        /// - Parameter hasLength: Whether the head over HTTP/2 has a length, of two bytes.
        func sendHead(isRefusal: Bool = false, hasLength: Bool = false) throws {
            if let stream {
                // The entries 8 and 12 of HPACK's table are the statuses 200 and 400, entry 28 is `content-length`.
                let status: UInt8 = isRefusal ? 0x8C : 0x88
                let length: [UInt8] = hasLength ? [0x0F, 0x0D, 0x01, UInt8(ascii: "2")] : []
                return try wire.send(HTTP2.frame(.headers, flags: HTTP2.endHeaders, stream: stream, [status] + length))
            }
            let status = isRefusal ? "400 Bad Request" : "200 OK"
            try wire.send("HTTP/1.1 \(status)\r\nTransfer-Encoding: chunked\r\n\r\n")
        }

        func send(_ bytes: [UInt8]) throws {
            if let stream { return try wire.send(HTTP2.frame(.data, stream: stream, bytes)) }
            try wire.send(Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8))
        }

        func end() throws {
            if let stream { return try wire.send(HTTP2.frame(.data, flags: HTTP2.endStream, stream: stream)) }
            try wire.send("0\r\n\r\n")
        }

        /// Returns the next piece of the request's body; nil at its end.
        func receive() throws -> [UInt8]? {
            guard stream != nil else {
                var line: [UInt8] = []
                while line.last != 0x0A { line += try wire.take(1) }
                let size = Int(String(decoding: line.dropLast(2), as: UTF8.self), radix: 16) ?? 0
                let piece = try wire.take(size)
                _ = try wire.take(2)
                return size == 0 ? nil : piece
            }
            while true {
                let head = try wire.take(9)
                let payload = try wire.take(Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2]))
                guard head[3] == HTTP2.Kind.data.rawValue else { continue }
                if !payload.isEmpty { return payload }
                if head[4] & HTTP2.endStream != 0 { return nil }
            }
        }
    }
#endif
