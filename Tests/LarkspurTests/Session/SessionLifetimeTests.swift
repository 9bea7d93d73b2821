import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Session and request lifetimes", .limited)
struct SessionLifetimeTests {
    @Test("A started request keeps its session's machinery alive")
    func temporary() async throws {
        let value = try await Session(transport: StubTransport { _ in .text("alive") })
            .request("http://example.com").serializingString().value
        #expect(value == "alive")
    }

    @Test("A session's end finishes requests that wait unstarted, with their own error")
    func end() async {
        var session: Session? = Session(
            configuration: SessionConfiguration { $0.startsRequestsAutomatically = false },
            transport: StubTransport { _ in .response() })
        let request = await session?.request("http://example.com")
        let task = request?.serializingData()
        let closure = Gate()
        request?.responseString { response in
            #expect(response.error?.code == .sessionEnded)
            closure.open()
        }
        session = nil
        #expect(await task?.response.error?.code == .sessionEnded)
        await closure.pass()
        request?.resume()
        #expect(await request?.serializingData().response.error?.code == .sessionEnded)
    }

    @Test("A request that was dropped unstarted is still answered at the session's end")
    func dropped() async {
        let closure = Gate()
        do {
            let session = Session(
                configuration: SessionConfiguration { $0.startsRequestsAutomatically = false },
                transport: StubTransport { _ in .response() })
            await session.request("http://example.com").responseData { response in
                #expect(response.error?.code == .sessionEnded)
                closure.open()
            }
        }
        await closure.pass()
    }

    @Test("An invalidated session fails what is under way and what comes later")
    func invalidated() async {
        let session = Session(transport: StubTransport { _ in StubAnswer([.stall]) })
        let task = await session.request("http://example.com").serializingData()
        await session.invalidate()
        #expect(await task.response.error?.code == .sessionInvalidated)
        #expect(
            await session.request("http://example.com").serializingData().response.error?.code == .sessionInvalidated)
    }

    @Test("A transport that ends takes the session's requests along")
    func transportEnds() async {
        let transport = StubTransport { _ in StubAnswer([.stall]) }
        let clock = ManualClock()
        let session = Session(
            configuration: SessionConfiguration { $0.clock = clock }, transport: transport,
            interceptor: .retrier { _, _, error in
                error.code == .sessionInvalidated ? .doNotRetry : .retryAfter(.seconds(100))
            })
        let task = await session.request("http://example.com").serializingData()
        transport.invalidate()
        #expect(await task.response.error?.code == .sessionInvalidated)
    }

    @Test("The session lists what is under way, and forgets it at the finish")
    func requests() async throws {
        let gate = Gate()
        let session = Session(
            transport: StubTransport { _ in .text("x") }, interceptor: .adapter { _, _ in await gate.pass() })
        let request = await session.request("http://example.com")
        #expect(await session.requests.isEmpty, "a request is unknown before it has a serializer")
        let task = request.serializingString()
        await gate.arrived()
        #expect(await session.requests.map(\.id) == [request.id])
        gate.open()
        _ = try await task.value
        await poll { await session.requests.isEmpty }
    }

    @Test("A request that waits for its start is listed once, and still once when it has begun")
    func listedOnce() async throws {
        let gate = Gate()
        let session = Session(
            transport: StubTransport { _ in .text("x") }, interceptor: .adapter { _, _ in await gate.pass() })
        let request = await session.request("http://example.com", startsAutomatically: false)
        let task = request.serializingString()
        #expect(await session.requests.map(\.id) == [request.id])
        request.resume()
        await gate.arrived()
        #expect(await session.requests.map(\.id) == [request.id])
        gate.open()
        _ = try await task.value
        await poll { await session.requests.isEmpty }
    }

    @Test("cancelAllRequests() reaches requests in a retry delay too, and does not stop new ones")
    func cancelAll() async throws {
        let clock = ManualClock()
        let calls = Counter()
        let session = Session(
            configuration: SessionConfiguration { $0.clock = clock },
            transport: StubTransport { _ in calls.increment() <= 2 ? .failure(.connectionLost) : .text("x") },
            interceptor: .retrier { _, _, _ in .retryAfter(.seconds(60)) })
        let tasks = [
            await session.request("http://example.com/1").serializingString(),
            await session.request("http://example.com/2").serializingString(),
        ]
        await clock.waitForSleepers(2)
        await session.cancelAllRequests()
        for task in tasks { #expect(await task.response.error?.isCancelled == true) }
        #expect(try await session.request("http://example.com/3").serializingString().value == "x")
    }

    @Test("Nothing holds a finished request but its user")
    func released() async throws {
        let session = Session(transport: StubTransport { _ in .text("x") })
        weak var core: RequestCore?
        func perform() async throws {
            let request = await session.request("http://example.com")
            core = request.handle.core
            _ = try await request.serializingString().value
            #expect(core != nil)
        }
        try await perform()
        #expect(core == nil)
    }

    @Test("A session is released when its last request has finished")
    func sessionReleased() async throws {
        weak var session: Session?
        func perform() async throws -> String {
            let strong = Session(transport: StubTransport { _ in .text("x") })
            session = strong
            return try await strong.request("http://example.com").serializingString().value
        }
        #expect(try await perform() == "x")
        #expect(session == nil)
    }

    @Test("The error of a session without an engine says what is missing")
    func unavailable() async {
        let session = Session(transport: UnavailableTransport("there is no engine"))
        let error = await session.request("http://example.com").serializingData().response.error
        #expect(error?.code == .transportUnavailable)
        #expect("\(error!)".contains("there is no engine"))
    }
}
