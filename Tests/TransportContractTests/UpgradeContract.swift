#if os(Linux)
    import CTestWidth
    import Foundation
    import Larkspur
    import TestSupport
    import Testing

    /// Upgrades over libcurl, against a server that plays each byte.
    @Suite("Upgrades", .limited)
    struct UpgradeContract {
        private static let switching = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"

        /// A task that asks for an upgrade, and its delegate.
        private struct Upgrade {
            let transport: CurlTransport
            let task: any TransportTask
            let delegate: RecordingDelegate

            init(
                _ peer: WirePeer, url: String? = nil, _ stream: any TransportBodyStream = TestStream(),
                allowance: UInt64 = .max, transport: CurlTransport = CurlTransport(),
                delegate: RecordingDelegate = RecordingDelegate(), timeouts: TransportTimeouts = .long
            ) throws {
                self.transport = transport
                var request = TransportRequest(
                    url: try RequestURL(url ?? peer.url + "/socket?a=b"),
                    fields: [
                        HTTPHeader(name: "Upgrade", value: "x"), HTTPHeader(name: "Connection", value: "Upgrade"),
                        HTTPHeader(name: "X-Odd", value: ""),
                    ], body: .stream(TransportBodySource(length: nil, isReplayable: true) { stream }),
                    initialAllowance: allowance)
                request.upgrades = true
                request.timeouts = timeouts
                self.delegate = delegate
                task = transport.task(for: request, id: TransportTaskID(1), delegate: delegate)
                delegate.steer(task)
            }

            @discardableResult
            func run() async throws -> Trace {
                task.resume()
                return try await finished()
            }

            @discardableResult
            func finished() async throws -> Trace {
                let trace = try await delegate.wait { $0.isCompleted && $0.depth == 0 }
                #expect(trace.audit() == [])
                return trace
            }
        }

        @Test("T26: the request is sent as given, without a body, and after a 101 bytes flow both ways at once")
        func bothWays() async throws {
            let body = [UInt8].pattern(3_000_000)
            let peer = try WirePeer { wire in
                try wire.head()
                try wire.send(Self.switching)
                for start in stride(from: 0, to: body.count, by: 300_000) {
                    try wire.send(Array(body[start..<(start + 300_000)]))
                    let echo = try wire.take(300_000)
                    guard echo == Array(body[start..<(start + 300_000)]) else { return wire.reset() }
                }
            }
            let stream = TestStream()
            stream.add(body)
            let upgrade = try Upgrade(peer, stream)
            let trace = try await upgrade.run()
            #expect(trace.heads.map(\.status) == [101])
            #expect(trace.heads.first?["Upgrade"] == "x")
            #expect(trace.body == body)
            #expect(trace.isSuccess)
            #expect(trace.sent == [])
            #expect(stream.timesEnded == 1)
            #expect(trace.metrics.first?.responseBodyBytes == UInt64(body.count))
            #expect(trace.metrics.first?.requestBodyBytes == UInt64(body.count))
            let port = peer.port
            #expect(
                peer.heads == [
                    "GET /socket?a=b HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nUpgrade: x\r\nConnection: Upgrade\r\nX-Odd: \r\n\r\n"
                ])
        }

        @Test("T26: bytes that come with the head, and a head byte by byte, are taken apart correctly")
        func gluedBytes() async throws {
            let glued = try WirePeer { wire in
                try wire.head()
                try wire.send("HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n" + Self.switching + "first")
                try wire.end()
            }
            #expect(try await Upgrade(glued).run().body == Array("first".utf8))
            let slow = try WirePeer { wire in
                try wire.head()
                for byte in (Self.switching + "z").utf8 { try wire.send([byte]) }
                try wire.end()
            }
            let trace = try await Upgrade(slow).run()
            #expect(trace.heads.map(\.status) == [101])
            #expect(trace.body == Array("z".utf8))
        }

        @Test(
            "T26: another status is delivered as for any other request, and the body is not opened",
            arguments: [
                ("HTTP/1.1 401 No\r\nContent-Length: 4\r\n\r\nwhat", "what"),
                ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "abcde"),
                ("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", ""),
                ("HTTP/1.1 426 Upgrade Required\r\n\r\nuntil the end", "until the end"),
                ("HTTP/1.1 204 No Content\r\n\r\n", ""),
            ])
        func refusal(_ response: String, _ body: String) async throws {
            let peer = try WirePeer { wire in
                try wire.head()
                try wire.send(response)
                try wire.end()
            }
            let stream = TestStream()
            let trace = try await Upgrade(peer, stream).run()
            #expect(trace.isSuccess)
            #expect(trace.body == Array(body.utf8))
            #expect(stream.timesBegun == 0)
        }

        @Test(
            "T26: a broken response is an error",
            arguments: [
                ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", TransportError.Code.truncated),
                ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", .protocolViolation),
                ("HTTP/1.1 10", .connectionLost), ("", .connectionLost),
                ("garbage\r\n\r\n", .protocolViolation),
            ])
        func broken(_ response: String, _ code: TransportError.Code) async throws {
            let peer = try WirePeer { wire in
                try wire.head()
                try wire.send(response)
                try wire.end()
            }
            #expect(try await Upgrade(peer).run().failure == code)
        }

        @Test("T26: the end of the body sends the rest and closes; a failed body and a reset are errors")
        func ends() async throws {
            let received = Observed<[UInt8]>([])
            let peer = try WirePeer { wire in
                try wire.head()
                try wire.send(Self.switching)
                let bytes = try wire.take(5)
                try? wire.drain()  // returns when the connection is closed
                received.change { $0 = bytes }
            }
            let stream = TestStream()
            stream.add(Array("hello".utf8))
            stream.finish()
            let upgrade = try Upgrade(peer, stream)
            #expect(try await upgrade.run().isSuccess)
            // The connection is closed although its transport still exists.
            try await received.wait { $0 == Array("hello".utf8) }
            withExtendedLifetime(upgrade) {}

            let failing = TestStream()
            failing.finish(TransportError(.other, "no more"))
            let waiting = try WirePeer { wire in
                try wire.head()
                try wire.send(Self.switching)
                try wire.drain()
            }
            #expect(try await Upgrade(waiting, failing).run().failure == .bodyFailed)

            let resetting = try WirePeer { wire in
                try wire.head()
                try wire.send(Self.switching + "x")
                _ = try wire.take(1)
                wire.reset()
            }
            let answering = TestStream()
            answering.add([1])
            let trace = try await Upgrade(resetting, answering).run()
            #expect(trace.failure == .connectionLost)
            #expect(trace.body == Array("x".utf8))
        }

        @Test("T26: allowance and suspension hold received bytes back (T15, T16)")
        func flow() async throws {
            let body = [UInt8].pattern(4_000_000)
            let peer = try WirePeer { wire in
                try wire.head()
                try wire.send(Self.switching)
                try wire.send(body)
                try wire.end()
            }
            let upgrade = try Upgrade(peer, allowance: 10)
            upgrade.task.resume()
            try await upgrade.delegate.wait { $0.bodyCount >= 10 }
            #expect(upgrade.delegate.recorded.chunks.count == 1)
            upgrade.task.suspend()
            upgrade.task.allow(upTo: .max)
            upgrade.task.resume()
            #expect(try await upgrade.finished().body == body)
        }

        @Test("T26: a suspended task reads nothing of its stream (T16)")
        func suspendedStream() async throws {
            let peer = try WirePeer { wire in
                try wire.head()
                try wire.send(Self.switching)
                try wire.send(wire.take(4))
                try wire.end()
            }
            let stream = TestStream()
            let upgrade = try Upgrade(peer, stream)
            upgrade.task.resume()
            try await upgrade.delegate.wait { !$0.heads.isEmpty }
            upgrade.task.suspend()
            stream.add(Array("late".utf8))
            // When another request of the same loop has ended, the loop has handled the news of the stream, too.
            let other = try WirePeer { wire in
                try wire.head()
                try wire.send("HTTP/1.1 204 No Content\r\n\r\n")
                try wire.end()
            }
            let delegate = RecordingDelegate()
            let request = TransportRequest(url: try RequestURL(other.url))
            let neighbour = upgrade.transport.task(for: request, id: TransportTaskID(2), delegate: delegate)
            neighbour.resume()
            try await delegate.wait { $0.isCompleted }
            #expect(stream.count == 4)
            upgrade.task.resume()
            #expect(try await upgrade.finished().body == Array("late".utf8))
        }

        @Test("T26: an HTTP proxy opens a tunnel, also to an http URL; its refusal is the proxy's failure")
        func proxied() async throws {
            for status in [200, 403] {
                let proxy = try WirePeer { wire in
                    try wire.head()
                    try wire.send("HTTP/1.1 \(status) Here\r\n\(status == 200 ? "" : "Content-Length: 0\r\n")\r\n")
                    guard status == 200 else { return try wire.end() }
                    try wire.head()
                    try wire.send(Self.switching)
                    try wire.send(wire.take(5))
                    try wire.end()
                }
                let proxies = try Proxies(Proxy(proxy.url))
                let transport = CurlTransport(configuration: .init { $0.proxies = proxies })
                let stream = TestStream()
                stream.add(Array("hello".utf8))
                let trace = try await Upgrade(proxy, url: "http://shop.example/socket", stream, transport: transport)
                    .run()
                #expect(proxy.heads.first?.hasPrefix("CONNECT shop.example:80 HTTP/1.1\r\n") == true)
                #expect(trace.body == (status == 200 ? Array("hello".utf8) : []))
                #expect(trace.failure == (status == 200 ? nil : .proxyFailed))
                #expect(proxy.heads.count == (status == 200 ? 2 : 1))
                if status == 200 { #expect(proxy.heads[1].hasPrefix("GET /socket HTTP/1.1\r\nHost: shop.example\r\n")) }
            }
        }

        @Test("T26: a cancel at any moment ends the task once, as cancelled or with its own end")
        func cancels() async throws {
            let peer = try WirePeer { wire in
                try wire.head()
                try wire.send(Self.switching + "some bytes")
                try wire.end()
            }
            let transport = CurlTransport()
            for round in 0..<test_rounds(100, 2_000) {
                let upgrade = try Upgrade(peer, transport: transport)
                upgrade.task.resume()
                for _ in 0..<(round % 40) { await Task.yield() }
                upgrade.task.cancel()
                let trace = try await upgrade.finished()
                #expect(trace.failure == .cancelled || trace.isSuccess)
            }
        }

        @Test("T26: an open connection survives other requests that start and end, also while its bytes wait")
        func neighbours() async throws {
            let configuration = CurlTransport.Configuration {
                $0.maximumIdleConnections = 1
                $0.idleLifetime = .seconds(1)
            }
            let transport = CurlTransport(configuration: configuration)
            let peer = try WirePeer { wire in
                try wire.head()
                try wire.send(Self.switching + "waiting")
                try wire.take(2) == Array("go".utf8) ? wire.send("end") : wire.reset()
                try wire.end()
            }
            let stream = TestStream()
            let upgrade = try Upgrade(peer, stream, allowance: 0, transport: transport)
            upgrade.task.resume()
            try await upgrade.delegate.wait { !$0.heads.isEmpty }
            let others = try WirePeer { wire in
                try wire.head()
                try wire.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                try wire.end()
            }
            for number in 0..<100 {
                let delegate = RecordingDelegate()
                let request = TransportRequest(url: try RequestURL(others.url))
                let other = transport.task(for: request, id: TransportTaskID(UInt64(number) + 10), delegate: delegate)
                other.resume()
                try await delegate.wait { $0.isCompleted }
            }
            stream.add(Array("go".utf8))
            upgrade.task.allow(upTo: .max)
            #expect(try await upgrade.finished().body == Array("waitingend".utf8))
        }

        @Test("T26: a peer that takes all bytes at once does not hold up the other requests of the loop")
        func fairness() async throws {
            let transport = CurlTransport(configuration: .init { $0.loops = 1 })
            let isWaiting = Gate()
            let silent = try WirePeer { wire in
                try wire.head()
                isWaiting.open()
                wire.stall()
            }
            let delegate = RecordingDelegate()
            let request = TransportRequest(url: try RequestURL(silent.url))
            let neighbour = transport.task(for: request, id: TransportTaskID(2), delegate: delegate)
            neighbour.resume()
            try await isWaiting.opened()
            // The neighbour is cancelled at the first piece. Each further piece is read after the peer has taken the
            // piece before it, so the connection can be written to all the time.
            let (size, pieces, taken) = (160 * WatchedStream.piece, 160, DispatchSemaphore(value: 0))
            let peer = try WirePeer { wire in
                try wire.head()
                try wire.send(Self.switching)
                for _ in 0..<pieces {
                    try wire.body(WatchedStream.piece)
                    taken.signal()
                }
                try wire.end()
            }
            let sentBefore = Protected<Int?>(nil)
            let stream = WatchedStream(size) { left in
                if left < size { _ = taken.wait(timeout: .now() + 10) } else { neighbour.cancel() }
                if delegate.recorded.isCompleted { sentBefore.withLock { $0 = $0 ?? (size - left) } }
            }
            let trace = try await Upgrade(peer, stream, transport: transport).run()
            #expect(trace.isSuccess)
            #expect(trace.metrics.first?.requestBodyBytes == UInt64(size))
            let sent = try #require(sentBefore.withLock { $0 }, "the cancel had to wait for the whole body")
            #expect(sent <= size / 2)
        }

        @Test("T26: the timeouts apply until the head, and not after it; invalidate() ends an open connection (T22)")
        func timeouts() async throws {
            let silent = try WirePeer { wire in
                try wire.head()
                wire.stall()
            }
            let clock = EngineClock()
            let transport = CurlTransport(clock: clock)
            let waiting = try Upgrade(silent, transport: transport, timeouts: .only { $0.firstByte = .days(1) })
            waiting.task.resume()
            try await silent.wait(forHeads: 1)
            let trace = try await clock.pass(.days(1), of: waiting.delegate) { try await transport.settle() }
            #expect(trace.failure == .timedOut)
            #expect(trace.error?.timeoutName == "first byte")

            // A hop with a longer timeout shows that the time has passed, and no other request may take the place of the
            // upgraded one in the loop until then.
            let later = try Upgrade(silent, transport: transport, timeouts: .only { $0.firstByte = .days(3) })
            later.task.resume()
            try await silent.wait(forHeads: 2)
            let open = try WirePeer { wire in
                try wire.head()
                try wire.send(Self.switching)
                wire.stall()
            }
            let all = TransportTimeouts.only { ($0.firstByte, $0.total, $0.idle) = (.days(2), .days(2), .days(2)) }
            let upgrade = try Upgrade(open, transport: transport, timeouts: all)
            upgrade.task.resume()
            try await upgrade.delegate.wait { !$0.heads.isEmpty }
            #expect(try await clock.pass(.days(3), of: later.delegate) {}.failure == .timedOut)
            #expect(!upgrade.delegate.recorded.isCompleted)
            upgrade.transport.invalidate()
            #expect(try await upgrade.finished().failure == .invalidated)
        }
    }
#endif
