import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Upload progress", .limited)
struct UploadProgressTests {
    private let transport = HeldTransport()

    private func session() -> Session { Session(transport: transport) }

    private func progress(_ completed: UInt64, _ total: UInt64? = 10) -> TransferProgress {
        TransferProgress(completed: completed, total: total)
    }

    @Test("Iterating starts the request, gives the latest value each time, and ends with the request")
    func sequence() async throws {
        let request = await session().upload(Data(count: 10), to: "http://h/")
        #expect(request.status == .initialized)
        var values = request.uploadProgress.makeAsyncIterator()
        var hops = transport.hops
        let hop = try #require(await hops.next())
        hop.send(3)
        #expect(await values.next() == progress(3))
        hop.send(4, 5, 6)
        #expect(await values.next() == progress(6), "a slow reader gets the latest")
        hop.send(10)
        hop.answer(200)
        #expect(await values.next() == progress(10))
        #expect(await values.next() == nil)
        #expect(try await request.serializingData().value.isEmpty)
    }

    @Test("Progress never falls and never exceeds the total, over redirects and retries")
    func monotonic() async throws {
        let session = Session(
            transport: transport,
            interceptor: .retrier { request, _, _ in request.retryCount == 0 ? .retry : .doNotRetry })
        let request = await session.upload(Data(count: 10), to: "http://h/")
        var values = request.uploadProgress.makeAsyncIterator()
        var hops = transport.hops
        let first = try #require(await hops.next())
        first.send(7)
        #expect(await values.next() == progress(7))
        first.answer(307, ["Location": "http://h/2"])
        let second = try #require(await hops.next())
        second.send(2)
        // A reader that comes now gets the current value.
        var late = request.uploadProgress.makeAsyncIterator()
        #expect(await late.next() == progress(7), "what is sent once more is not counted again")
        second.finish(TransportError(.connectionLost))
        let third = try #require(await hops.next())
        third.send(1)
        late = request.uploadProgress.makeAsyncIterator()
        #expect(await late.next() == progress(7))
        third.send(8)
        #expect(await values.next() == progress(8))
        third.send(12)
        #expect(await values.next() == progress(10))
        third.answer(200)
        #expect(await values.next() == nil)
    }

    @Test("Without a length there is no total and no fraction")
    func unknownLength() async throws {
        let source = TransportBodySource(length: nil, isReplayable: false) { EmptyBodyStream() }
        let request = await session().upload(.stream(source), to: "http://h/")
        var values = request.uploadProgress.makeAsyncIterator()
        var hops = transport.hops
        let hop = try #require(await hops.next())
        hop.send(3)
        let value = try #require(await values.next())
        #expect(value == progress(3, nil))
        #expect(value.fraction == nil)
        hop.answer(200)
        #expect(await values.next() == nil)
    }

    @Test("A late reader gets the current value, and after the end the last value and the end")
    func late() async throws {
        let request = await session().upload(Data(count: 10), to: "http://h/").resume()
        var hops = transport.hops
        let hop = try #require(await hops.next())
        hop.send(4)
        var during = request.uploadProgress.makeAsyncIterator()
        #expect(await during.next() == progress(4))
        hop.answer(200)
        #expect(await during.next() == nil)
        _ = await request.serializingData().response
        var after = request.uploadProgress.makeAsyncIterator()
        #expect(await after.next() == progress(4))
        #expect(await after.next() == nil)
    }

    @Test("A closure gets the last value; a cancel and the release of the request end the sequence (R4)")
    func ends() async throws {
        let told = AsyncStream<TransferProgress>.makeStream()
        let request = await session().upload(Data(count: 10), to: "http://h/")
            .uploadProgress { told.continuation.yield($0) }
        #expect(request.status == .initialized, "a closure starts nothing")
        var values = request.uploadProgress.makeAsyncIterator()
        var hops = transport.hops
        try #require(await hops.next()).send(10)
        #expect(await told.stream.first { _ in true } == progress(10))
        request.cancel()
        #expect(await values.next() == progress(10))
        #expect(await values.next() == nil)

        var waiting = await session().upload(Data(count: 1), to: "http://h/", startsAutomatically: false).uploadProgress
            .makeAsyncIterator()
        #expect(await waiting.next() == nil)
    }

    @Test("Foundation's Progress follows, and cancels, pauses and resumes the request")
    func foundation() async throws {
        let recorder = EventRecorder()
        let request = await session().upload(Data(count: 10), to: "http://h/").eventMonitor(recorder)
        let followed = request.makeUploadProgress()
        #expect(followed.isIndeterminate && followed.isPausable && followed.isCancellable)
        request.resume()
        var hops = transport.hops
        let hop = try #require(await hops.next())
        // Foundation calls the handlers of a Progress on its own threads.
        followed.pause()
        await recorder.wait { $0.last?.name == "suspend" }
        #expect(request.status == .suspended)
        followed.resume()
        await recorder.wait { $0.last?.name == "resume" }
        #expect(request.status == .resumed)
        hop.send(10)
        await poll { followed.isFinished }
        #expect(followed.completedUnitCount == 10 && followed.totalUnitCount == 10)
        followed.cancel()
        #expect(await request.serializingData().response.error?.isCancelled == true)
    }

    @Test(
        "Foundation's Progress of an empty body, and of one of unknown length, ends", arguments: [0, nil] as [UInt64?])
    func foundationEnds(length: UInt64?) async throws {
        let source = TransportBodySource(length: length, isReplayable: true) { EmptyBodyStream() }
        let request = await session().upload(.stream(source), to: "http://h/")
        let followed = request.makeUploadProgress()
        request.resume()
        var hops = transport.hops
        let hop = try #require(await hops.next())
        if length == nil { hop.send(7) }
        hop.answer(200)
        await poll { followed.isFinished }
        #expect(followed.fractionCompleted == 1)
        #expect(followed.totalUnitCount == (length == nil ? 7 : 1))
    }

    @Test("10,000 observers that start during an upload get rising values only, and each one gets the last")
    func racing() async throws {
        let request = await session().upload(Data(count: 10_000), to: "http://h/").resume()
        var hops = transport.hops
        let hop = try #require(await hops.next())
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1_250 {
                        var last: UInt64 = 0
                        for await value in request.uploadProgress.prefix(2) {
                            if value.completed < last { return false }
                            last = value.completed
                        }
                    }
                    return true
                }
            }
            for count in 1...10_000 as ClosedRange<UInt64> {
                hop.send(count)
                if count % 100 == 0 { await Task.yield() }
            }
            hop.answer(200)
            for await isRising in group { #expect(isRising) }
        }
        var after = request.uploadProgress.makeAsyncIterator()
        #expect(await after.next() == progress(10_000, 10_000))
    }
}
