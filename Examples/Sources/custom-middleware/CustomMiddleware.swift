import Larkspur
import LarkspurTesting

// Middleware for what adapters and retriers cannot do: a cache, a signature of the final request, and simulated faults.

typealias Next = @Sendable (Exchange) async throws -> ExchangeResponse

/// Caches responses and revalidates them with the server.
actor Cache: RequestMiddleware {
    private var kept: [String: ExchangeResponse] = [:]

    func intercept(_ exchange: Exchange, next: Next) async throws -> ExchangeResponse {
        guard exchange.request.method == .get else { return try await next(exchange) }
        let key = exchange.request.url.text
        var exchange = exchange
        if let tag = kept[key]?.headers["ETag"] { exchange.request.headers["If-None-Match"] = tag }
        let response = try await next(exchange)
        if response.head.status == 304, let kept = kept[key] { return kept }
        guard response.head.status == 200, response.headers["ETag"] != nil, case .buffered = response.body else {
            return response
        }
        if kept.count == 100 { kept = [:] }
        kept[key] = response
        return response
    }
}

/// Signs the final request, after all other changes. (A real implementation would use a key.)
struct Signing: RequestMiddleware {
    func intercept(_ exchange: Exchange, next: Next) async throws -> ExchangeResponse {
        var exchange = exchange
        let text = "\(exchange.request.method) \(exchange.request.url.path)"
        exchange.request.headers["X-Signature"] = String(text.utf8.reduce(0) { $0 &* 31 &+ Int($1) }, radix: 16)
        return try await next(exchange)
    }
}

/// Fails the first attempt of every request, like an unreliable network.
struct Faults: RequestMiddleware {
    func intercept(_ exchange: Exchange, next: Next) async throws -> ExchangeResponse {
        guard exchange.attempt > 1 else { throw TransportError(.connectionLost) }
        return try await next(exchange)
    }
}

@main
struct CustomMiddleware {
    static func main() async throws {
        let server = try MockServer()
        server.on("GET", "/joke") { request in
            request.headers["If-None-Match"] == "v1"
                ? .response(304) : .response(headers: ["ETag": "v1"], chunks: [Data("knock knock".utf8)])
        }
        let session = Session(
            configuration: SessionConfiguration {
                $0.baseURL = server.url
                $0.middleware = [Cache(), Signing()]  // the first is the outermost
            })
        for _ in 0..<2 {
            let response = await session.request("joke").validate().serializingString().response
            print("\(response.value ?? "nothing"):", response.metrics == nil ? "kept" : "got")
        }
        for request in server.requests {
            print("sent:", request.headers["X-Signature"] ?? "", request.headers["If-None-Match"] ?? "without a tag")
        }

        // A request's own middleware runs inside the session's.
        let retrying = Interceptor(retry: { request, _, _ in request.retryCount < 1 ? .retry : .doNotRetry })
        let shaky = await session.request("joke", interceptor: retrying).middleware(Faults())
        print("despite faults:", try await shaky.serializingString().value)
        for attempt in shaky.attempts { print("attempt:", attempt.error.map { "\($0.code)" } ?? "well") }
        await server.stop()
    }
}
