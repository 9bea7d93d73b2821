import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Middleware that fails", .limited)
struct MiddlewareErrorTests {
    private let log = TransportLog()

    private func response(
        _ answer: StubAnswer = .text("ok"), interceptor: (any RequestInterceptor)? = nil,
        _ intercept: @escaping ClosureMiddleware.Intercept
    ) async -> DataResponse<Data> {
        let session = log.session(interceptor: interceptor) { _, _ in answer }
        return await session.request("http://h/").middleware(ClosureMiddleware(intercept)).serializingData().response
    }

    @Test("An error of its own is .middlewareFailed, with that error as the underlying one")
    func foreign() async throws {
        let error = try #require(await response { _, _ in throw ForeignError() }.error)
        #expect(error.code == .middlewareFailed)
        #expect(error.stage == .sending)
        #expect(error.underlying as? ForeignError == ForeignError())
        #expect(error.url?.text == "http://h/")
        #expect(error.attempts == 1)
        #expect(log.count == 0)
    }

    @Test(
        "An error of the library's types keeps its code",
        arguments: [
            (RequestError(RequestError.Code(rawValue: "blocked"), "-") as any Error, "blocked"),
            (TransportError(.connectionLost), "connectionLost"),
        ])
    func own(_ thrown: any Error, _ code: String) async throws {
        let error = try #require(await response { _, _ in throw thrown }.error)
        #expect(error.code.rawValue == code)
        #expect(error.stage == .sending)
    }

    @Test("An error of next passes through all middleware unchanged")
    func unchanged() async throws {
        let seen = Protected<[RequestError]>([])
        let watching: ClosureMiddleware.Intercept = { exchange, next in
            do { return try await next(exchange) } catch let error as RequestError {
                seen.withLock { $0.append(error) }
                throw error
            }
        }
        let session = log.session { _, _ in .failure(.connectionRefused) }
        let request = await session.request("http://h/").middleware(ClosureMiddleware(watching))
            .middleware(ClosureMiddleware(watching))
        let error = try #require(await request.serializingData().response.error)
        #expect(error.code == .connectionRefused)
        #expect(error.stage == .sending)
        #expect(error.requestID == request.id)
        #expect(error.underlying is TransportError)
        #expect(seen.withLock { $0 }.map(\.requestID) == [request.id, request.id])
    }

    @Test("The error of another request, sent to find something out, is not taken for this one's")
    func otherRequest() async throws {
        let failing = Session(transport: StubTransport { _ in .failure(.timedOut) })
        let error = try #require(
            await response { _, _ in
                _ = try await failing.request("http://tokens/").serializingData().value
                return ExchangeResponse()
            }.error)
        #expect(error.code == .middlewareFailed)
        #expect(error.url?.text == "http://h/")
        #expect((error.underlying as? RequestError)?.code == .timedOut)
    }

    @Test("An error after a response carries what the server said")
    func afterResponse() async throws {
        let error = try #require(
            await response(.text("words", status: 418)) { exchange, next in
                _ = try await next(exchange)
                throw ForeignError()
            }.error)
        #expect(error.statusCode == 418)
        #expect(error.responseData == Data("words".utf8))
    }

    @Test("An error can be mended")
    func mended() async throws {
        let response = await response(.failure(.connectionLost)) { exchange, next in
            (try? await next(exchange)) ?? ExchangeResponse(body: Data("stale".utf8))
        }
        #expect(response.value == Data("stale".utf8))
        #expect(response.metrics == nil)
        #expect(response.attempts.first?.hops.first?.error?.code == .connectionLost)
        #expect(response.attempts.first?.error == nil)
    }

    @Test("Retriers are asked about its errors, as about all others")
    func retriers() async throws {
        let journal = Journal()
        let retrying = Interceptor(retry: { _, _, error in
            journal.note("\(error.code)")
            return .retry
        })
        let response = await response(interceptor: retrying) { exchange, next in
            if exchange.attempt < 3 { throw ForeignError() }
            return try await next(exchange)
        }
        #expect(response.value == Data("ok".utf8))
        #expect(journal.lines == ["middlewareFailed", "middlewareFailed"])
    }

    @Test("A CancellationError without a cancel is a failure like others")
    func strayCancellation() async throws {
        let error = try #require(await response { _, _ in throw CancellationError() }.error)
        #expect(error.code == .middlewareFailed)
        #expect(!error.isCancelled)
    }
}
