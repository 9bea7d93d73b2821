import Larkspur
import TestSupport
import Testing

extension TransportContractTests {
    @Suite("Making and starting", .limited)
    struct Starting {}
}

extension TransportContractTests.Starting {
    @Test("T1: a task that was only made sends nothing and delivers nothing", arguments: ContractSubject.all)
    func onlyMade(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let exchange = try stage.exchange(.response(body: .pattern(8)), method: "POST", body: .data(Data([1, 2])))
        exchange.task.allow(upTo: 100)
        exchange.task.suspend()
        exchange.task.suspend()
        try await stage.settle()
        #expect(exchange.requests.isEmpty)
        #expect(exchange.trace.records.isEmpty)

        let trace = try await exchange.run()
        #expect(trace.body == .pattern(8))
        #expect(exchange.requests.count == 1)
        #expect(trace.audit() == [])
    }

    @Test("T1: resuming a task many times at once starts it once", arguments: ContractSubject.all)
    func startedOnce(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        for _ in 0..<50 {
            let exchange = try stage.exchange(.response(body: .pattern(8)))
            await concurrently(Array(repeating: { exchange.task.resume() }, count: 4))
            let trace = try await exchange.finished()
            #expect(exchange.requests.count == 1)
            #expect(trace.audit() == [])
        }
    }

    @Test(
        "T2: a redirect is delivered unchanged and not followed", arguments: ContractSubject.all,
        [301, 302, 303, 307, 308])
    func redirect(subject: ContractSubject, status: Int) async throws {
        let stage = try await Stage(subject)
        let target = try stage.peer.url(playing: .response())
        let location = HTTPHeader(name: "Location", value: target.text)
        let exchange = try stage.exchange(
            .response(status, [location], body: .pattern(8)), method: "POST", body: .data(Data(repeating: 7, count: 9)))
        let trace = try await exchange.run()
        try await stage.settle()
        #expect(trace.heads.map(\.status) == [status])
        #expect(trace.heads.first?["Location"] == target.text)
        #expect(trace.body == .pattern(8))
        #expect(trace.isSuccess)
        #expect(exchange.requests.count == 1)
        #expect(stage.peer.requests(at: target).isEmpty)
        #expect(trace.audit() == [])
    }

