import Larkspur
import TestSupport
import Testing

extension TransportContractTests {
    @Suite("Heads and bodies", .limited)
    struct Bodies {}
}

extension TransportContractTests.Bodies {
    @Test("T8: a head has every field, and the values of a repeated field in order", arguments: ContractSubject.all)
    func eachField(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let fields = [
            ("X-B", "2"), ("x-a", "1"), ("Set-Cookie", "a=1; Expires=Wed, 21 Oct 2037 07:28:00 GMT; Path=/"),
            ("X-B", "again"), ("Set-Cookie", "b=2, 3; Secure"), ("Set-Cookie", "c=4"), ("Link", "</a>; rel=next, </b>"),
        ].map { HTTPHeader(name: $0.0, value: $0.1) }
        let trace = try await stage.exchange(.response(203, fields, body: .pattern(4))).run()
        let head = try #require(trace.heads.first)
        #expect(head.status == 203)
        #expect(head.values(for: "X-B").joined(separator: ", ") == "2, again")
        #expect(head.values(for: "X-A") == ["1"] && head.values(for: "Link") == ["</a>; rel=next, </b>"])
        #expect(head.values(for: "Set-Cookie") == fields.filter { $0.name == "Set-Cookie" }.map(\.value))
        #expect(head.contentLength == 4)
        #expect(trace.audit() == [])
    }

    @Test(
        "T8: a head keeps every field: order, repeats, bytes",
        arguments: ContractSubject.all(stating: .keepsResponseFields))
    func fieldsOfTheHead(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let latin = Array("X-Latin: gr".utf8) + [0xFC] + Array("n\r\n".utf8)
        let raw =
            Array("X-B: 2\r\nx-a:1\r\nX-B: again\r\nX-Empty:\r\n".utf8) + latin + Array("X-B: 2\r\nX-UTF8: ü\r\n".utf8)
        let exchange = try stage.exchange([
            .head(PeerHead(status: 203, rawFields: raw, length: 4)), .bytes(.pattern(4)),
        ])
        let trace = try await exchange.run()
        let head = try #require(trace.heads.first)
        let expected = [
            ("X-B", "2"), ("x-a", "1"), ("X-B", "again"), ("X-Empty", ""), ("X-Latin", "grün"), ("X-B", "2"),
            ("X-UTF8", "ü"), ("Content-Length", "4"),
        ].map { HTTPHeader(name: $0.0, value: $0.1) }
        #expect(head.status == 203)
        #expect(head.fields == expected)
        #expect(head.bytes(for: "X-Latin") == [0x67, 0x72, 0xFC, 0x6E])
        #expect(head.bytes(for: "X-UTF8") == [0xC3, 0xBC])
        #expect(trace.audit() == [])
    }

    @Test("T8: a response without a body keeps the length that it declares", arguments: ContractSubject.all)
    func lengthOfTheBodiless(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let trace = try await stage.exchange([.head(length: 1_234)], method: "HEAD").run()
        #expect(trace.heads.first?.contentLength == 1_234)
        #expect(trace.bodyCount == 0)
        #expect(trace.isSuccess)
        #expect(trace.audit() == [])
    }

    @Test("T9: body bytes come in order, none lost, none twice", arguments: ContractSubject.all, [true, false])
    func order(subject: ContractSubject, isDeclared: Bool) async throws {
        let stage = try await Stage(subject)
        let body = stage.body(buffers: 40)
        let piece = body.count / 7
        let gates = (0..<4).map { _ in Gate() }
        var script: [PeerStep] = [.head(length: isDeclared ? body.count : nil)]
        for start in stride(from: 0, to: body.count, by: piece) {
            if start / piece < gates.count { script.append(.wait(gates[start / piece])) }
            script.append(.bytes(Array(body[start..<min(start + piece, body.count)])))
        }
        let exchange = try stage.exchange(script)
        exchange.task.resume()
        for gate in gates { gate.open() }
        let trace = try await exchange.finished()
        #expect(trace.body == body)
        #expect(trace.isSuccess)
        #expect(trace.audit() == [])
    }

    @Test("T9: bodies of concurrent tasks are not mixed up", arguments: ContractSubject.all)
    func manyAtOnce(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let gate = Gate()
        let exchanges = try (1...16).map { count in
            try stage.exchange(.response(.pattern(count * subject.buffer + count), after: gate))
        }
        await concurrently(exchanges.map { exchange in { exchange.task.resume() } })
        gate.open()
        for (index, exchange) in exchanges.enumerated() {
            let trace = try await exchange.finished()
            #expect(trace.error == nil)
            #expect(trace.body == .pattern((index + 1) * (subject.buffer + 1)))
            #expect(trace.audit() == [])
        }
    }

