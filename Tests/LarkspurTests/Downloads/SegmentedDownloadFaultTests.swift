import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// Segmented downloads from servers that break the rules, and downloads that are cancelled.
@Suite("Faults of segmented downloads", .limited)
struct SegmentedDownloadFaultTests: SegmentedDownloadSuite {
    let folder: TemporaryFolder
    let log = TransportLog()
    let clock = LeapingClock()
    private let served = RangedFile()

    init() throws { folder = try TemporaryFolder() }

    /// Another version of the file, of the same length or shorter.
    private func other(isShorter: Bool = false) -> RangedFile {
        var other = served
        other.bytes = Data(served.bytes.reversed().dropLast(isShorter ? 1_000 : 0))
        other.fields = ["ETag": "\"two\""]
        return other
    }

    // MARK: Servers

    @Test(
        "If the file changes meanwhile, the new file arrives as one, whether or not the server supports If-Range",
        arguments: [2, 3, 4], [false, true])
    func changed(from number: Int, ignoresIfRange: Bool) async throws {
        let served = served
        for isShorter in [false, true] {
            var changed = other(isShorter: isShorter)
            changed.ignoresIfRange = ignoresIfRange
            let first = log.count
            let session = session { [changed] request, count in
                (count - first < number ? served : changed).answer(to: request)
            }
            let options: [DownloadOption] = [.removePreviousFile]
            let download = await session.download(url, to: target, segments: 4, options: options)
            for await progress in download.progress { #expect(progress.completed <= progress.total ?? 0) }
            _ = try await download.value
            try expectFile(changed)
        }
    }

    @Test(
        "A response that does not fit a segment makes the whole file be requested again",
        arguments: [
            ["Content-Range": "bytes 0-9/5242957"], ["Content-Range": "bytes 1310738-9/5242957"], [:],
            ["Content-Range": "bytes 1310739-2621477/5242958"], ["Content-Range": "bytes 1310739-2621477/9"],
            ["Content-Range": "lines 1310739-2621477/5242957"], ["Content-Range": "bytes */5242957"],
            ["Content-Range": "bytes 1310739-2621477/5242957", "Content-Encoding": "gzip"],
            ["Content-Range": "bytes 1310739-2621477/5242957", "ETag": "\"two\""],
            ["Content-Range": "bytes 99999999999999999999-99999999999999999999/5242957"],
        ] as [HTTPHeaders], [206, 416])
    func unusable(fields: HTTPHeaders, status: Int) async throws {
        let served = served
        let session = session { request, number in
            guard let range = request["Range"], range != "bytes=0-" else { return served.answer(to: request) }
            return .response(status, headers: fields, chunks: [Data("wrong".utf8)])
        }
        _ = try await session.download(url, to: target, segments: 4).value
        try expectFile(served)
        #expect(ranges.last == .some(nil))
    }

    @Test(
        "A first part that is not the whole file is not used",
        arguments: [
            "bytes 1-5242956/5242957", "bytes 0-5242956/*", "bytes 0-5242957/5242957", "lines 0-9/10", "",
            "bytes 0-18446744073709551613/18446744073709551614",
        ])
    func unusableFirst(range: String) async throws {
        let served = served
        let session = session { request, number in
            number == 1
                ? .response(206, headers: ["ETag": "\"one\"", "Content-Range": range], chunks: [Data("wrong".utf8)])
                : served.answer(to: request)
        }
        _ = try await session.download(url, to: target, segments: 4).value
        try expectFile(served)
        #expect(ranges == ["bytes=0-", nil])
    }

    @Test("A server that sends parts to a request for the whole file is an error")
    func onlyParts() async throws {
        let session = session { _, _ in
            .response(206, headers: ["Content-Range": "bytes 3-9/20"], chunks: [Data("1234567".utf8)])
        }
        #expect(await failure(of: session.download(url, to: target, segments: 4))?.code == .unexpectedRange)
        #expect(try folder.contents == [])
    }

    @Test("A segment with more bytes than were requested is an error, and nothing is kept", arguments: [1, 2, 3, 4])
    func tooLong(number: Int) async throws {
        let served = served
        let session = session { request, count in
            var answer = served.answer(to: request)
            // The first response may go on, but not beyond the end of the file.
            if count == number || number == 1 { answer.steps.append(.body(Data("more".utf8))) }
            answer.steps = answer.steps.map { step in
                guard case .head(var head) = step else { return step }
                head = ResponseHead(status: head.status, fields: head.headers.filter { $0.name != "Content-Length" })
                return .head(head)
            }
            return answer
        }
        let error = await failure(of: session.download(url, to: target, segments: 4))
        #expect(error?.code == .unexpectedRange)
        #expect(error?.url?.text == url)
        #expect(try folder.contents == [])
    }

    @Test("A server that changes its file with each response ends as an error", arguments: [0, 2])
    func alwaysChanging(limit: Int) async throws {
        let served = served
        let session = session { request, number in
            var file = served
            file.fields = ["ETag": "\"\(number)\""]
            return file.answer(to: request).cut(after: 9)
        }
        let error = await failure(of: session.download(url, to: target, segments: 4, retryLimit: limit))
        #expect([.unexpectedRange, .connectionLost].contains(error?.code))
        #expect(log.count < 40)
    }

    @Test("A server that stalls ends as a timeout, and its bytes are kept")
    func stalls() async throws {
        let served = served
        let session = session { request, number in
            let answer = served.answer(to: request)
            return (2...4).contains(number)
                ? answer : answer.cut(after: number == 1 ? 3 : 0, .fail(TransportError(.timedOut)))
        }
        #expect(await failure(of: session.download(url, to: target, segments: 4, retryLimit: 2))?.code == .timedOut)
        #expect(log.count == 6)
        #expect(try folder.contents == [".a.larkspur", ".a.larkspur.json"])
        _ = try await self.session { request, _ in served.answer(to: request) }
            .download(url, to: target, segments: 4).value
        try expectFile(served)
    }

    @Test(
        "A status that is not a success ends all connections, and the bytes are kept", arguments: [401, 403, 404, 410])
    func refused(status: Int) async throws {
        let served = served
        let session = session { request, number in
            number < 4 ? served.answer(to: request).cut(after: 2, .stall) : .text("no", status: status)
        }
        let error = await failure(of: session.download(url, to: target, segments: 4))
        #expect(error?.code == .unacceptableStatus && error?.statusCode == status)
        // It depends on chance whether a byte has been written before.
        #expect(try [[], [".a.larkspur", ".a.larkspur.json"]].contains(folder.contents))
    }

    /// A download meets random faults: lost connections, refusals, other versions, wrong ranges, longer and shorter
    /// bodies. In each run the file is complete and of one version, or there is none.
    @Test("Whatever a server does, the file is one of its files", arguments: 0..<40)
    func anything(seed: Int) async throws {
        let random = Protected(SeededRandom(seed: UInt64(seed)))
        let served = served
        let changed = other(isShorter: seed % 2 == 0)
        let isEnding = Protected(false)
        let session = session { request, _ in
            let (isChanged, fault, number) = random.withLock {
                ($0.once(in: 20), Int.random(in: 0..<14, using: &$0), Int.random(in: 0..<1_000_000, using: &$0))
            }
            if isEnding.withLock({ $0 }) { return changed.answer(to: request) }
            let file = isChanged ? changed : served
            var answer = file.answer(to: request)
            switch fault {
            case 0: return .failure(.connectionLost)
            case 1: return .text("", status: 503)
            case 2, 3, 4: return answer.cut(after: number % 20)
            case 5: answer.steps.append(.body(Data([1])))
            case 6: answer.steps = Array(answer.steps.prefix(max(1, answer.steps.count - number % 9)))
            case 7:
                answer = file.response(
                    206, ["Content-Range": file.contentRange(number..<number + 1)], number..<number + 1)
            default: break
            }
            return answer
        }
        for _ in 0..<30 {
            let (count, cancels) = random.withLock { (Int.random(in: 1...6, using: &$0), $0.once(in: 3)) }
            let download = await session.download(url, to: target, segments: count, retryLimit: 2)
            if cancels {
                var progress = download.progress.makeAsyncIterator()
                _ = await progress.next()
                download.cancel()
            }
            if (try? await download.value) != nil { break }
            #expect(try !folder.contents.contains("a"))
        }
        isEnding.withLock { $0 = true }
        if try !folder.contents.contains("a") { _ = try await session.download(url, to: target, segments: 4).value }
        let bytes = try Data(contentsOf: target)
        #expect(bytes == served.bytes || bytes == changed.bytes)
        #expect(try folder.contents == ["a"])
    }

    // MARK: Cancels, and other users of the file

    @Test("A cancelled download keeps its bytes, unless the caller does not want them", arguments: [true, false])
    func cancelled(keeps: Bool) async throws {
        let served = served
        let session = session { request, _ in served.answer(to: request).cut(after: 2, .stall) }
        let download = await session.download(url, to: target, segments: 4)
        for await progress in download.progress where progress.completed == 8 * UInt64(RangedFile.chunk) {
            download.cancel(keepingBytes: keeps)
        }
        await #expect(throws: CancellationError.self) { try await download.value }
        #expect(try folder.contents == (keeps ? [".a.larkspur", ".a.larkspur.json"] : []))
        let count = log.count
        let again = self.session { request, _ in served.answer(to: request) }
        _ = try await again.download(url, to: target, segments: 4).value
        try expectFile(served)
        let requested = log.requests.dropFirst(count).reduce(0) {
            $0 + (RangedFile.range(of: $1, count: served.bytes.count)?.count ?? 0)
        }
        if keeps { #expect(requested == served.bytes.count - 8 * RangedFile.chunk) }
    }

    @Test("A download that is cancelled before it starts makes no request and no file")
    func cancelledBefore() async throws {
        let session = session { _, _ in StubAnswer([.stall]) }
        let download = await session.download(url, to: target, segments: 4)
        download.cancel()
        await #expect(throws: CancellationError.self) { try await download.value }
        download.resume()
        #expect(log.count == 0)
        let awaited = await session.download(url, to: target, segments: 4)
        let task = Task { try await awaited.value }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try folder.contents == [])
    }

    @Test(
        "A cancel between any two events leaves the file, a partial file that can be resumed, or nothing",
        arguments: 0..<60)
    func cancelledAnywhere(number: Int) async throws {
        let served = served
        let events = Counter()
        let held = Protected<SegmentedDownload?>(nil)
        struct Monitor: EventMonitor {
            let act: @Sendable () -> Void
            func request(_ request: any Request, did event: RequestEvent) { act() }
        }
        let session = Session(
            configuration: .bare, transport: log.transport { request, _ in served.answer(to: request) },
            eventMonitors: [
                Monitor { if events.increment() == number * 3 { held.withLock { $0 }?.cancel() } }
            ])
        let download = await session.download(url, to: target, segments: 4)
        held.withLock { $0 = download }
        let isComplete = (try? await download.value) != nil
        held.withLock { $0 = nil }
        let contents = try folder.contents
        #expect([[], ["a"], [".a.larkspur", ".a.larkspur.json"]].contains(contents))
        #expect(contents.contains("a") == isComplete)
        if !isComplete { _ = try await session.download(url, to: target, segments: 3).value }
        try expectFile(served)
    }

    @Test("A second download to the same file fails, and does not harm the first one")
    func twice() async throws {
        let served = served
        let gate = Gate()
        let session = session { request, number in
            if number == 4 { gate.open() }
            return served.answer(to: request).cut(after: 2, .stall)
        }
        let download = await session.download(url, to: target, segments: 4)
        download.resume()
        await gate.pass()
        let other = self.session { request, _ in served.answer(to: request) }
        #expect(await failure(of: other.download(url, to: target, segments: 4))?.code == .fileInUse)
        #expect(await other.download(url, to: target).serializingFile().response.error?.code == .fileInUse)
        #expect(log.count == 4)
        download.cancel()
        await #expect(throws: CancellationError.self) { try await download.value }
        _ = try await other.download(url, to: target, segments: 4).value
        try expectFile(served)
    }

    @Test("A waiting task that is cancelled gets its error at once; the last one cancels the download")
    func waiters() async throws {
        let served = served
        let session = session { request, _ in served.answer(to: request).cut(after: 2, .stall) }
        let download = await session.download(url, to: target, segments: 4)
        let tasks = (0..<2).map { _ in Task { try await download.value } }
        var progress = download.progress.makeAsyncIterator()
        while await progress.next()?.completed != 8 * UInt64(RangedFile.chunk) {}
        tasks[0].cancel()
        // Either task may have begun to wait first.
        await #expect(throws: CancellationError.self) { try await tasks[0].value }
        tasks[1].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[1].value }
        #expect(await progress.next() == nil)
        #expect(try folder.contents == [".a.larkspur", ".a.larkspur.json"])
    }

    @Test("A session that ends its requests ends the download, and keeps its bytes")
    func invalidated() async throws {
        let served = served
        let session = session { request, _ in served.answer(to: request).cut(after: 2, .stall) }
        let download = await session.download(url, to: target, segments: 4)
        for await progress in download.progress where progress.completed == 8 * UInt64(RangedFile.chunk) {
            await session.invalidate()
        }
        #expect(await failure(of: download)?.code == .sessionInvalidated)
        #expect(try folder.contents == [".a.larkspur", ".a.larkspur.json"])
    }
}
