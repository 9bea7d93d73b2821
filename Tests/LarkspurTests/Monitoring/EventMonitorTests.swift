import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Events: in order, off the transport's thread, free without monitors", .limited)
struct EventMonitorTests {
    let recorder = EventRecorder()

    private func finished(_ request: DataRequest) async -> [String] {
        await recorder.wait { $0.contains { $0.name == "finish" } }
        return recorder.names(of: request)
    }

    @Test("A plain exchange has its events in order")
    func plain() async {
        let session = Session(
            configuration: SessionConfiguration { $0.validation = [.standard] },
            transport: StubTransport { _ in .response(chunks: [Data("a".utf8), Data("b".utf8)]) },
            eventMonitors: [recorder])
        let request = await session.request("http://example.com", method: .post, parameters: ["a": 1], encoder: .json)
        _ = await request.serializingString().response
        #expect(
            await finished(request) == [
                "start", "create", "beginHop", "sendBody", "receiveHead", "receiveBody", "receiveBody", "gatherMetrics",
                "endHop", "validate", "serialize", "finish",
            ])
        #expect(recorder.violations.isEmpty)
    }

    @Test("A redirect is two hops of one attempt")
    func redirected() async {
        let session = Session(
            transport: StubTransport { $0.url.path == "/" ? .redirect(to: "/next") : .text("x") },
            eventMonitors: [recorder])
        let request = await session.request("http://example.com/")
        _ = await request.serializingString().response
        #expect(
            await finished(request) == [
                "start", "create", "beginHop", "receiveHead", "gatherMetrics", "endHop", "redirect", "beginHop",
                "receiveHead", "receiveBody", "gatherMetrics", "endHop", "serialize", "finish",
            ])
    }

    @Test("A retry event comes between its attempts")
    func retried() async {
        let calls = Counter()
        let session = Session(
            transport: StubTransport { _ in calls.increment() == 1 ? .failure(.connectionLost) : .text("x") },
            interceptor: .retrier { _, _, _ in .retry }, eventMonitors: [recorder])
        let request = await session.request("http://example.com/")
        _ = await request.serializingString().response
        #expect(
            await finished(request) == [
                "start", "create", "beginHop", "gatherMetrics", "endHop", "retry", "create", "beginHop", "receiveHead",
                "receiveBody", "gatherMetrics", "endHop", "serialize", "finish",
            ])
    }

    @Test("A cancel event comes once, and the request still finishes")
    func cancelled() async {
        let session = Session(transport: StubTransport { _ in StubAnswer([.stall]) }, eventMonitors: [recorder])
        let request = await session.request("http://example.com/")
        let task = request.serializingString()
        request.cancel().cancel()
        _ = await task.response
        #expect(
            await finished(request) == [
                "start", "create", "beginHop", "cancel", "gatherMetrics", "endHop", "serialize", "finish",
            ])
    }

    @Test("Suspend and resume events come once each, however often the methods are called")
    func paced() async {
        let session = Session(transport: StubTransport { _ in .text("x") }, eventMonitors: [recorder])
        let request = await session.request("http://example.com/", startsAutomatically: false)
        let task = request.serializingString()
        request.suspend().suspend().resume().resume()
        _ = await task.response
        #expect(await finished(request).prefix(3) == ["suspend", "resume", "start"])
    }

    @Test("A request's own monitor gets the events of that request only; a late one gets an event that it is ignored")
    func own() async {
        let session = Session(transport: StubTransport { _ in .text("x") })
        let request = await session.request("http://example.com/").eventMonitor(recorder)
        _ = await session.request("http://example.com/other").serializingString().response
        _ = await request.serializingString().response
        #expect(await finished(request).first == "start")
        #expect(recorder.events.count == recorder.names(of: request).count)
        request.validate()
        await recorder.wait { $0.contains { $0.name == "ignoreOption" } }
    }

    @Test("A slow monitor delays neither the request nor another monitor")
    func slow() async throws {
        struct Slow: EventMonitor {
            let released = DispatchSemaphore(value: 0)
            func request(_ request: any Request, did event: RequestEvent) {
                guard case .start = event else { return }
                released.wait()
            }
        }
        let slow = Slow()
        let session = Session(transport: StubTransport { _ in .text("x") }, eventMonitors: [slow, recorder])
        let request = await session.request("http://example.com/")
        #expect(try await request.serializingString().value == "x")
        #expect(await finished(request).last == "finish")
        slow.released.signal()
    }

    @Test("R8: without monitors no event is built")
    func free() async {
        let session = Session(transport: StubTransport { _ in .text("x") })
        let request = await session.request("http://example.com/")
        let built = Counter()
        func event() -> RequestEvent {
            built.increment()
            return .start
        }
        request.handle.core.emit(event(), isLate: true)
        #expect(built.value == 0)
        request.eventMonitor(recorder)
        request.handle.core.emit(event(), isLate: true)
        #expect(built.value == 1)
    }

    @Test("R5: events of a burst keep their order, whatever thread drains them")
    func burst() async {
        let session = Session(transport: StubTransport { _ in .text("x") }, eventMonitors: [recorder])
        let request = await session.request("http://example.com/")
        for number in 0..<1_000 { request.handle.core.emit(.receiveBody(number), isLate: true) }
        await recorder.wait { $0.count == 1_000 }
        let numbers = recorder.events.map { if case .receiveBody(let number) = $0 { number } else { -1 } }
        #expect(numbers == Array(0..<1_000))
    }
}

