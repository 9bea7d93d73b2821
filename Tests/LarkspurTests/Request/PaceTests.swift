import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Starting, suspending, resuming", .limited)
struct PaceTests {
    @Test("A request is lazy: nothing happens before its first serializer")
    func lazy() async {
        let touched = Counter()
        let session = Session(
            transport: StubTransport { _ in
                touched.increment()
                return .response()
            }, interceptor: .adapter { _, _ in touched.increment() })
        let request = await session.request("http://example.com").validate()
        #expect(request.status == .initialized)
        #expect(request.attempts.isEmpty)
        #expect(touched.value == 0)
        _ = await request.serializingData().response
        #expect(touched.value == 2)
        #expect(request.status == .finished)
    }

    @Test("startsRequestsAutomatically: false waits for resume(); a request may decide otherwise for itself")
    func manual() async throws {
        let session = Session(
            configuration: SessionConfiguration { $0.startsRequestsAutomatically = false },
            transport: StubTransport { _ in .text("x") })
        let request = await session.request("http://example.com")
        let task = request.serializingString()
        #expect(request.status == .initialized)
        request.resume()
        #expect(try await task.value == "x")
        #expect(
            try await session.request("http://example.com", startsAutomatically: true).serializingString().value == "x")
    }

    @Test("A request suspended before its start is started by resume(), not by a serializer")
    func suspendedFirst() async throws {
        let session = Session(transport: StubTransport { _ in .text("x") })
        let request = await session.request("http://example.com").suspend()
        let task = request.serializingString()
        #expect(request.status == .suspended)
        #expect(request.handle.core.read { $0.phase } == .idle)
        request.resume()
        #expect(try await task.value == "x")
    }

    @Test("A request suspended while it is prepared hands its hop over standing still")
    func suspendedInAdapter() async throws {
        let gate = Gate()
        let sent = Counter()
        let recorder = EventRecorder()
        let session = Session(
            transport: StubTransport { _ in
                sent.increment()
                return .text("x")
            }, interceptor: .adapter { _, _ in await gate.pass() }, eventMonitors: [recorder])
        let request = await session.request("http://example.com")
        let task = request.serializingString()
        await gate.arrived()
        request.suspend()
        gate.open()
        await recorder.wait { $0.contains { $0.name == "beginHop" } }
        #expect(sent.value == 0)
        #expect(request.status == .suspended)
        request.resume()
        #expect(try await task.value == "x")
        #expect(sent.value == 1)
    }

    @Test("Suspending and resuming from many threads ends at the last word, and loses no byte")
    func races() async throws {
        for _ in 0..<rounds(200, nightly: 1_000) {
            let clock = ManualClock()
            let chunks = (0..<50).flatMap { number in [StubAnswer.Step.wait(.seconds(1)), .body(Data([UInt8(number)]))]
            }
            let session = Session(
                transport: StubTransport(clock: clock) { _ in StubAnswer([.head(ResponseHead(status: 200))] + chunks) })
            let request = await session.request("http://example.com")
            let task = request.serializingData()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        for _ in 0..<25 {
                            request.suspend()
                            request.resume()
                        }
                    }
                }
                group.addTask {
                    for _ in 0..<50 {
                        clock.advance(by: .seconds(1))
                        await Task.yield()
                    }
                }
            }
            request.resume()
            let driver = Task {
                while !Task.isCancelled {
                    await clock.waitForSleepers()
                    clock.advance(by: .seconds(1))
                }
            }
            #expect(try await task.value == Data((0..<50).map { UInt8($0) }))
            driver.cancel()
        }
    }

    @Test("A chain of requests, each started in the last one's closure, does not grow the stack")
    func chain() async {
        let session = Session(transport: StubTransport { _ in .text("x") })
        let done = Gate()
        @Sendable func next(_ left: Int) async {
            guard left > 0 else { return done.open() }
            await session.request("http://example.com").responseString { _ in await next(left - 1) }
        }
        await next(2_000)
        await done.pass()
    }
}
