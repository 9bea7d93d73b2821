import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

/// Bugs of bodies and of how they are sent, one test each.
@Suite("Regressions of bodies", .limited)
struct BodyRegressions {
    /// Bytes without end, from code that does not look whether its task is cancelled.
    private struct Endless: AsyncSequence, AsyncIteratorProtocol, Sendable {
        let pulls: Counter
        let probe: ReleaseProbe

        func makeAsyncIterator() -> Endless { self }

        mutating func next() async -> UInt8? {
            if pulls.increment() % 64 == 0 { await Task.yield() }
            return 1
        }
    }

    @Test("A sequence of bytes is released once its body is not read any more", arguments: [nil, 10] as [UInt64?])
    func endlessBytes(length: UInt64?) async {
        let (pulls, released) = (Counter(), Gate())
        do {
            let sequence = Endless(pulls: pulls, probe: ReleaseProbe(opening: released))
            let stream = TransportBody.sequence(sequence, length: length).open()
            stream.begin {}
            await pulls.reached(11)
            stream.end()
        }
        await released.pass()
    }

    /// A clock without pauses that counts them.
    private struct RestlessClock: Clock {
        let pauses: Counter
        var now: ContinuousClock.Instant { ContinuousClock.now }
        var minimumResolution: Duration { .zero }

        func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
            pauses.increment()
            await Task.yield()
        }
    }

    @Test("A throttled body that is not read makes no pause")
    func restlessPauses() async {
        let pauses = Counter()
        let body = TransportBody.data(Data(count: 10))
            .throttled(packetSize: 5, pause: .zero, clock: RestlessClock(pauses: pauses))
        let stream = body.open()
        stream.begin {}
        for _ in 0..<50 { await Task.yield() }
        #expect(pauses.value == 0)
        stream.end()
    }

    @Test("A part of a form without a body from its encoder is an error, not an empty part")
    func bodilessPart() {
        var form = MultipartFormData()
        form.append(encoding: ["a": 1], name: "n", encoder: .urlEncodedForm(destination: .queryString))
        #expect { try form.body() } throws: { ($0 as? RequestError)?.code == .encodingFailed }
    }

    @Test("A server's refusal of an expectation is no redirect")
    func refusalsAndRedirects() async throws {
        let transport = StubTransport { request in
            if HTTPHeaders(request.fields)["Expect"] != nil { return .text("", status: 417) }
            return request.url.path == "/a" ? .redirect(307, to: "/b") : .text("there")
        }
        var request = OutgoingRequest(method: .put, url: try RequestURL("http://h/a"), body: .data(Data("x".utf8)))
        request.options.expectsContinueFrom = 1
        request.options.redirects = .follow(limit: 1)
        let recorder = EventRecorder()
        let session = Session(transport: transport, eventMonitors: [recorder])
        let upload = await session.request(request)
        let response = await upload.serializingString().response
        #expect(response.value == "there")
        #expect(response.redirects.map { $0.head?.status } == [307])
        await recorder.wait { events in events.contains { $0.name == "finish" } }
        #expect(recorder.names(of: upload).count { $0 == "redirect" } == 1)
    }
}

#if os(Linux)
    extension BodyRegressions {
        private static let expecting = SessionConfiguration { $0.options.expectsContinueFrom = 1 }

        @Test(
            "A server that knows no expectations gets the request twice, and its second answer counts",
            arguments: [1_000, 5_000_000], [0, 100])
        func unknownExpectation(size: Int, read: UInt64) async throws {
            let server = try MockServer { _ in .text("") }
            let session = Session(configuration: Self.expecting)
            let data = Data(count: size)
            for body in [TransportBody.data(data), .sequence(length: UInt64(size)) { Pieces(elements: [data]) }] {
                server.on("POST", "/", reading: .upTo(read), .text("no", status: 417), .text("yes"), .text("again"))
                let before = server.requests.count
                let request = await session.upload(body, to: server.url)
                #expect(try await request.serializingString().value == "yes")
                #expect(server.requests.dropFirst(before).map { $0.headers["Expect"] } == ["100-continue", nil])
                #expect(request.attempts.map { $0.hops.map { $0.head?.status } } == [[417, 200]])
            }
        }

        @Test("A body that can be sent once is not sent to a server that refuses its expectation", arguments: [0, 7])
        func refusedOnce(length: Int) async throws {
            let server = try MockServer { _ in .text("") }
            server.on(
                "POST", "/", reading: .upTo(0),
                .response(417, chunks: [Data(count: length)], framing: .length(UInt64(length))), .text("sent again"))
            let body = TransportBody.sequence(Pieces(elements: [Data(count: 100)]), length: 100)
            let request = await Session(configuration: Self.expecting).upload(body, to: server.url)
            let response = await request.serializingData().response
            #expect(server.requests.count == 1)
            #expect(request.attempts.map { $0.hops.map { $0.head?.status } } == [[417]])
            #expect(response.error?.code == (length == 0 ? nil : .truncated))
        }

        @Test("After a server that knows no expectations, others are still waited for")
        func waitsAgain() async throws {
            let server = try MockServer { .text("\($0.bodyCount)") }
            server.on("POST", "/no", reading: .upTo(0), .text("no", status: 417), .text("yes"))
            server.on("POST", "/full", reading: .upTo(0), .text("too large", status: 413))
            let session = Session(configuration: Self.expecting)
            _ = try await session.upload(Data(count: 1_000), to: server.url + "/no").serializingString().value
            for size in [1_000, 5_000_000] {
                let request = await session.upload(Data(count: size), to: server.url + "/full")
                let progress = Journal()
                request.uploadProgress { progress.note("\($0)") }
                #expect(try await request.serializingString().value == "too large")
                #expect(request.metrics?.requestBodyBytes == 0)
                #expect(progress.lines.isEmpty)
            }
        }

        @Test("A body in chunks goes to a peer that answered in HTTP/1.0 and kept the connection")
        func oldPeer() async throws {
            let head = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"
            let server = try MockServer { _ in MockResponse([.raw(Data(head.utf8))]) }
            let session = Session()
            for _ in 0..<3 {
                let body = TransportBody.sequence(Pieces(elements: [Data("abc".utf8)]))
                #expect(try await session.upload(body, to: server.url).serializingString().value == "ok")
            }
            #expect(server.requests.map(\.bodyCount) == [3, 3, 3])
        }
    }
#endif
