import Larkspur
import LarkspurTesting
import Observation
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Observable progress", .limited)
struct RequestProgressTests {
    private let transport = HeldTransport()
    private let clock = ManualClock()

    private func session() -> Session {
        let clock = clock
        return Session(
            configuration: SessionConfiguration {
                $0.headers = [:]
                $0.clock = clock
            }, transport: transport)
    }

    /// Waits until the condition is true, by observation alone.
    @MainActor private func wait(until condition: @MainActor @escaping () -> Bool) async {
        while !condition() {
            await withCheckedContinuation { continuation in
                withObservationTracking {
                    _ = condition()
                } onChange: {
                    continuation.resume()
                }
            }
        }
    }

    /// Advances the clock until the condition is true, because several changes may come within one interval.
    @MainActor private func advance(until condition: @MainActor () -> Bool) async {
        await poll {
            if !condition() { clock.advance(by: UpdatePacer.interval) }
            return condition()
        }
    }

    private func head(_ length: Int) -> TransportEvent {
        .head(ResponseHead(status: 200, fields: [HTTPHeader(name: "Content-Length", value: "\(length)")]))
    }

    @MainActor @Test("It shows the request from its start to its end, and does not start it")
    func download() async throws {
        let request = await session().request("http://h/")
        let progress = request.makeObservableProgress()
        #expect(request.status == .initialized && progress.status == .initialized && progress.phase == .download)
        #expect(progress.fraction == nil && progress.totalBytes == nil && progress.error == nil)
        var hops = transport.hops
        let task = request.serializingData()
        await wait { progress.status == .resumed }
        let hop = try #require(await hops.next())
        clock.advance(by: .seconds(1))
        hop.receive(head(4))
        await wait { progress.totalBytes == 4 }
        #expect(progress.fraction == 0)
        clock.advance(by: .seconds(1))
        hop.receive(.body(Data("ab".utf8)))
        await wait { progress.completedBytes == 2 }
        #expect(progress.fraction == 0.5 && progress.bytesPerSecond == 2 && progress.timeLeft == .seconds(1))
        hop.receive(.body(Data("cd".utf8)))
        hop.finish(nil)
        await wait { progress.status == .finished }
        #expect(progress.fraction == 1 && progress.completedBytes == 4 && progress.error == nil)
        #expect(progress.bytesPerSecond == nil && progress.timeLeft == nil)
        #expect(try await task.value == Data("abcd".utf8))
    }

    @MainActor @Test("Between two updates is a tenth of a second, but the end comes at once")
    func pace() async throws {
        let request = await session().request("http://h/").resume()
        var hops = transport.hops
        let hop = try #require(await hops.next())
        let progress = RequestProgress(request)
        hop.receive(head(10))
        await wait { progress.totalBytes == 10 }
        hop.receive(.body(Data("abc".utf8)))
        await clock.waitForSleepers()
        hop.receive(.body(Data("def".utf8)))
        #expect(progress.completedBytes == 0)
        clock.advance(by: .milliseconds(100))
        await wait { progress.completedBytes > 0 }
        #expect(progress.completedBytes == 6)
        hop.receive(.body(Data("ghij".utf8)))
        hop.finish(nil)
        await wait { progress.status == .finished }
        #expect(progress.completedBytes == 10)
        await clock.waitForNoSleepers()  // no timer is left behind
    }

    @MainActor @Test("A transfer that stands still slows down, although nothing happens")
    func stall() async throws {
        let request = await session().request("http://h/").resume()
        var hops = transport.hops
        let hop = try #require(await hops.next())
        let progress = RequestProgress(request)
        hop.receive(head(10_000))
        await wait { progress.totalBytes == 10_000 }
        clock.advance(by: .seconds(1))
        hop.receive(.body(Data(count: 1_000)))
        await wait { progress.bytesPerSecond == 1_000 }
        while let rate = progress.bytesPerSecond, rate > 0 {
            await clock.waitForSleepers()
            clock.advance(by: .seconds(1))
            await wait { progress.bytesPerSecond != rate }
        }
        #expect(progress.bytesPerSecond == 0 && progress.timeLeft == nil && progress.status == .resumed)
        hop.finish(nil)
        await wait { progress.status == .finished }
    }

