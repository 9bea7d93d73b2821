import Larkspur
import LarkspurTesting
import TestSupport
import Testing

// The code of "Instead of subclassing", word for word.

struct Versioned: RequestAdapter {
    let version: String

    // swift-format-ignore
    func adapt(
        _ request: inout OutgoingRequest,
        using state: RequestAdapterState
    ) async throws {
        request.headers.update(name: "X-Version", value: version)
    }
}

struct Fallback: RequestMiddleware {
    let host: String

    // swift-format-ignore
    func intercept(
        _ exchange: Exchange, next: Next
    ) async throws -> ExchangeResponse {
        do {
            return try await next(exchange)
        } catch let error as RequestError where error.isConnectivity {
            var other = exchange
            let path = exchange.request.url.path
            other.request.url = try RequestURL("https://\(host)\(path)")
            return try await next(other)
        }
    }
}

struct Envelope: DataPreprocessor {
    func preprocess(_ data: Data) throws -> Data {
        try JSON(data: data)["data"].data()
    }
}

struct Careful: RequestRetrier {
    let policy = RetryPolicy(limit: 5)

    // swift-format-ignore
    func retry(
        _ request: any Request, for session: Session,
        dueTo error: RequestError
    ) async -> RetryResult {
        if error.responseHead?.headers["X-Maintenance"] != nil {
            return .doNotRetry
        }
        return await policy.retry(request, for: session, dueTo: error)
    }
}

@Suite("The guide \"Instead of subclassing\"", .limited)
struct SubclassingExamples {
    private let log = TransportLog()

    @Test("An adapter adds a field")
    func adapter() async throws {
        // swift-format-ignore
        let versioned = Session(
            configuration: .validated,
            interceptor: .adapter(Versioned(version: "7")))
        #expect(versioned.configuration.interceptors.count == 1)
        _ = try await log.session(interceptor: .adapter(Versioned(version: "7"))).request("http://h/")
            .serializingData().value
        #expect(log.requests.first?["X-Version"] == "7")
    }

    @Test("Middleware sends another request")
    func middleware() async throws {
        let configuration = SessionConfiguration { $0.middleware = [Fallback(host: "b")] }
        let session = log.session(configuration) { request, _ in
            request.url.host == "a" ? .failure(.connectionRefused) : .text("b")
        }
        #expect(try await session.request("https://a/x").serializingString().value == "b")
        #expect(log.requests.map(\.url.text) == ["https://a/x", "https://b/x"])
    }

    @Test("Handlers decide about redirects and stored responses")
    func handlers() async throws {
        var configuration = SessionConfiguration.bare
        configuration.redirectHandler = Redirector { redirect in
            redirect.hops.count > 3 ? .doNotFollow : .follow
        }
        configuration.cachedResponseHandler = ResponseCacher { response in
            response.head.status == 200 ? response : nil
        }
        configuration.cache = .inMemory(limit: 1 << 20)
        let session = log.session(configuration) { request, number in
            guard request.url.path == "/missing" else { return .redirect(to: "/\(number)") }
            return .response(404, headers: ["Cache-Control": "max-age=60"])
        }
        let last = await session.request("http://h/").serializingData().response
        #expect(last.head?.status == 302 && log.count == 4)
        for _ in 0..<2 { _ = await session.request("http://h/missing").serializingData().response }
        #expect(log.count == 6)
    }

    @Test("A preprocessor changes every body of JSON")
    func preprocessor() async throws {
        var configuration = SessionConfiguration.bare
        configuration.serializers.preprocessor = Envelope()
        let session = log.session(configuration) { _, _ in .json(#"{"data": [1]}"#) }
        #expect(try await session.request("http://h/").serializingDecodable([Int].self).value == [1])
    }

    @Test("A retrier asks a policy")
    func retrier() async {
        let configuration = SessionConfiguration.validated { $0.retryBudget = nil }
        let session = log.session(configuration, interceptor: .retrier(Careful())) { _, _ in
            .response(503, headers: ["X-Maintenance": "1"])
        }
        _ = await session.request("http://h/").serializingData().response
        #expect(log.count == 1)
    }
}
