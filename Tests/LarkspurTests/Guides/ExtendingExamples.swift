import Larkspur
import LarkspurTesting
import TestSupport
import Testing

// The code of "Extending", word for word.

struct Marking: RequestAdapter {
    func adapt(
        _ request: inout OutgoingRequest,
        using state: RequestAdapterState
    ) async throws {
        request.headers["X-Trace"] =
            "\(state.requestID), attempt \(state.attempt)"
    }
}

struct LeaderElection: RequestRetrier {
    func retry(
        _ request: any Request, for session: Session,
        dueTo error: RequestError
    ) async -> RetryResult {
        guard error.statusCode == 421, request.retryCount < 3 else {
            return .doNotRetry
        }
        return .retryAfter(.milliseconds(200))
    }
}

struct APIVersion: HopParticipant {
    let name: String
    let report: @Sendable (String) -> Void

    func prepare(_ hop: inout OutgoingHop) {
        hop.add(["X-API-Version": name])
    }

    func learnsLater(from hop: Hop) -> Bool {
        hop.head?["Sunset"] != nil
    }

    func learn(from head: ResponseHead, of hop: HopContext) {
        let sunset = head["Sunset"] ?? ""
        report("\(hop.url.path) is offered until \(sunset)")
    }
}

struct APIVersionSettings: ParticipantSettings {
    var name: String?
    var report: @Sendable (String) -> Void = { print($0) }
    static let place = 350

    func participant(
        in configuration: SessionConfiguration,
        extending parents: [any HopParticipant]
    ) -> (any HopParticipant)? {
        name.map { APIVersion(name: $0, report: report) }
    }
}

extension SessionConfiguration {
    var apiVersion: String? {
        get { self[APIVersionSettings.self].name }
        set { self[APIVersionSettings.self].name = newValue }
    }
}

struct CSVSerializer: ResponseSerializer {
    func serialize(_ exchange: CompletedExchange) throws -> [[String]] {
        let text = String(
            decoding: exchange.data ?? Data(), as: UTF8.self)
        return text.split(separator: "\n").map { line in
            line.split(separator: ",").map(String.init)
        }
    }
}

extension ResponseSerializer where Self == CSVSerializer {
    static var csv: Self { CSVSerializer() }
}

struct Words: ResponseSerializer {
    func serialize(_ exchange: CompletedExchange) throws -> [String] {
        let text = try StringResponseSerializer().serialize(exchange)
        return text.split(separator: " ").map(String.init)
    }
}

extension ResponseValidator {
    static let fresh = ResponseValidator { exchange in
        guard exchange.head?["Warning"] != nil else { return }
        throw RequestError(.validationFailed, "the answer is stale")
    }
}

struct PlainTextEncoder: ParameterEncoder {
    func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters, into request: inout OutgoingRequest
    ) throws {
        request.body = .data(Data("\(parameters)".utf8))
        request.headers.update(
            .contentType("text/plain; charset=utf-8"))
    }
}

struct Records: StreamParser {
    private var rest: [UInt8] = []

    mutating func next(
        in bytes: inout UnsafeRawBufferPointer
    ) throws -> [UInt8]? {
        let record = bytes.prefix(4 - rest.count)
        rest += record
        bytes = UnsafeRawBufferPointer(
            rebasing: bytes.dropFirst(record.count))
        guard rest.count == 4 else { return nil }
        defer { rest = [] }
        return rest
    }

    mutating func end() throws -> [UInt8]? {
        guard rest.isEmpty else {
            let problem = "the last record has only \(rest.count) bytes"
            throw RequestError(.incompleteMessage, problem)
        }
        return nil
    }
}

struct SlowRequests: EventMonitor {
    let limit: Duration
    let report: @Sendable (String) -> Void

    func request(_ request: any Request, did event: RequestEvent) {
        guard case .gatherMetrics(let metrics) = event,
            metrics.total ?? .zero > limit
        else { return }
        report("\(request.description) took \(metrics.total ?? .zero)")
    }
}

final class Staging: TransportWrapper {
    let base: any Transport

    init(_ base: any Transport) {
        self.base = base
    }

    var partition: TransportPartition {
        base.partition.adding("staging")
    }

    func task(
        for request: TransportRequest, id: TransportTaskID,
        delegate: any TransportDelegate
    ) -> any TransportTask {
        var request = request
        request.fields.append(
            HTTPHeader(name: "X-Environment", value: "staging"))
        return base.task(for: request, id: id, delegate: delegate)
    }
}

@Suite("The guide to extending", .limited)
struct ExtendingExamples {
    private let log = TransportLog()