    @MainActor @Test("An upload is followed by its response's download, unless one of them is chosen")
    func upload() async throws {
        let request = await session().upload(Data(count: 8), to: "http://h/")
        let (both, upload) = (request.makeObservableProgress(), request.makeObservableProgress(of: .upload))
        #expect(both.phase == .upload && upload.phase == .upload)
        var hops = transport.hops
        request.resume()
        let hop = try #require(await hops.next())
        hop.send(4)
        await advance(until: { both.fraction == 0.5 && upload.fraction == 0.5 })
        #expect(both.totalBytes == 8 && both.phase == .upload)
        hop.send(8)
        hop.receive(head(2))
        await advance(until: { both.phase == .download && upload.fraction == 1 })
        hop.receive(.body(Data("ok".utf8)))
        hop.finish(nil)
        await wait { both.status == .finished && upload.status == .finished }
        #expect(both.completedBytes == 2 && upload.completedBytes == 8 && upload.phase == .upload)
    }

    @MainActor @Test("Suspending and resuming is shown, and so is a cancellation with its error")
    func statuses() async throws {
        let request = await session().request("http://h/").suspend()
        let progress = RequestProgress(request)
        #expect(progress.status == .suspended)
        var hops = transport.hops
        for expected in [RequestStatus.resumed, .suspended, .resumed] {
            if expected == .resumed { request.resume() } else { request.suspend() }
            await advance(until: { progress.status == expected })
        }
        _ = await hops.next()
        request.cancel()
        await wait { progress.status == .cancelled }
        #expect(progress.error?.isCancelled == true)
    }

    @MainActor @Test("A failure is shown with its error")
    func failure() async throws {
        let request = await session().request("http://h/")
        let progress = RequestProgress(request)
        var hops = transport.hops
        request.resume()
        _ = await hops.next()
        transport.answer(body: "", error: TransportError(.connectionLost))
        await wait { progress.status == .finished }
        #expect(progress.error?.code == request.error?.code && progress.error != nil)
    }

    @MainActor @Test("A progress that is made after the finish has the final values at once")
    func late() async throws {
        let session = TransportLog().session()
        let request = await session.request("http://h/")
        _ = try await request.serializingData().value
        let progress = RequestProgress(request)
        #expect(progress.status == .finished && progress.completedBytes == 2 && progress.fraction == 1)
        #expect(progress.error == nil)
    }

    @MainActor @Test("A reader of the total is told of its change, and not of bytes or of the status")
    func separate() async throws {
        let request = await session().request("http://h/").resume()
        var hops = transport.hops
        let hop = try #require(await hops.next())
        let progress = RequestProgress(request)
        let changes = Counter()
        func watch() {
            withObservationTracking {
                _ = progress.totalBytes
            } onChange: {
                changes.increment()
            }
        }
        watch()
        hop.receive(head(4))
        await wait { progress.totalBytes == 4 }
        #expect(changes.value == 1)
        watch()
        clock.advance(by: .seconds(1))
        hop.receive(.body(Data("abcd".utf8)))
        await wait { progress.completedBytes == 4 }
        hop.finish(nil)
        await wait { progress.status == .finished }
        #expect(changes.value == 1)
    }

    @MainActor @Test("It does not keep its request alive, nor does the request keep it alive")
    func lifetimes() async throws {
        let session = session()
        var request: DataRequest? = await session.request("http://h/")
        let isReleased = { @Sendable [weak request] in request == nil }
        var progress = request.map { RequestProgress($0) }
        request = nil
        #expect(isReleased() && progress?.status == .initialized)

        let running = await session.request("http://h/").resume()
        var hops = transport.hops
        let hop = try #require(await hops.next())
        progress = RequestProgress(running)
        let isGone = { @Sendable [weak progress] in progress == nil }
        progress = nil
        await poll { isGone() }
        hop.receive(head(4))
        #expect(running.handle.core.read { $0.settings.content.followers.changes.isEmpty })
        hop.receive(.body(Data("abcd".utf8)))
        hop.finish(nil)
        #expect(try await running.serializingData().value == Data("abcd".utf8))
    }

    @MainActor @Test("A request that its caller releases while it runs still shows its end")
    func releasedRequest() async throws {
        let session = session()
        var request: DataRequest? = await session.request("http://h/").resume()
        let progress = try RequestProgress(#require(request))
        request = nil
        var hops = transport.hops
        let hop = try #require(await hops.next())
        hop.answer(200, body: "abcd")
        await wait { progress.status == .finished }
        #expect(progress.completedBytes == 4 && progress.fraction == 1)
    }
}