    /// The gzip form of `larkspur larkspur larkspur `.
    private static let zipped: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xCB, 0x49, 0x2C, 0xCA, 0x2E, 0x2E, 0x28, 0x2D,
        0x52, 0xC8, 0xC1, 0x60, 0x00, 0x00, 0xB3, 0x3A, 0xCD, 0x2B, 0x1B, 0x00, 0x00, 0x00,
    ]

    @Test("T9: a coded body is delivered undecoded unless the head says otherwise", arguments: ContractSubject.all)
    func coded(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let coding = [HTTPHeader(name: "Content-Encoding", value: "gzip")]
        let accept = [HTTPHeader(name: "Accept-Encoding", value: "gzip")]
        let trace = try await stage.exchange(.response(200, coding, body: Self.zipped), fields: accept).run()
        let head = try #require(trace.heads.first)
        #expect(trace.body == (head.bodyIsDecoded ? Array("larkspur larkspur larkspur ".utf8) : Self.zipped))
        #expect(head["Content-Encoding"] == "gzip")
        #expect(trace.isSuccess)
        #expect(trace.audit() == [])
    }

    @Test("T10: a coded body that ends before its declared length never succeeds", arguments: ContractSubject.all)
    func truncatedCoded(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let head = PeerHead(
            status: 200, rawFields: Array("Content-Encoding: gzip\r\n".utf8), length: Self.zipped.count)
        for count in [0, 12, Self.zipped.count - 1] {
            let trace = try await stage.exchange([.head(head), .bytes(Array(Self.zipped[..<count])), .close]).run()
            #expect(trace.failure != nil, "\(count) bytes")
            #expect(trace.audit() == [])
        }
    }

    @Test(
        "T10: a body that ends before its declared length fails as truncated", arguments: ContractSubject.all,
        [0, 1, 39])
    func truncated(subject: ContractSubject, count: Int) async throws {
        let stage = try await Stage(subject)
        let trace = try await stage.exchange([.head(length: 40), .bytes(.pattern(count)), .close]).run()
        #expect(trace.failure == .truncated)
        #expect(trace.body == .pattern(trace.bodyCount) && trace.bodyCount <= count)
        #expect(trace.audit() == [])
    }

    @Test("T10: a body that ends with a reset fails", arguments: ContractSubject.all, [Int?.none, 40])
    func reset(subject: ContractSubject, length: Int?) async throws {
        let stage = try await Stage(subject)
        let trace = try await stage.exchange([.head(length: length), .bytes(.pattern(30)), .reset]).run()
        #expect(trace.isCompleted && !trace.isSuccess)
        #expect(trace.audit() == [])
    }

    @Test(
        "T10: a response that cannot have a body succeeds, whatever length it declares",
        arguments: ContractSubject.all, [("HEAD", 200), ("HEAD", 404), ("GET", 304), ("HEAD", 304)])
    func bodiless(subject: ContractSubject, response: (method: String, status: Int)) async throws {
        let stage = try await Stage(subject)
        let trace = try await stage.exchange([.head(response.status, length: 40)], method: response.method).run()
        #expect(trace.isSuccess)
        #expect(trace.audit() == [])
    }

    @Test("T11: bodySent counts every byte handed to the network and never falls", arguments: ContractSubject.all)
    func sent(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let bytes = stage.body(buffers: 12)
        let stream = TransportBodySource(length: UInt64(bytes.count), isReplayable: false) {
            ArrayStream(bytes, piece: 1_000)
        }
        for body in [TransportBody.data(Data(bytes)), .stream(stream)] {
            let exchange = try stage.exchange(.response(body: .pattern(8)), method: "PUT", body: body)
            let trace = try await exchange.run()
            #expect(trace.sent.last == UInt64(bytes.count))
            #expect(trace.metrics.map(\.requestBodyBytes) == [UInt64(bytes.count)])
            #expect(trace.audit() == [])
        }
    }

    @Test("T11: a request without a body counts no bytes", arguments: ContractSubject.all)
    func nothingToSend(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let trace = try await stage.exchange(.response(body: .pattern(8))).run()
        #expect(trace.sent.allSatisfy { $0 == 0 })
        #expect(trace.metrics.map(\.requestBodyBytes) == [0])
        #expect(trace.audit() == [])
    }

    @Test("T11: a task ended before its start counts no bytes", arguments: ContractSubject.all)
    func neverSent(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let cancelled = try stage.exchange(.response(), method: "PUT", body: .data(Data([1, 2, 3])))
        cancelled.task.cancel()
        #expect(try await cancelled.run().sent.isEmpty)

        let invalidated = try stage.exchange(.response(), method: "PUT", body: .data(Data([1, 2, 3])))
        stage.peer.transport.invalidate()
        let trace = try await invalidated.run()
        #expect(trace.sent.isEmpty)
        #expect(trace.metrics.map(\.requestBodyBytes) == [0])
        #expect(invalidated.requests.isEmpty)
    }
}
