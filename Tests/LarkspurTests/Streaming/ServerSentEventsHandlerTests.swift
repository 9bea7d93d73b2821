import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Comments and reconnections of an event stream", .limited)
struct ServerSentEventsHandlerTests {
    private let url = "http://example.com/events"
    private let clock = ManualClock()
    private let log = TransportLog()

    private func session(_ answer: @escaping @Sendable (Int) -> StubAnswer) -> Session {
        let configuration = SessionConfiguration {
            $0.clock = clock
            $0.random = RandomSource { 0 }
        }
        return log.session(configuration) { _, number in answer(number) }
    }

    private static func events(_ texts: String...) -> StubAnswer {
        .response(headers: ["Content-Type": "text/event-stream"], chunks: texts.map { Data($0.utf8) })
    }

    /// Advances the clock as soon as the stream waits for it.
    private func pass(_ duration: Duration) async {
        await clock.waitForSleepers(1)
        clock.advance(by: duration)
    }

    @Test("Comments are reported in order among the events, of each connection")
    func comments() async throws {
        let session = session { number in
            switch number {
            case 1: Self.events(": one\n\ndata: a\n:two\n\n", ":", "\n:  three\nid: 1\n\n")
            case 2: Self.events(":four: 4\n")
            default: .response(204)
            }
        }
        let journal = Journal()
        let events = await session.streamRequest(url).serverSentEvents().onComment { journal.note("[\($0)]") }
        let reading = Task { for try await event in events { journal.note(event.data) } }
        for _ in 1...2 { await pass(.seconds(3)) }
        try await reading.value
        #expect(journal.lines == ["[one]", "[two]", "a", "[]", "[ three]", "[four: 4]"])
    }

    @Test("A reconnection is reported with reason and pause, before the pause")
    func interruptions() async throws {
        let session = session { number in
            switch number {
            case 1:
                StubAnswer(Self.events("id: 7\ndata: a\n\n").steps + [.fail(TransportError(.connectionLost))])
            case 2: .failure(.connectionRefused)
            case 3: Self.events("data: b\n\n")
            default: .response(204)
            }
        }
        let told = Protected<[ServerSentEventsInterruption]>([])
        let events = await session.streamRequest(url).serverSentEvents()
            .onReconnect { interruption in told.withLock { $0.append(interruption) } }
        let reading = Task { () -> [String] in
            var all: [String] = []
            for try await event in events { all.append(event.data) }
            return all
        }
        for (count, seconds) in [3, 6, 3].enumerated() {
            await clock.waitForSleepers(1)
            #expect(told.withLock { $0.count } == count + 1)
            await pass(.seconds(seconds))
        }
        #expect(try await reading.value == ["a", "b"])
        let all = told.withLock { $0 }
        #expect(all.map { $0.error?.code } == [.connectionLost, .connectionRefused, nil])
        #expect(all.map(\.delay) == [.seconds(3), .seconds(6), .seconds(3)])
        #expect(all.map(\.lastEventID) == ["7", "7", "7"])
        #expect(all.first?.error?.url?.text == url)
    }

    @Test("The final end of a stream is not reported as an interruption")
    func end() async throws {
        let session = session { _ in .text("no", status: 404) }
        let told = Journal()
        let events = await session.streamRequest(url).serverSentEvents().onReconnect { _ in told.note("again") }
        await #expect(throws: RequestError.self) { for try await _ in events {} }
        #expect(told.lines.isEmpty)
    }
}
