import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurFlow

/// Total timeouts, which end a request without waiting for its middleware, and the order of changes.
@Suite("Circuit breakers: timeouts and changes", .limited)
struct CircuitTimeoutTests {
    private let clock = ManualClock()

    @Test("A server that accepts requests and never answers opens the circuit at the total timeout")
    func silentServer() async throws {
        let breaker = CircuitBreaker(minimumCount: 3)
        var changes = breaker.changes.makeAsyncIterator()
        let log = TransportLog()
        let session = log.session(
            SessionConfiguration {
                ($0.clock, $0.middleware) = (clock, [breaker])
                $0.options.timeouts.total = .seconds(5)
            }
        ) { _, _ in StubAnswer([.stall]) }
        for number in 1...3 {
            let request = await session.request("http://h/").serializingData()
            await poll { log.count == number }
            await clock.waitForSleepers()
            clock.advance(by: .seconds(5))
            #expect(await request.response.error?.isTimeout == true)
        }
        // A request does not wait for the middleware, so the last outcome may be counted later.
        #expect(await changes.next()?.state == .open(.seconds(10)))
        #expect(await session.request("http://h/").serializingData().response.error?.code == .circuitOpen)
        #expect(log.count == 3)
    }

    @Test("If the transport's timer fires before that of the total timeout, the outcome counts as well")
    func transportTimeout() async throws {
        let breaker = CircuitBreaker(minimumCount: 1)
        var changes = breaker.changes.makeAsyncIterator()
        let transport = HeldTransport()
        var hops = transport.hops
        let session = Session(
            configuration: SessionConfiguration {
                ($0.clock, $0.middleware) = (clock, [breaker])
                $0.options.timeouts.total = .seconds(5)
            }, transport: transport)
        let request = await session.request("http://h/").serializingData()
        let hop = try #require(await hops.next())
        await clock.waitForSleepers()
        clock.advance(by: .milliseconds(4_999))
        hop.finish(TransportError(.timedOut))
        #expect(await request.response.error?.isTimeout == true)
        #expect(await changes.next()?.state == .open(.seconds(10)))
    }

    @Test("A total timeout that passes while the request waits for its admission does not count")
    func unsentRequest() async throws {
        let breaker = CircuitBreaker(minimumCount: 1)
        let errors = Protected<[any Error]>([])
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        let watching = ClosureMiddleware { exchange, next in
            do { return try await next(exchange) } catch {
                errors.withLock { $0.append(error) }
                throw error
            }
        }
        let ending = ClosureMiddleware { exchange, next in
            defer { if exchange.request.url.path == "/waiting" { end.yield() } }
            return try await next(exchange)
        }
        let transport = HeldTransport()
        var hops = transport.hops
        let session = Session(
            configuration: SessionConfiguration {
                ($0.clock, $0.middleware) = (clock, [ending, breaker, watching])
                $0.limits = RequestLimits(total: 1)
            }, transport: transport)
        let first = await session.request("http://h/first").serializingString()
        let hop = try #require(await hops.next())
        let waiting = await session.request("http://h/waiting").timeout(.total(.seconds(5))).serializingData()
        await poll { session.context.participants.all.limiter?.counts.waiting == 1 }
        await clock.waitForSleepers()
        clock.advance(by: .seconds(5))
        #expect(await waiting.response.error?.isTimeout == true)
        for await _ in ended { break }
        #expect(errors.withLock { $0.map { $0 is CancellationError } } == [true])
        #expect(breaker.state(of: "http://h/") == .closed)
        hop.answer(200, body: "ok")
        #expect(await first.response.value == "ok")
    }

    @Test("Observers get the changes in order, although several threads make them")
    func orderOfChanges() async throws {
        let breaker = CircuitBreaker()
        for round in 0..<rounds(300, nightly: 5_000) {
            let changes = (0..<3).map { _ in breaker.changes }
            await withTaskGroup(of: Void.self) { group in
                for task in 0..<4 {
                    group.addTask {
                        for _ in 0..<10 {
                            if task % 2 == 0 { breaker.open("http://h") } else { breaker.close("http://h") }
                        }
                    }
                }
            }
            breaker.close("http://h")
            breaker.open("http://end")
            for changes in changes {
                var wasClosed = true
                for await change in changes {
                    if change.origin.host == "end" { break }
                    // Between two changes to `closed` there is one to `open`.
                    #expect(!(wasClosed && change.state == .closed), "round \(round)")
                    wasClosed = change.state == .closed
                }
                #expect(wasClosed, "round \(round)")
            }
            breaker.close("http://end")
        }
    }
}
