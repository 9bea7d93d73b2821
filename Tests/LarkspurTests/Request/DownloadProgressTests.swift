import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Download progress", .limited)
struct DownloadProgressTests {
    private let log = TransportLog()

    private func values(_ request: some Request) async -> [TransferProgress] {
        await request.downloadProgress.reduce(into: []) { $0.append($1) }
    }

    private func progress(_ completed: UInt64, _ total: UInt64?) -> TransferProgress {
        TransferProgress(completed: completed, total: total)
    }

    @Test("Progress begins with the head, never falls, and ends with the whole body, for data requests too")
    func data() async throws {
        let session = log.session { _, _ in
            .response(headers: ["Content-Length": "6"], chunks: [Data("one".utf8), Data("two".utf8)])
        }
        let request = await session.request("http://h/")
        let values = await values(request)
        #expect(values.last == progress(6, 6))
        #expect(values == values.sorted { $0.completed < $1.completed })
        // A reader that comes after the end gets the last value.
        #expect(await self.values(request) == [progress(6, 6)])
    }

    @Test("Without a length there is no total; an empty body is complete")
    func unknownLength() async throws {
        let open = log.session { _, _ in .response(chunks: [Data("one".utf8)]) }
        #expect(await values(open.request("http://h/")).last == progress(3, nil))
        let empty = log.session { _, _ in .response(headers: ["Content-Length": "0"]) }
        #expect(await values(empty.request("http://h/")).last?.fraction == 1)
        let head = log.session { _, _ in .response(headers: ["Content-Length": "9"]) }
        #expect(await values(head.request("http://h/", method: .head)).isEmpty)
    }

    @Test("Progress counts the bytes of the network, also if they are decoded")
    func coded() async throws {
        let bytes = Data(CodedBody.gzip.bytes)
        let session = log.session { _, _ in
            .response(
                headers: ["Content-Encoding": "gzip", "Content-Length": "\(bytes.count)"], chunks: [bytes])
        }
        let count = UInt64(bytes.count)
        #expect(await values(session.request("http://h/")).last == progress(count, count))
        let download = await session.download("http://h/")
        #expect(await values(download).last == progress(count, count))
        _ = try? await FileManager.default.removeItem(at: download.serializingFile().value)
    }

    @Test("The body of a redirect does not count, nor does an impossible length")
    func redirected() async throws {
        let session = log.session { _, number in
            number == 1
                ? .response(302, headers: ["Location": "/b"], chunks: [Data("moved there".utf8)])
                : .response(headers: ["Content-Length": "2"], chunks: [Data("ok".utf8)])
        }
        #expect(await values(session.request("http://h/a")).last == progress(2, 2))
        let lying = log.session { _, _ in .response(headers: ["Content-Length": "\(UInt64.max)"]) }
        #expect(await values(lying.request("http://h/a")).allSatisfy { $0.completed == 0 })
    }

    @Test("A resumed download begins with the stored bytes, and a retry does not lower the progress")
    func continued() async throws {
        let folder = try TemporaryFolder()
        var cut = ServedFile()
        cut.cut = 40_000
        let session = log.session(
            interceptor: .retrier { request, _, _ in request.retryCount == 0 ? .retry : .doNotRetry }
        ) { [cut] request, number in (number == 1 ? cut : ServedFile()).answer(to: request) }
        let seen = Protected<[TransferProgress]>([])
        let request = await session.download("http://h/", to: .file(folder["a"]))
        request.downloadProgress { value in seen.withLock { $0.append(value) } }
        let values = await values(request)
        #expect(values.last == progress(100_000, 100_000))
        #expect(values == values.sorted { $0.completed < $1.completed })
        #expect(log.requests.last?["Range"] == "bytes=40000-")
    }

    @Test("Foundation's Progress ends complete, and its cancel cancels the request")
    func foundation() async throws {
        let session = log.session { _, _ in .response(headers: ["Content-Length": "3"], chunks: [Data("one".utf8)]) }
        let request = await session.request("http://h/")
        let progress = request.makeDownloadProgress()
        _ = try await request.serializingData().value
        await poll { progress.completedUnitCount == 3 }
        #expect(progress.isFinished && progress.totalUnitCount == 3)
        let other = await log.session { _, _ in StubAnswer([.stall]) }.request("http://h/")
        let task = other.serializingData()
        other.makeDownloadProgress().cancel()
        #expect(await task.response.error?.isCancelled == true)
    }

    @Test("Foundation's Progress can be read by some threads while another one writes it")
    func readMeanwhile() async {
        let keys: [ProgressUserInfoKey] = [.throughputKey, .estimatedTimeRemainingKey, .fileURLKey, .fileTotalCountKey]
        let values = (0..<20_000).map { _ in SharedProgress(totalUnitCount: 1) }
        let place = Protected(0)
        await withTaskGroup { group in
            for _ in 0..<2 {
                group.addTask {
                    await poll {
                        for _ in 0..<200 {
                            let place = place.withLock { $0 }
                            if place >= values.count { break }
                            for _ in 0..<10 { _ = values[place].userInfo.count + Int(values[place].completedUnitCount) }
                        }
                        return place.withLock { $0 } >= values.count
                    }
                }
            }
            group.addTask {
                for (next, progress) in values.enumerated() {
                    place.withLock { $0 = next }
                    for key in keys { progress.setUserInfoObject("a value that has a place of its own", forKey: key) }
                    progress.completedUnitCount = 1
                }
                place.withLock { $0 = values.count }
            }
        }
        #expect(values.allSatisfy { $0.userInfo.count == keys.count && $0.isFinished })
    }

    @Test("The rate is that of the last seconds, and gives the time that the rest takes")
    func rate() throws {
        let start = ContinuousClock.now
        var rate = TransferRate()
        rate.update(0, at: start)
        #expect(rate.bytesPerSecond == nil)
        #expect(rate.timeLeft(of: progress(0, 10)) == nil)
        rate.update(1_000, at: start + .seconds(1))
        #expect(rate.bytesPerSecond == 1_000)
        #expect(rate.timeLeft(of: progress(1_000, 3_000)) == .seconds(2))
        #expect(rate.timeLeft(of: progress(1_000, nil)) == nil)
        rate.update(9_000, at: start + .milliseconds(1_050))
        #expect(rate.bytesPerSecond == 1_000, "a moment says nothing")
        rate.update(61_000, at: start + .seconds(4))
        #expect(rate.bytesPerSecond == 20_000, "what was longer ago than the window does not count")
    }
}
