import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Calls of next by middleware", .limited)
struct MiddlewareNextTests {
    private let log = TransportLog()

    private func request(
        _ method: HTTPMethod = .get, body: TransportBody = .none,
        answering answer: @escaping @Sendable (TransportRequest, Int) -> StubAnswer = { _, number in
            .text(String(repeating: "x", count: number))
        },
        _ intercept: @escaping ClosureMiddleware.Intercept
    ) async -> DataRequest {
        await log.session(answering: answer).request("http://h/", method: method) { $0.body = body }
            .middleware(ClosureMiddleware(intercept))
    }

    @Test("Called twice it sends twice, in one attempt; either response may be given", arguments: [1, 2])
    func twice(_ chosen: Int) async throws {
        let request = await request { exchange, next in
            let responses = [try await next(exchange), try await next(exchange)]
            return responses[chosen - 1]
        }
        let response = await request.serializingString().response
        #expect(response.value == String(repeating: "x", count: chosen))
        #expect(response.metrics?.responseBodyBytes == UInt64(chosen))
        #expect(request.retryCount == 0)
        #expect(response.attempts.map(\.hops.count) == [2])
    }

    @Test("Each call follows redirects from the start: it is no circle that an earlier one went the same way")
    func redirects() async throws {
        let request = await request(
            answering: { request, _ in request.url.path == "/end" ? .text("end") : .redirect(to: "/end") }
        ) { exchange, next in
            _ = try await next(exchange)
            return try await next(exchange)
        }
        #expect(try await request.serializingString().value == "end")
        #expect(request.attempts.map(\.hops.count) == [4])
    }

    @Test("A body that can be sent only once is not sent again, but another one may be", arguments: [false, true])
    func onceOnly(_ replaces: Bool) async throws {
        let request = await request(.post, body: .onceOnly) { exchange, next in
            _ = try await next(exchange)
            var exchange = exchange
            if replaces { exchange.request.body = .data(Data("again".utf8)) }
            return try await next(exchange)
        }
        let response = await request.serializingString().response
        #expect(response.error?.code == (replaces ? nil : .bodyNotReplayable))
        #expect(log.count == (replaces ? 2 : 1))
    }

    @Test("Called again while it runs it throws, and the first call is not disturbed")
    func concurrent() async throws {
        let gate = Gate()
        let codes = Journal()
        let request = await request { exchange, next in
            async let first = next(exchange)
            await gate.arrived()
            do { _ = try await next(exchange) } catch let error as RequestError { codes.note("\(error.code)") }
            gate.open()
            return try await first
        }
        request.middleware(
            ClosureMiddleware { exchange, next in
                await gate.pass()
                return try await next(exchange)
            })
        #expect(try await request.serializingString().value == "x")
        #expect(codes.lines == ["nextRefused"])
        #expect(log.count == 1)
    }

    @Test("A turn is taken by one call at a time, and by none when its middleware has returned")
    func turn() throws {
        let turn = Turn()
        try turn.begin()
        #expect { try turn.begin() } throws: { ($0 as? RequestError)?.code == .nextRefused }
        turn.end()
        try turn.begin()
        turn.close()
        turn.end()
        #expect { try turn.begin() } throws: { ($0 as? RequestError)?.code == .nextRefused }
    }

    @Test("A call whose task is cancelled ends its hop, and the request goes on with what the middleware gives")
    func cancelledCall() async throws {
        let recorder = EventRecorder()
        let request = await request(answering: { _, _ in StubAnswer([.stall]) }) { exchange, next in
            async let _ = next(exchange)
            await recorder.wait { $0.contains { $0.name == "beginHop" } }
            return ExchangeResponse(body: Data("own".utf8))  // leaving the scope cancels the call and waits for its end
        }
        let response = await request.eventMonitor(recorder).serializingString().response
        #expect(response.value == "own")
        #expect(response.attempts.first?.hops.map(\.error?.code) == [.cancelled])
        #expect(request.status == .finished)
    }

    @Test("In a task that was cancelled before, next ends its hop as well, with CancellationError")
    func cancelledBefore() async throws {
        let journal = Journal()
        let request = await request(answering: { _, _ in StubAnswer([.stall]) }) { exchange, next in
            await withoutActuallyEscaping(next) { next in
                await withTaskGroup(of: Void.self) { group in
                    group.cancelAll()
                    group.addTask {
                        do { _ = try await next(exchange) } catch { journal.note("\(type(of: error))") }
                    }
                }
            }
            return ExchangeResponse()
        }
        _ = try await request.serializingData().value
        #expect(journal.lines == ["CancellationError"])
    }
}
