import Larkspur
import LarkspurTesting
import TestSupport
import Testing

// The code of the guide to middleware, word for word.

/// Says how long an exchange took.
private struct Stopwatch: RequestMiddleware {
    func intercept(
        _ exchange: Exchange, next: Next
    ) async throws -> ExchangeResponse {
        let start = ContinuousClock.now
        defer { print(exchange.request, start.duration(to: .now)) }
        return try await next(exchange)
    }
}

/// Undoes what a peer has done to each piece of a body.
private struct Decrypting: RequestMiddleware {
    let decrypt: @Sendable (Data) -> Data

    func intercept(
        _ exchange: Exchange, next: Next
    ) async throws -> ExchangeResponse {
        var response = try await next(exchange)
        if case .live(let body) = response.body {
            response.body = .live(LiveBody(body.map(decrypt)))
        }
        return response
    }
}

/// Signs what is really sent, and believes only answers that are signed.
private struct Signing: RequestMiddleware {
    let sign: @Sendable (String) -> String

    func intercept(
        _ exchange: Exchange, next: Next
    ) async throws -> ExchangeResponse {
        var exchange = exchange
        let request = exchange.request
        let text = "\(request.method) \(request.url.path)"
        exchange.request.headers["X-Signature"] = sign(text)
        var response = try await next(exchange)
        let data = try await response.data(upTo: 1 << 20)
        let signature = sign(String(decoding: data, as: UTF8.self))
        guard response.headers["X-Signature"] == signature else {
            throw RequestError(
                .untrusted, "the response has no valid signature")
        }
        response.body = .buffered(data)
        return response
    }
}

/// Fails as networks and servers do, as often as it is told.
private struct Faults: RequestMiddleware {
    let random: RandomSource

    func intercept(
        _ exchange: Exchange, next: Next
    ) async throws -> ExchangeResponse {
        switch random.fraction() {
        case ..<0.1: throw TransportError(.connectionLost)
        case ..<0.2:
            return ExchangeResponse(
                status: 503, headers: ["Retry-After": "1"])
        default: return try await next(exchange)
        }
    }
}

@Suite("The guide to middleware", .limited)
struct MiddlewareExamples {
    private let log = TransportLog()

    private func session(
        _ middleware: any RequestMiddleware,
        answering answer: @escaping @Sendable (TransportRequest, Int) -> StubAnswer
    ) -> Session {
        var configuration = SessionConfiguration.bare
        configuration.middleware = [middleware]
        return log.session(configuration, answering: answer)
    }

    @Test("Middleware belongs to a session or a request")
    func places() async throws {
        func make() -> Session {
            let session = Session(
                configuration: SessionConfiguration {
                    $0.middleware = [Stopwatch()]
                })
            return session
        }
        let session = Session(
            configuration: make().configuration, transport: log.transport { _, _ in .text("ok") })
        let (url, sign) = ("http://h/", { @Sendable (text: String) in text })
        let request = await session.request(url).middleware(Signing(sign: sign))
        #expect(await request.serializingData().response.error?.code == .untrusted)
    }

    @Test("A body that arrives in pieces is decrypted in pieces")
    func decrypting() async throws {
        let session = session(Decrypting { Data($0.reversed()) }) { _, _ in .response(chunks: [Data("ba".utf8)]) }
        var text = ""
        for try await piece in await session.streamRequest("http://h/").strings { text += piece }
        #expect(text == "ab")
    }

    @Test("The signature covers the sent bytes, and a response without one is rejected", arguments: [true, false])
    func signing(_ isSigned: Bool) async throws {
        let signing = Signing { String($0.reversed()) }
        let request = await session(signing) { _, _ in
            .response(headers: isSigned ? ["X-Signature": "ko"] : [:], chunks: [Data("ok".utf8)])
        }.request("http://h/a")
        let response = await request.serializingString().response
        #expect(log.requests.first?["X-Signature"] == "a/ TEG")
        #expect(response.value == (isSigned ? "ok" : nil))
        #expect(response.error?.code == (isSigned ? nil : .untrusted))
    }

    @Test("Faults occur with their probability", arguments: [(0.05, "connectionLost"), (0.15, "503"), (0.5, "200")])
    func faults(_ chance: Double, _ outcome: String) async throws {
        let random = RandomSource { UInt64(chance * 0x1p53) << 11 }
        let response = await session(Faults(random: random)) { _, _ in .text("ok") }.request("http://h/")
            .serializingData().response
        #expect((response.error?.code.rawValue ?? "\(response.head?.status ?? 0)") == outcome)
    }
}