    @Test("T2: a 401 is delivered unchanged and not answered", arguments: ContractSubject.all)
    func unauthorized(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let challenges = [
            HTTPHeader(name: "WWW-Authenticate", value: #"Basic realm="a""#),
            HTTPHeader(name: "WWW-Authenticate", value: #"Digest realm="a", nonce="b", qop="auth""#),
        ]
        let exchange = try stage.exchange(.response(401, challenges, body: .pattern(8)))
        let trace = try await exchange.run()
        try await stage.settle()
        #expect(trace.heads.map(\.status) == [401])
        let values = trace.heads.first?.values(for: "www-authenticate").joined(separator: ", ")
        #expect(values == challenges.map(\.value).joined(separator: ", "))
        #expect(trace.body == .pattern(8))
        #expect(trace.isSuccess)
        #expect(trace.questions.isEmpty)
        #expect(exchange.requests.count == 1)
        #expect(trace.audit() == [])
    }

    @Test(
        "T2: a 401 with one or no challenge is delivered unchanged and not answered", arguments: ContractSubject.all,
        ["Negotiate", "Bearer", "NTLM", "Unknown a=b", nil])
    func challenge(subject: ContractSubject, value: String?) async throws {
        let stage = try await Stage(subject)
        let challenges = value.map { [HTTPHeader(name: "WWW-Authenticate", value: $0)] } ?? []
        let exchange = try stage.exchange(.response(401, challenges, body: .pattern(8)))
        let trace = try await exchange.run()
        try await stage.settle()
        #expect(trace.heads.map(\.status) == [401])
        #expect(trace.heads.first?["www-authenticate"] == value)
        #expect(trace.body == .pattern(8))
        #expect(trace.isSuccess)
        #expect(exchange.requests.count == 1)
        #expect(trace.audit() == [])
    }

    @Test("T2: a cookie is delivered unchanged and not sent back", arguments: ContractSubject.all)
    func cookie(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let cookies = ["a=1; Path=/", "b=2"].map { HTTPHeader(name: "Set-Cookie", value: $0) }
        let first = try await stage.exchange(.response(200, cookies)).run()
        #expect(first.heads.first?.values(for: "Set-Cookie") == cookies.map(\.value))

        let next = try stage.exchange(.response())
        try await next.run()
        let names = try #require(next.requests.first).fields.map { $0.name.lowercased() }
        #expect(!names.contains("cookie"))
    }

    static let methods = ["GET", "HEAD", "DELETE", "OPTIONS", "PATCH", "PURGE", "get", "M-SEARCH"]

    @Test("T3: the method and the target are sent as given", arguments: ContractSubject.all, methods)
    func method(subject: ContractSubject, method: String) async throws {
        let stage = try await Stage(subject)
        let exchange = try stage.exchange([.head(200, length: 0)], method: method)
        let trace = try await exchange.run()
        let request = try #require(exchange.requests.first)
        let isExact = subject.capabilities.contains(.keepsRequest)
        #expect(request.method == (isExact ? method : method.uppercased()))
        #expect(exchange.url.text.hasSuffix(request.target) && request.target.hasPrefix("/"))
        #expect(trace.audit() == [])
    }

    static let mixture: [(method: String, bodyLength: Int)] = [
        ("GET", 0), ("GET", 0), ("HEAD", 0), ("GET", 0), ("POST", 10), ("GET", 0), ("PUT", 100_000), ("GET", 0),
        ("DELETE", 0), ("GET", 0), ("GET", 10), ("GET", 0),
    ]

    @Test("T3: earlier requests leave no trace in a request", arguments: ContractSubject.all)
    func mixed(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let isExact = subject.capabilities.contains(.keepsRequest)
        // URLSession sends no GET with a body.
        for (method, bodyLength) in Self.mixture where isExact || method != "GET" || bodyLength == 0 {
            let body = TransportBody.data(Data([UInt8].pattern(bodyLength)))
            let exchange = try stage.exchange(
                method == "HEAD" ? [.head(200, length: 8)] : .response(body: .pattern(8)), method: method,
                body: bodyLength > 0 ? body : .none)
            let trace = try await exchange.run()
            #expect(trace.isSuccess)
            #expect(trace.body == (method == "HEAD" ? [] : .pattern(8)))
            let request = try #require(exchange.requests.first)
            #expect(request.method == method)
            #expect(exchange.url.text.hasSuffix(request.target))
            #expect(request.body == .pattern(bodyLength))
            if isExact { #expect(Self.withoutFraming(request.fields) == []) }
        }
    }

    @Test("T3: every field is sent with its value", arguments: ContractSubject.all)
    func eachField(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let fields = [
            ("X-B", "2"), ("x-a", "1"), ("Accept", "text/*;q=0.5, */*"), ("User-Agent", "contract"),
            ("Authorization", "Bearer t"), ("Accept-Language", "en, de;q=0.9"), ("X-Quoted", #""a, \"b\"""#),
            ("Cookie", "own=1; two=2"),
        ].map { HTTPHeader(name: $0.0, value: $0.1) }
        let exchange = try stage.exchange(.response(), method: "POST", fields: fields, body: .data(Data([1])))
        try await exchange.run()
        let sent = try #require(exchange.requests.first).fields
        for field in fields {
            let values = sent.filter { $0.name.lowercased() == field.name.lowercased() }.map(\.value)
            #expect(values == [field.value])
        }
    }

    @Test(
        "T3: the fields are sent in order with repeats, and none is added",
        arguments: ContractSubject.all(stating: .keepsRequest))
    func fields(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let fields = [
            ("X-B", "2"), ("x-a", "1"), ("X-B", "again"), ("X-Empty", ""), ("Accept", "text/*;q=0.5, */*"),
            ("X-UTF8", "grün"), ("User-Agent", "contract"), ("X-B", "2"), ("Authorization", "Bearer t"),
            ("Accept-Encoding", "br, gzip;q=0.5"), ("Accept-Language", ""), ("user-agent", "again"),
            ("X-Quoted", #""a, \"b\"""#), ("X-Empty", ""), ("Accept-Language", "en, de;q=0.9"),
        ].map { HTTPHeader(name: $0.0, value: $0.1) }
        let exchange = try stage.exchange(.response(), method: "POST", fields: fields, body: .data(Data([1])))
        try await exchange.run()
        #expect(Self.withoutFraming(try #require(exchange.requests.first).fields) == fields)

        let bare = try stage.exchange(.response())
        try await bare.run()
        #expect(Self.withoutFraming(try #require(bare.requests.first).fields) == [])
    }

    /// Removes the fields that a transport has to add: the host and the framing of the body.
    private static func withoutFraming(_ fields: [HTTPHeader]) -> [HTTPHeader] {
        fields.filter { !["host", "content-length", "transfer-encoding"].contains($0.name.lowercased()) }
    }

    enum BodyKind: String, CaseIterable {
        case none, data, file, streamOfKnownLength, streamOfUnknownLength
    }

    @Test("T3: every byte of the body is sent", arguments: ContractSubject.all, BodyKind.allCases)
    func body(subject: ContractSubject, kind: BodyKind) async throws {
        let stage = try await Stage(subject)
        let bytes = kind == .none ? [] : stage.body(buffers: 5)
        let stream = ArrayStream(bytes, piece: subject.buffer / 2 + 1)
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let body: TransportBody
        switch kind {
        case .none: body = .none
        case .data: body = .data(Data(bytes))
        case .file:
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            body = .file(path: path, length: UInt64(bytes.count))
        case .streamOfKnownLength, .streamOfUnknownLength:
            let length = kind == .streamOfKnownLength ? UInt64(bytes.count) : nil
            body = .stream(TransportBodySource(length: length, isReplayable: false) { stream })
        }
        let exchange = try stage.exchange(.response(), method: "POST", body: body)
        let trace = try await exchange.run()
        #expect(trace.isSuccess)
        #expect(exchange.requests.map(\.body) == [bytes])
        #expect(trace.audit() == [])
        if case .stream = body {
            #expect(stream.timesBegun == 1)
            #expect(stream.timesEnded == 1)
        }
    }

    @Test(
        "T3: a streamed body that returned pending continues when it wakes",
        arguments: ContractSubject.all(with: .pullsBodies))
    func pendingBody(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let (bytes, gate) = (stage.body(buffers: 5), Gate())
        let source = TransportBodySource(length: nil, isReplayable: false) {
            ArrayStream(bytes, piece: 1_000, pendingAt: gate)
        }
        let exchange = try stage.exchange(.response(), method: "POST", body: .stream(source))
        exchange.task.resume()
        try await gate.reached()
        try await stage.settle()
        #expect(!exchange.trace.isCompleted)
        gate.open()
        let trace = try await exchange.finished()
        #expect(exchange.requests.map(\.body) == [bytes])
        #expect(trace.audit() == [])
    }
}
