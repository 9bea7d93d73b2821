import Larkspur
import TestSupport
import Testing

extension TransportContractTests {
    @Suite("Interim responses and trailers", .limited)
    struct Fields {}
}

/// Interim responses (T27).
extension TransportContractTests.Fields {
    private static let link = HTTPHeader(name: "Link", value: "</style.css>; rel=preload")
    private static let place = HTTPHeader(name: "Location", value: "/uploads/7")

    @Test(
        "T27: interim heads other than 100 are delivered before the head, which they do not change",
        arguments: ContractSubject.all)
    func interimHeads(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let isDelivered = subject.capabilities.contains(.deliversInformation)
        var interim: [PeerStep] = [.interim(102, []), .interim(103, [Self.link])]
        if isDelivered { interim = [.interim(100, [])] + interim + [.interim(104, [Self.place]), .interim(199, [])] }
        let trace = try await stage.exchange(interim + .response(201, body: .pattern(8))).run()
        if isDelivered {
            #expect(trace.information.map(\.status) == [102, 103, 104, 199])
            #expect(trace.information.map { $0["Link"] } == [nil, Self.link.value, nil, nil])
            #expect(trace.information.map { $0["Location"] } == [nil, nil, Self.place.value, nil])
        } else {
            #expect(trace.information.isEmpty)
        }
        #expect(trace.heads.map(\.status) == [201])
        #expect(trace.heads.first?["Link"] == nil)
        #expect(trace.body == .pattern(8))
        #expect(trace.isSuccess)
        #expect(trace.audit() == [])
    }

    @Test(
        "T27: an interim head is delivered as soon as it arrives",
        arguments: ContractSubject.all(stating: .deliversInformation))
    func interimHeadAtOnce(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let gate = Gate()
        let exchange = try stage.exchange([.interim(103, [Self.link]), .wait(gate)] + .response(body: .pattern(8)))
        exchange.task.resume()
        let early = try await exchange.wait { !$0.information.isEmpty }
        #expect(early.heads.isEmpty)
        gate.open()
        let trace = try await exchange.finished()
        #expect(trace.information.count == 1)
        #expect(trace.audit() == [])
    }

    @Test(
        "T27: 64 interim heads are delivered, and one more ends the task",
        arguments: ContractSubject.all(stating: .deliversInformation))
    func tooManyInterimHeads(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let interim = [PeerStep](repeating: .interim(103, []), count: 64)
        let allowed = try await stage.exchange(interim + .response()).run()
        #expect(allowed.information.count == 64)
        #expect(allowed.isSuccess)
        let refused = try await stage.exchange(interim + [.interim(103, [])] + .response()).run()
        #expect(refused.failure == .protocolViolation)
        #expect(refused.heads.isEmpty)
        #expect(refused.audit() == [])
    }

    @Test(
        "T27: a task can be cancelled from inside an interim head",
        arguments: ContractSubject.all(stating: .deliversInformation))
    func cancelledInInterimHead(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let exchange = try stage.exchange([.interim(103, []), .stall]) { event, task in
            if case .information = event { task.cancel() }
        }
        let trace = try await exchange.run()
        #expect(trace.failure == .cancelled)
        #expect(trace.audit() == [])
    }
}

/// Fields after a response's body (T28).
extension TransportContractTests.Fields {
    private static func field(_ name: String, _ value: String) -> HTTPHeader { HTTPHeader(name: name, value: value) }

    /// URLSession on Linux ends the process when it receives trailers, so only other transports get them.
    @Test(
        "T28: fields after the body are delivered once, and never in the head",
        arguments: ContractSubject.all(stating: .deliversTrailers))
    func trailers(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let fields = [Self.field("X-Sum", "1"), Self.field("Server-Timing", "db;dur=53"), Self.field("X-Sum", "2")]
        let trace = try await stage.exchange([.head(), .bytes(.pattern(8)), .trailers(fields)]).run()
        #expect(trace.isSuccess)
        #expect(trace.body == .pattern(8))
        #expect(trace.heads.first?["X-Sum"] == nil)
        #expect(trace.trailers == [HTTPHeaders(fields)])
        #expect(trace.audit() == [])
    }