    @Test("The adapter marks each attempt, and the retrier retries within its limit")
    func interceptor() async throws {
        func make() async -> DataRequest {
            let session = Session(
                interceptor: Interceptor(
                    adapter: Marking(), retrier: LeaderElection()))
            let request = await session.request("https://api.example.com/orders")
                .validate()
            return request
        }
        #expect(await make().attempts.isEmpty)
        let clock = ManualClock()
        var configuration = SessionConfiguration.bare
        configuration.clock = clock
        let session = log.session(
            configuration, interceptor: Interceptor(adapter: Marking(), retrier: LeaderElection())
        ) { _, number in number == 1 ? .response(421) : .text("ok") }
        async let text = session.request("http://h/").validate().serializingString().value
        await clock.waitForSleepers()
        clock.advance(by: .milliseconds(200))
        #expect(try await text == "ok")
        #expect(log.requests.map { $0["X-Trace"] } == ["#1, attempt 1", "#1, attempt 2"])
    }

    @Test("The serializer returns the rows of lines")
    func serializer() async throws {
        let session = log.session { _, _ in .text("a,b\nc,d", contentType: "text/csv") }
        let rows = try await session.request("https://api.example.com/table")
            .serializingResponse(using: .csv).value
        #expect(rows == [["a", "b"], ["c", "d"]])
    }

    @Test("A serializer uses another one")
    func words() async throws {
        let session = log.session { _, _ in .text("a b") }
        #expect(try await session.request("http://h/").serializingResponse(using: Words()).value == ["a", "b"])
    }

    @Test("The validator rejects responses with a warning", arguments: [true, false])
    func validator(_ isStale: Bool) async throws {
        let session = log.session { _, _ in .response(headers: isStale ? ["Warning": "110 - stale"] : [:]) }
        let response = await session.request("http://h/").validate(using: .fresh).serializingData().response
        #expect(response.error?.code == (isStale ? .validationFailed : nil))
    }

    @Test("The encoder writes text")
    func encoder() async throws {
        let request = await log.session().request(
            "http://h/", method: .post, parameters: 7, encoder: PlainTextEncoder())
        _ = try await request.serializingData().value
        #expect(log.requests.first?.text == "7")
        #expect(log.requests.first?["Content-Type"] == "text/plain; charset=utf-8")
    }

    @Test("The parser joins pieces, and fails if the last one is short")
    func parser() async throws {
        let session = log.session { _, number in
            .response(chunks: ["abc", "defg", number == 1 ? "h" : ""].map { Data($0.utf8) })
        }
        let stream = await session.streamRequest(
            "https://api.example.com/records")
        for try await record in stream.bytes.parsed(by: Records()) {
            print(record)
        }
        var parser = Records()
        #expect(try parser.parse(Data("abcdefg".utf8)) == [Array("abcd".utf8)])
        #expect(throws: RequestError.self) { try parser.end() }
    }

    @Test("The participant names the version in every hop, and reports what is not offered for long")
    func participant() async throws {
        let reports = Journal()
        var configuration = SessionConfiguration { $0.apiVersion = "2026-11" }
        configuration[APIVersionSettings.self].report = { reports.note($0) }
        let session = log.session(configuration) { request, _ in
            request.url.path == "/old"
                ? .redirect(to: "/new") : .response(200, headers: ["Sunset": "tomorrow"], chunks: [Data("ok".utf8)])
        }
        _ = try await session.request("http://a/old").serializingString().value
        #expect(log.requests.map { $0["X-API-Version"] } == ["2026-11", "2026-11"])
        #expect(reports.lines == ["/new is offered until tomorrow"])
    }

    @Test("The monitor reports requests that took longer than its limit")
    func monitor() async throws {
        let server = try MockServer { _ in .text("ok") }
        let (reports, continuation) = AsyncStream.makeStream(of: String.self)
        let slow = SlowRequests(limit: .zero) { continuation.yield($0) }
        #if os(Linux)
            let session = Session(eventMonitors: [slow])
            _ = try await session.request(server.url).serializingData().value
            #expect(await reports.first { _ in true }?.contains(" took ") == true)
        #endif
        await server.stop()
    }

    @Test("The transport adds its field to the requests of another transport")
    func transport() async throws {
        #if os(Linux)
            func make() -> Session {
                let session = Session(transport: Staging(CurlTransport()))
                return session
            }
            #expect(await make().requests.isEmpty)
        #endif
        let session = Session(transport: Staging(log.transport()))
        _ = try await session.request("http://h/").serializingData().value
        #expect(log.requests.first?["X-Environment"] == "staging")
    }
}
