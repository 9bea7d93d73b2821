import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Cancelling in middleware", .limited)
struct MiddlewareCancellationTests {
    enum Place: CaseIterable { case before, inside, after, afterFailure, behindCancel }

    @Test(
        "A cancel ends the request at once and exactly once, wherever middleware is held up", arguments: Place.allCases)
    func cancelled(_ place: Place) async throws {
        let recorder = EventRecorder()
        let gate = Gate()
        let answer =
            switch place {
            case .before, .after: StubAnswer.text("ok")
            case .inside, .behindCancel: StubAnswer([.stall])
            case .afterFailure: StubAnswer.failure(.connectionLost)
            }
        let request = await Session(transport: StubTransport { _ in answer }).request("http://h/")
            .eventMonitor(recorder)
            .middleware(
                ClosureMiddleware { exchange, next in
                    recorder.probe("middleware")
                    if place == .before { await gate.pass() }
                    let response = try? await next(exchange)
                    recorder.probe("middleware")
                    if place != .before, place != .inside { await gate.pass() }
                    return response ?? ExchangeResponse()
                })
        let string = request.serializingString()
        let awaiter = Task.immediate { try await string.value }
        switch place {
        case .before, .after, .afterFailure: await gate.arrived()
        case .inside, .behindCancel: await recorder.wait { $0.contains { $0.name == "beginHop" } }
        }
        request.cancel()
        await #expect(throws: CancellationError.self) { try await awaiter.value }
        await recorder.wait { $0.contains { $0.name == "finish" } }
        #expect(request.status == .cancelled)
        #expect(request.error?.isCancelled == true)
        gate.open()
        #expect(await string.result.isCancelled)
        #expect(recorder.events.count { $0.name == "finish" } == 1)
        #expect(recorder.violations.isEmpty)
    }

    @Test("Middleware is told by its task's cancellation, and next throws CancellationError from then on")
    func told() async throws {
        let journal = Journal()
        let gate = Gate()
        let left = Gate()
        let log = TransportLog()
        let request = await log.session().request("http://h/")
            .middleware(
                ClosureMiddleware { exchange, next in
                    await gate.pass()
                    journal.note("\(Task.isCancelled)")
                    do { _ = try await next(exchange) } catch { journal.note("\(type(of: error))") }
                    await left.pass()
                    return ExchangeResponse()
                })
        let response = Task { [task = request.serializingData()] in await task.response }
        await gate.arrived()
        request.cancel()
        #expect(await response.value.error?.isCancelled == true)
        gate.open()
        await left.arrived()
        #expect(journal.lines == ["true", "CancellationError"])
        #expect(log.count == 0)
        left.open()
    }

    @Test("Middleware is told as well when the cancel has ended a hop that it waited for")
    func toldAfterHop() async throws {
        let recorder = EventRecorder()
        let (told, tell) = AsyncStream<String>.makeStream()
        let request = await Session(transport: StubTransport { _ in StubAnswer([.stall]) }).request("http://h/")
            .eventMonitor(recorder)
            .middleware(
                ClosureMiddleware { exchange, next in
                    do { _ = try await next(exchange) } catch { tell.yield("\(type(of: error))") }
                    // A stream that nothing is yielded to ends when its task is cancelled.
                    for await _ in AsyncStream<Void>.makeStream().stream {}
                    tell.yield("\(Task.isCancelled)")
                    tell.finish()
                    return ExchangeResponse()
                })
        let data = request.serializingData()
        await recorder.wait { $0.contains { $0.name == "beginHop" } }
        request.cancel()
        #expect(await told.reduce(into: []) { $0.append($1) } == ["CancellationError", "true"])
        #expect(await data.response.error?.isCancelled == true)
    }

    @Test("A stream is cancelled also while middleware's body keeps its reader waiting", arguments: [true, false])
    func stream(_ isOwn: Bool) async throws {
        let recorder = EventRecorder()
        let gate = Gate()
        let transport = StubTransport { _ in
            StubAnswer([.head(ResponseHead(status: 200)), .body(Data("a".utf8)), .stall])
        }
        let request = await Session(transport: transport).streamRequest("http://h/").eventMonitor(recorder)
            .middleware(
                ClosureMiddleware { exchange, next in
                    guard !isOwn else {
                        let chunks = AsyncStream<Data> {
                            await gate.pass()
                            return nil
                        }
                        return ExchangeResponse(head: ResponseHead(status: 200), body: .live(LiveBody(chunks)))
                    }
                    var response = try await next(exchange)
                    guard case .live(let body) = response.body else { throw ForeignError() }
                    response.body = .live(
                        LiveBody(
                            body.map { chunk in
                                await gate.pass()
                                return chunk
                            }))
                    return response
                })
        let bytes = request.bytes
        let reader = Task { for try await _ in bytes {} }
        await gate.arrived()
        request.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        await recorder.wait { $0.contains { $0.name == "finish" } }
        #expect(request.status == .cancelled)
        gate.open()
    }

    @Test("The session's end ends requests that middleware holds up")
    func invalidation() async throws {
        let gate = Gate()
        let session = Session(transport: StubTransport { _ in .text("ok") })
        let request = await session.request("http://h/")
            .middleware(
                ClosureMiddleware { exchange, next in
                    await gate.pass()
                    return try await next(exchange)
                })
        let response = Task { [task = request.serializingData()] in await task.response }
        await gate.arrived()
        await session.invalidate()
        #expect(await response.value.error?.code == .sessionInvalidated)
        gate.open()
    }
}

extension Result where Failure == RequestError {
    fileprivate var isCancelled: Bool {
        if case .failure(let error) = self { error.isCancelled } else { false }
    }
}