    @Test(
        "T28: fields that may not follow a body are dropped",
        arguments: ContractSubject.all(stating: .deliversTrailers))
    func forbiddenTrailers(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let names = [
            "Content-Length", "transfer-encoding", "Set-Cookie", "AUTHORIZATION", "Host", "Content-Type", "Trailer",
            "WWW-Authenticate", "Cache-Control", "Location",
        ]
        let forbidden = names.map { Self.field($0, "9") }
        let head = PeerStep.head(200, [])
        let mixed = try await stage.exchange(
            [head, .bytes(.pattern(8)), .trailers(forbidden + [Self.field("ETag", "7")])]
        ).run()
        #expect(mixed.trailers == [["ETag": "7"]])
        #expect(mixed.heads.first?["Location"] == nil)
        let none = try await stage.exchange([head, .bytes(.pattern(8)), .trailers(forbidden)]).run()
        #expect(none.trailers.isEmpty)
        #expect(none.isSuccess)
        #expect(mixed.audit() + none.audit() == [])
    }

    @Test(
        "T28: trailers wait until the whole body is delivered",
        arguments: ContractSubject.all(stating: .deliversTrailers))
    func trailersAfterPause(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let body = stage.body(buffers: 4)
        let exchange = try stage.exchange(
            [.head(), .bytes(body), .trailers([Self.field("X-Sum", "1")])], allowance: 1)
        exchange.task.resume()
        try await exchange.wait { $0.bodyCount > 0 }
        try await stage.settle()
        #expect(exchange.trace.trailers.isEmpty)
        exchange.task.allow(upTo: .max)
        let trace = try await exchange.finished()
        #expect(trace.body == body)
        #expect(trace.trailers == [["X-Sum": "1"]])
        #expect(trace.audit() == [])
    }
}

/// Fields after a request's body (T29).
extension TransportContractTests.Fields {
    private static func body(_ trailers: [HTTPHeader], isReplayable: Bool = false) -> TransportBody {
        .stream(
            TransportBodySource(length: nil, isReplayable: isReplayable, trailerNames: []) {
                ArrayStream(.pattern(40), piece: 16, trailers: trailers)
            })
    }

    @Test(
        "T29: a stream's trailers follow its body, and those of the next request are its own",
        arguments: ContractSubject.all(stating: .sendsTrailers))
    func sentTrailers(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let sums = [Self.field("X-Sum", "1"), Self.field("X-Empty", ""), Self.field("X-Sum", "2")]
        for trailers in [sums, [], [Self.field("X-Other", "3")]] {
            let exchange = try stage.exchange(.response(), method: "POST", body: Self.body(trailers))
            let trace = try await exchange.run()
            #expect(trace.isSuccess)
            #expect(exchange.requests.first?.body == .pattern(40))
            #expect(exchange.requests.first?.trailers == trailers)
            #expect(trace.audit() == [])
        }
        let plain = TransportBodySource(length: nil, isReplayable: false) {
            ArrayStream(.pattern(40), piece: 16, trailers: sums)
        }
        let exchange = try stage.exchange(.response(), method: "POST", body: .stream(plain))
        #expect(try await exchange.run().isSuccess)
        #expect(exchange.requests.first?.body == .pattern(40))
        #expect(exchange.requests.first?.trailers == [])
    }

    @Test(
        "T29: a trailer that may not follow a body, or would break the message, ends the hop with bodyFailed",
        arguments: ContractSubject.all(stating: .sendsTrailers).filter { $0.abilities.contains(.pullsBodies) },
        [field("Content-Length", "3"), field("X-Sum", "1\r\nX-Evil: 2"), field("X Sum", "1"), field("", "1")])
    func forbiddenSentTrailers(subject: ContractSubject, field: HTTPHeader) async throws {
        let stage = try await Stage(subject)
        let exchange = try stage.exchange(.response(), method: "POST", body: Self.body([field]))
        let trace = try await exchange.run()
        #expect(trace.failure == .bodyFailed)
        #expect(exchange.requests.isEmpty)
        #expect(trace.audit() == [])
    }

    @Test("T29: a transport that sends no trailers refuses the request and sends nothing")
    func refusedTrailers() async throws {
        for subject in ContractSubject.all where !subject.capabilities.contains(.sendsTrailers) {
            let stage = try await Stage(subject)
            let exchange = try stage.exchange(.response(), method: "POST", body: Self.body([]))
            let trace = try await exchange.run()
            #expect(trace.failure == .unavailable)
            #expect(exchange.requests.isEmpty)
            #expect(trace.audit() == [])
        }
    }
}
