#if os(Linux)
    import CTestWidth
    import Foundation
    import TestSupport
    import Testing

    import Larkspur
    @testable import LarkspurCore
    @testable import LarkspurWebSocket
    @testable import LarkspurURLSession

    /// Single hops over a fake in place of the platform's WebSocket.
    @Suite("Hops over a WebSocket of URLSession", .limited)
    struct PlatformSocketHopTests {
        private struct Hop {
            let network: FakeNetwork
            let transport: URLSessionTransport
            let stream: TestStream
            let delegate: RecordingDelegate
            let task: any TransportTask

            init(
                _ server: FakeSocket.Server = FakeSocket.Server(), allowance: UInt64 = .max,
                timeouts: TransportTimeouts = .long, clock: EngineClock? = nil,
                delegate: RecordingDelegate = RecordingDelegate(), _ change: (inout TransportRequest) -> Void = { _ in }
            ) throws {
                network = FakeNetwork(server)
                transport = network.makeTransport(clock: clock)
                let stream = TestStream()
                self.stream = stream
                self.delegate = delegate
                var request = TransportRequest(
                    url: try RequestURL("http://chat.example/"),
                    body: .stream(TransportBodySource(length: nil, isReplayable: true) { stream }),
                    initialAllowance: allowance)
                request.upgrades = true
                request.timeouts = timeouts
                request.version = .http1
                request.translator = { WebSocketTranslator(key: "key", maximumMessageSize: 1 << 20) }
                change(&request)
                task = transport.task(for: request, id: TransportTaskID(1), delegate: delegate)
                delegate.steer(task)
            }

            func finished() async throws -> Trace {
                let trace = try await delegate.wait { $0.isCompleted && $0.depth == 0 }
                #expect(trace.audit() == [])
                return trace
            }
        }

        /// Returns the client's frames, masked and in fragments of this size.
        private static func frames(_ opcode: UInt8, _ payload: [UInt8], by size: Int) -> [UInt8] {
            var bytes: [UInt8] = []
            for start in stride(from: 0, to: max(1, payload.count), by: size) {
                let piece = payload[start..<min(start + size, payload.count)]
                let isLast = start + size >= payload.count
                bytes += [(isLast ? 0x80 : 0) | (start == 0 ? opcode : 0), 0x80 | UInt8(piece.count), 1, 2, 3, 4]
                bytes += piece.enumerated().map { $1 ^ UInt8($0 % 4 + 1) }
            }
            return bytes
        }

        private static func text(_ text: String) -> [UInt8] { frames(1, Array(text.utf8), by: 125) }

        @Test("T26: fragments of the client become one message, although the bytes come one by one")
        func fragments() async throws {
            let hop = try Hop(.echo)
            hop.task.resume()
            let payload = Array("Grüße in fragments".utf8)
            var bytes = Self.frames(1, payload, by: 3)
            bytes += Self.frames(2, [], by: 1) + Self.frames(9, [7], by: 9) + Self.frames(10, [8], by: 9)
            for byte in bytes { hop.stream.add([byte]) }
            let socket = try await hop.network.socket()
            let log = try await socket.log.wait { $0.sent.count == 2 && $0.pings == 1 }
            #expect(log.sent == [.text("Grüße in fragments"), .data(Data())])
            let expected = [0x81, UInt8(payload.count)] + payload + [0x82, 0, 0x8A, 1, 7]
            try await hop.delegate.wait { $0.bodyCount == expected.count }
            #expect(Set(hop.delegate.recorded.body.array) == Set(expected))
            hop.stream.finish()
            let trace = try await hop.finished()
            #expect(trace.isSuccess)
            #expect(trace.sent == [])
            #expect(trace.metrics.first?.requestBodyBytes == UInt64(bytes.count))
            #expect(trace.heads.map(\.status) == [101])
            #expect(hop.stream.timesEnded == 1)
        }

        @Test("T26: the end of the body sends the rest first, and then ends the connection")
        func endOfBody() async throws {
            let hop = try Hop(
                .init(start: { socket in
                    socket.holdSends(true)
                    socket.open()
                }))
            hop.task.resume()
            for number in 0..<10 { hop.stream.add(Self.text("\(number)")) }
            hop.stream.finish()
            let socket = try await hop.network.socket()
            try await socket.log.wait { $0.sent.count == 1 }
            #expect(!hop.delegate.recorded.isCompleted)
            socket.holdSends(false)
            #expect(try await hop.finished().isSuccess)
            let log = try await socket.log.wait { $0.cancels == 1 }
            #expect(log.sent == (0..<10).map { .text("\($0)") })

            // After a close, a cancel could overtake it.
            let closing = try Hop(.init(answersClose: false))
            closing.task.resume()
            closing.stream.add(Self.frames(8, [0x03, 0xE8], by: 9))
            closing.stream.finish()
            #expect(try await closing.finished().isSuccess)
            closing.transport.commands.sync {}
            #expect(try await closing.network.socket().log.value.closes == [.close(code: 1000, reason: "")])
            #expect(try await closing.network.socket().log.value.cancels == 0)
        }

        @Test("T26: after the server's close, unsent messages are dropped, and an error of the task is no failure")
        func afterClose() async throws {
            let hop = try Hop(
                .init(start: { socket in
                    socket.holdSends(true)
                    socket.open()
                }))
            hop.task.resume()
            hop.stream.add(Self.text("one") + Self.text("two"))
            let socket = try await hop.network.socket()
            try await socket.log.wait { $0.sent.count == 1 }
            try #require(hop.task as? URLSessionHop).didClose(1000, "")
            hop.stream.finish()
            #expect(try await hop.finished().isSuccess)
            #expect(socket.log.value.sent == [.text("one")])
            #expect(socket.log.value.cancels == 0)

            let ending = try Hop()
            ending.task.resume()
            try await ending.delegate.wait { !$0.heads.isEmpty }
            try #require(ending.task as? URLSessionHop).didClose(4000, "")
            try await ending.network.socket().complete(FakeSocket.notConnected)
            let trace = try await ending.finished()
            #expect(trace.isSuccess)
            #expect(trace.body == [0x88, 2, 0x0F, 0xA0])
        }

        @Test("T26: bytes that are no frames, and a stream that fails, end the hop with bodyFailed (T24)")
        func brokenBody() async throws {
            for bytes in [[0x81, 0x01, 0x41], nil] as [[UInt8]?] {
                let hop = try Hop()
                hop.task.resume()
                if let bytes { hop.stream.add(bytes) } else { hop.stream.finish(TransportError(.other, "no more")) }
                #expect(try await hop.finished().failure == .bodyFailed)
                #expect(try await hop.network.socket().log.wait { $0.cancels == 1 }.sent == [])
            }
        }

        @Test("T26: only as many messages are received as the allowance demands, and none while suspended (T15, T16)")
        func flow() async throws {
            let hop = try Hop(
                .init(start: { socket in
                    socket.open()
                    for _ in 0..<100 { socket.push(.data(Data(count: 98))) }  // frames of 100 bytes
                }), allowance: 950)
            hop.task.resume()
            let socket = try await hop.network.socket()
            try await hop.delegate.wait { $0.bodyCount == 1_000 }
            hop.transport.commands.sync {}
            #expect(socket.log.value.receives == 10)
            hop.task.suspend()
            hop.task.allow(upTo: .max)
            hop.transport.commands.sync {}
            #expect(socket.log.value.receives == 10)
            hop.stream.add(Self.text("late"))
            hop.transport.commands.sync {}
            #expect(socket.log.value.sent == [])
            hop.task.resume()
            try await hop.delegate.wait { $0.bodyCount == 10_000 }
            try await socket.log.wait { $0.sent == [.text("late")] }
            socket.sendClose(1000, "")
            #expect(try await hop.finished().isSuccess)
            #expect(socket.log.value.faults == [])
        }

        @Test("T26: a large message is delivered in pieces, and the allowance holds them back (T16)")
        func pieces() async throws {
            let hop = try Hop(
                .init(start: { socket in
                    socket.open()
                    socket.push(.data(Data([UInt8].pattern(1_000_000))))
                    socket.push(.text("x"))
                    socket.sendClose(1000, "")
                }), allowance: 1)
            hop.task.resume()
            try await hop.delegate.wait { $0.bodyCount > 0 }
            #expect(hop.delegate.recorded.chunks.count == 1)
            #expect(hop.delegate.recorded.bodyCount == HopState.maximumPiece)
            hop.task.allow(upTo: .max)
            let trace = try await hop.finished()
            #expect(trace.body.array.suffix(7) == [0x81, 1, 0x78, 0x88, 2, 0x03, 0xE8])
            #expect(trace.body.count == 1_000_000 + 10 + 7)
        }

        @Test("T26: another status is the response, without a body, and the stream is not opened")
        func refused() async throws {
            let hop = try Hop(
                .init(start: { $0.refuse(401, fields: ["Www-Authenticate": "Basic", "Content-Length": "9"]) }))
            hop.task.resume()
            let trace = try await hop.finished()
            #expect(trace.isSuccess)
            #expect(trace.heads.map(\.status) == [401])
            #expect(trace.heads.first?["WWW-Authenticate"] == "Basic")
            #expect(trace.body == [])
            #expect(hop.stream.timesBegun == 0)
        }

        @Test("T26: other protocols, and a platform without WebSockets, are unavailable, and nothing is sent")
        func unavailable() async throws {
            let foreign = try Hop { $0.translator = nil }
            foreign.task.resume()
            #expect(try await foreign.finished().failure == .unavailable)
            #expect(foreign.network.sockets.value.isEmpty)
            #expect(foreign.transport.capabilities == .webSockets)

            let transport = URLSessionTransport()
            #expect(!transport.capabilities.contains(.webSockets))
            let delegate = RecordingDelegate()
            var request = TransportRequest(url: try RequestURL("http://chat.example/"))
            request.upgrades = true
            request.translator = { WebSocketTranslator(key: "key", maximumMessageSize: 1) }
            transport.task(for: request, id: TransportTaskID(1), delegate: delegate).resume()
            #expect(try await delegate.wait { $0.isCompleted }.failure == .unavailable)
        }

        @Test("T26: the timeouts apply until the head, and not after it; invalidate() ends an open connection (T22)")
        func timeouts() async throws {
            let clock = EngineClock()
            let silent = FakeSocket.Server(start: { _ in })
            let waiting = try Hop(silent, timeouts: .only { $0.firstByte = .days(1) }, clock: clock)
            waiting.task.resume()
            let socket = try await waiting.network.socket()
            #expect(try await clock.pass(.days(1), of: waiting.delegate) {}.failure == .timedOut)
            try await socket.log.wait { $0.cancels == 1 }

            let all = TransportTimeouts.only { ($0.firstByte, $0.total, $0.idle) = (.days(2), .days(2), .days(2)) }
            let open = try Hop(silent, timeouts: all, clock: clock)
            open.task.resume()
            let server = try await open.network.socket()
            let hop = try #require(open.task as? URLSessionHop)
            #expect(hop.box.withLock { $0.deadline } != nil)
            server.open()
            try await open.delegate.wait { !$0.heads.isEmpty }
            #expect(hop.box.withLock { $0.deadline } == nil)
            // Another hop with a longer timeout, which passes, shows that the time has passed.
            let later = try Hop(silent, timeouts: .only { $0.firstByte = .days(3) }, clock: clock)
            later.task.resume()
            #expect(try await clock.pass(.days(3), of: later.delegate) {}.failure == .timedOut)
            #expect(!open.delegate.recorded.isCompleted)
            open.transport.invalidate()
            #expect(try await open.finished().failure == .invalidated)
            #expect(try await open.network.socket().log.wait { $0.cancels == 1 }.cancels == 1)
        }

        @Test("T26: a cancel at any moment ends the task once, and releases the hop and its delegate (T13, T21)")
        func cancels() async throws {
            let servers: [FakeSocket.Server] = [
                .init(start: { socket in
                    socket.open()
                    for _ in 0..<5 { socket.push(.text("message")) }
                    socket.sendClose(1000, "bye")
                }),
                .init(start: { socket in
                    socket.open()
                    socket.failReceive(POSIXError(.ECONNRESET))
                }),
                .init(start: { $0.refuse(503) }), .echo,
            ]
            for round in 0..<test_rounds(400, 8_000) {
                let released = Gate()
                try await cancel(servers[Int(round) % servers.count], after: Int(round) % 37, released)
                try await released.opened()
            }
        }

        private func cancel(_ server: FakeSocket.Server, after pause: Int, _ released: Gate) async throws {
            let hop = try Hop(server, delegate: RecordingDelegate(released: released))
            hop.task.resume()
            hop.stream.add(Self.text("one") + Self.text("two"))
            for _ in 0..<pause { await Task.yield() }
            hop.task.cancel()
            let trace = try await hop.finished()
            #expect([nil, .cancelled, .connectionLost].contains(trace.failure))
            // The stream may end after the hop, on a thread of the platform or by a read that is running.
            hop.network.sockets.value.first?.settle()
            hop.transport.commands.sync {}
            #expect(hop.stream.timesEnded >= hop.stream.timesBegun)
            #expect(hop.stream.timesEnded <= 1)
        }

        @Test("A hop that is cancelled before its start asks for no WebSocket (T12)")
        func cancelledFirst() async throws {
            let hop = try Hop()
            hop.task.cancel()
            hop.task.resume()
            #expect(try await hop.delegate.wait { $0.isCompleted }.failure == .cancelled)
            #expect(hop.network.sockets.value.isEmpty)
        }
    }
#endif
