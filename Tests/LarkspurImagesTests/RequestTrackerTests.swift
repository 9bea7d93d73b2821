import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurImages

@Suite("Requests that views follow", .limited)
@MainActor
struct RequestTrackerTests {
    private let server = HeldServer()
    private let tracker = RequestTracker()

    private func request(_ path: String, on session: Session) async -> DataRequest {
        await session.request("http://h.example/\(path)")
    }

    private var session: Session { server.session { _ in .text("0123456789") } }

    @Test("A request runs from its start to its finish, and is not started by the tracker")
    func activity() async {
        let session = session
        let request = await request("a", on: session)
        var shown: [Bool] = []
        tracker.followActivity(of: request) { shown.append($0) }
        #expect(shown == [false])
        #expect(request.status == .initialized)
        let response = request.serializingData()
        await poll { shown.count == 2 }
        server.open()
        _ = await response.response
        await poll { shown.count == 3 }
        #expect(shown == [false, true, false])
    }

    @Test("A request in flight runs, and a suspended or cancelled one does not")
    func inFlight() async {
        let session = session
        let request = await request("a", on: session).resume()
        await poll { server.paths == ["/a"] }
        var shown: [Bool] = []
        tracker.followActivity(of: request) { shown.append($0) }
        #expect(shown == [true])
        request.suspend()
        await poll { shown.count == 2 }
        request.resume()
        await poll { shown.count == 3 }
        request.cancel()
        await poll { shown.count == 4 }
        #expect(shown == [true, false, true, false])
        server.open()
        _ = await request.serializingData().response
    }

    @Test("A finished request and none do not run")
    func finished() async {
        let session = session
        server.open()
        let request = await request("a", on: session)
        _ = await request.serializingData().response
        var shown: [Bool] = []
        tracker.followActivity(of: request) { shown.append($0) }
        tracker.followActivity(of: nil) { shown.append($0) }
        #expect(shown == [false, false])
    }

    @Test("Changes of an earlier request are not shown")
    func next() async {
        let session = session
        let (first, second) = (await request("a", on: session), await request("b", on: session))
        var (earlier, later): ([Bool], [Bool]) = ([], [])
        tracker.followActivity(of: first) { earlier.append($0) }
        tracker.followActivity(of: second) { later.append($0) }
        let (one, two) = (first.serializingData(), second.serializingData())
        await poll { later.count == 2 }
        server.open()
        _ = await (one.response, two.response)
        await poll { later.count == 3 }
        #expect(earlier == [false])
        tracker.stop()
    }

    @Test("The latest progress of the current request is shown")
    func progress() async throws {
        let session = session
        let (first, second) = (await request("a", on: session), await request("b", on: session))
        var (earlier, later): ([UInt64], [UInt64]) = ([], [])
        tracker.followProgress(of: first) { earlier.append($0.completed) }
        tracker.followProgress(of: second) { later.append($0.completed) }
        server.open()
        for request in [first, second] { _ = try await request.serializingData().value }
        await poll { later.last == 10 }
        #expect(earlier.isEmpty)
    }

    @Test("A released tracker shows nothing more, and keeps no request alive")
    func released() async {
        let session = session
        let request = await request("a", on: session)
        var shown: [Bool] = []
        var tracker: RequestTracker? = RequestTracker()
        weak let released = tracker
        tracker?.followActivity(of: request) { shown.append($0) }
        tracker?.followProgress(of: request) { _ in shown.append(true) }
        tracker = nil
        #expect(released == nil)
        weak var other: DataRequest?
        let lasting = RequestTracker()
        do {
            let request = await self.request("b", on: session)
            other = request
            lasting.followActivity(of: request) { _ in }
            lasting.followProgress(of: request) { _ in }
        }
        #expect(other == nil)
        server.open()
        _ = await request.serializingData().response
        #expect(shown == [false])
    }
}