@Suite("R1 and R2: where user code runs", .limited)
struct UserCodeTests {
    @Test("R1: no user code runs under a lock; R2: none runs on a transport's thread")
    func everywhere() async throws {
        let recorder = EventRecorder()
        let clock = ManualClock()
        let calls = Counter()
        struct Probing: ResponseSerializer {
            let recorder: EventRecorder
            let calls: Counter
            func serialize(_ exchange: CompletedExchange) throws -> Int {
                recorder.probe("a serializer")
                if calls.value < 3 { throw RequestError(.serializationFailed, "once more") }
                return calls.value
            }
            func recover(from error: RequestError, _ exchange: CompletedExchange) throws -> Int {
                recorder.probe("a recovering serializer")
                throw error
            }
        }
        struct Router: URLRequestConvertible {
            let recorder: EventRecorder
            func asURLRequest() throws -> URLRequest {
                recorder.probe("a convertible")
                return try "http://example.com/".asRequestURL().asURLRequest
            }
        }
        let session = Session(
            configuration: SessionConfiguration { $0.clock = clock },
            transport: StubTransport { request in
                if request.url.path == "/moved" { return .text("x") }
                return calls.increment() == 1 ? .failure(.connectionLost) : .redirect(to: "/moved")
            },
            interceptor: .composed(
                recorder,
                .retrier { _, _, _ in
                    recorder.probe("a retrier")
                    return calls.value == 1 ? .retryAfter(.seconds(1)) : .retry
                }),
            eventMonitors: [recorder])
        let request = await session.request(
            Router(recorder: recorder), requestModifier: { _ in recorder.probe("a modifier") }
        )
        .validate { _ in recorder.probe("a validator") }
        .onRequestCreation { _ in recorder.probe("a creation handler") }
        .retry(using: recorder)
        let closure = Gate()
        let task = request.serializingResponse(using: Probing(recorder: recorder, calls: calls))
        request.responseString { _ in
            recorder.probe("a closure")
            closure.open()
        }
        await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        #expect(try await task.value == 3)
        await closure.pass()
        _ = await request.serializingResponse(using: Probing(recorder: recorder, calls: calls)).response
        await recorder.wait { $0.filter { $0.name == "finish" }.count == 1 }
        #expect(recorder.violations == [])
    }

    @Test("R1: a recorder sees user code under a lock, R2: and on a transport's thread", .enabled(if: isDebug))
    func seen() async {
        let recorder = EventRecorder()
        Protected(0).withLock { _ in recorder.probe("code under a lock") }
        ThreadMarks.transportDepth += 1
        recorder.probe("code on a transport's thread")
        ThreadMarks.transportDepth -= 1
        #expect(recorder.violations.count == 2)
    }

    private static let isDebug: Bool = {
        #if DEBUG
            true
        #else
            false
        #endif
    }()
}

extension RequestURL {
    fileprivate var asURLRequest: URLRequest {
        get throws { OutgoingRequest(url: self).urlRequest }
    }
}
