import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurMessages

/// Downloads over several connections, from servers that keep to the rules.
@Suite("Segmented downloads", .limited)
struct SegmentedDownloadTests: SegmentedDownloadSuite {
    let folder: TemporaryFolder
    let log = TransportLog()
    let clock = LeapingClock()
    private let served = RangedFile()

    init() throws { folder = try TemporaryFolder() }

    /// Returns a session whose requests get the file.
    private func plain(_ configure: (inout SessionConfiguration) -> Void = { _ in }) -> Session {
        let served = served
        var configuration = configuration()
        configure(&configuration)
        return log.session(configuration) { request, _ in served.answer(to: request) }
    }

    private func expectFile() throws { try expectFile(served) }

    /// The requested ranges after the first request, in order.
    private var later: [Range<Int>] {
        log.requests.dropFirst().compactMap { RangedFile.range(of: $0, count: served.bytes.count) }
            .sorted { $0.lowerBound < $1.lowerBound }
    }

    // MARK: The division

    @Test("The file is divided into segments of about the same length", arguments: [2, 3, 4, 5])
    func divided(count: Int) async throws {
        let download = await plain().download(url, to: target, segments: count)
        #expect(try await download.value == target)
        try expectFile()
        #expect(ranges.first == "bytes=0-")
        #expect(later.count == count - 1)
        let segments = [0..<(later.first?.lowerBound ?? 0)] + later
        #expect(zip(segments, segments.dropFirst()).allSatisfy { $0.upperBound == $1.lowerBound })
        #expect(segments.last?.upperBound == served.bytes.count)
        #expect(segments.allSatisfy { abs($0.count - served.bytes.count / count) <= count })
        #expect(log.requests.allSatisfy { $0["Accept-Encoding"] == "identity" })
        #expect(log.requests.map { $0["If-Range"] } == [nil] + Array(repeating: "\"one\"", count: count - 1))
    }

    @Test("Segments are not shorter than a mebibyte, and not more than sixteen", arguments: [6, 16, 100])
    func many(count: Int) async throws {
        _ = try await plain().download(url, to: target, segments: count).value
        try expectFile()
        #expect(log.count == 5)
    }

    @Test("With one segment, or fewer, the request is a plain one", arguments: [1, 0, -3])
    func one(count: Int) async throws {
        _ = try await plain().download(url, to: target, segments: count).value
        try expectFile()
        #expect(ranges == [nil])
    }

    @Test(
        "A file that cannot be divided arrives with the first response",
        arguments: [
            [:], ["ETag": "W/\"one\""], ["ETag": "\"one\"", "ignores": "Range"],
            ["Last-Modified": "Sat, 21 Nov 2026 08:00:00 GMT", "Date": "Sat, 21 Nov 2026 08:00:00 GMT"],
        ] as [HTTPHeaders])
    func undivided(fields: HTTPHeaders) async throws {
        var served = served
        served.ignoresRange = fields["ignores"] != nil
        served.fields = fields
        let session = session { [served] request, _ in served.answer(to: request) }
        _ = try await session.download(url, to: target, segments: 4).value
        try expectFile()
        #expect(ranges == ["bytes=0-"])
    }

    @Test("Short and empty files arrive with the first response", arguments: [0, 1, 1 << 20, (1 << 20) * 3 / 2])
    func short(count: Int) async throws {
        var served = served
        served.bytes = served.bytes.prefix(count)
        let session = session { [served] request, _ in served.answer(to: request) }
        _ = try await session.download(url, to: target, segments: 4).value
        try expectFile(served)
        #expect(ranges == (count == 0 ? ["bytes=0-", nil] : ["bytes=0-"]))
    }

    @Test("A body of unknown length, and one with a content coding, arrive as one")
    func unknownLength() async throws {
        let served = served
        let gzip = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0x4B, 4, 0, 0x43, 0xBE, 0xB7, 0xE8, 1, 0, 0, 0])
        let unknown = session { _, _ in .response(headers: served.fields, chunks: served.chunks(0..<served.bytes.count))
        }
        _ = try await unknown.download(url, to: target, segments: 4).value
        try expectFile()
        let coded = session { _, _ in
            .response(headers: ["ETag": "\"a\"", "Content-Encoding": "gzip", "Content-Length": "21"], chunks: [gzip])
        }
        _ = try await coded.download(url, to: folder["b"], segments: 4).value
        #expect(try String(contentsOf: folder["b"], encoding: .utf8) == "a")
    }

    // MARK: Options, progress and the end

    @Test("The progress covers all connections, does not decrease, and ends with the file's length")
    func progress() async throws {
        let download = await plain().download(url, to: target, segments: 4)
        var values: [TransferProgress] = []
        for await value in download.progress { values.append(value) }
        _ = try await download.value
        let total = UInt64(served.bytes.count)
        #expect(values.last == TransferProgress(completed: total, total: total))
        #expect(zip(values, values.dropFirst()).allSatisfy { $0.completed <= $1.completed })
    }

    @Test("The checksum is that of the whole file; a different one keeps nothing")
    func checksum() async throws {
        let path = try folder.write(served.bytes, to: "copy")
        let sum = try StreamingHash.hexadecimal(of: path)
        let session = plain()
        _ = try await session.download(url, to: target, segments: 4, options: [.checksum(.sha256, sum)]).value
        #expect(try Data(contentsOf: target) == served.bytes)
        let wrong = String(repeating: "0", count: 64)
        let options: [DownloadOption] = [.checksum(.sha256, wrong)]
        #expect(
            await failure(of: session.download(url, to: folder["b"], segments: 4, options: options))?.code
                == .checksumMismatch)
        let count = log.count
        let invalid = await session.download(url, to: folder["b"], segments: 4, options: [.checksum(.sha256, "x")])
        #expect(await failure(of: invalid)?.code == .invalidChecksum)
        #expect(log.count == count)
        #expect(try folder.contents == ["a", "copy"])
    }

    @Test("An existing file is an error before the first request, and is replaced on request")
    func existing() async throws {
        try folder.write("old".utf8, to: "a")
        let session = plain()
        #expect(await failure(of: session.download(url, to: target, segments: 4))?.code == .fileExists)
        #expect(log.count == 0)
        #expect(try Data(contentsOf: target) == Data("old".utf8))
        _ = try await session.download(url, to: target, segments: 4, options: [.removePreviousFile]).value
        try expectFile()
        let below = folder["new/folder/a"]
        #expect(await failure(of: session.download(url, to: below, segments: 4))?.code == .fileUnwritable)
        let options: [DownloadOption] = [.createIntermediateDirectories]
        _ = try await session.download(url, to: below, segments: 4, options: options).value
        #expect(try Data(contentsOf: below) == served.bytes)
    }

    @Test("The session's limit for bodies applies to the whole file, also when it is resumed")
    func limit() async throws {
        let large = plain { $0.options.maximumBodySize = 4 << 20 }
        #expect(await failure(of: large.download(url, to: target, segments: 4))?.code == .contentTooLarge)
        #expect(try folder.contents == [])
        try await interrupt()
        #expect(await failure(of: large.download(url, to: target, segments: 4))?.code == .contentTooLarge)
        #expect(try folder.contents == [])
    }

    @Test("With one connection for a host, the segments arrive one after the other")
    func oneConnection() async throws {
        let session = plain { $0.limits = RequestLimits(total: 1) }
        _ = try await session.download(url, to: target, segments: 4).value
        try expectFile()
    }

    @Test("Over the network, from a server with sockets")
    func network() async throws {
        let bytes = served.bytes
        let server = try MockServer { request in
            let ends = request.headers["Range"]?.dropFirst(6).split(separator: "-").compactMap { Int($0) } ?? []
            guard let first = ends.first else { return .text("", status: 400) }
            let range = first..<(ends.count == 2 ? ends[1] + 1 : bytes.count)
            return .response(
                206,
                headers: [
                    "ETag": "\"one\"",
                    "Content-Range": "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(bytes.count)",
                ], chunks: [Data(bytes[range])])
        }
        let session = Session()
        _ = try await session.download(server.url + "/a", to: target, segments: 4).value
        try expectFile()
        #expect(server.requests.count == 4)
    }

    // MARK: Resuming

    private static let interruptedChunks = [3, 0, 5, 7]

    /// Downloads until each of the four connections has received some chunks, and then cancels the download.
    private func interrupt() async throws {
        let served = served
        let count = Counter()
        let session = Session(
            configuration: .bare,
            transport: StubTransport { request in
                served.answer(to: request).cut(after: Self.interruptedChunks[count.increment() - 1], .stall)
            })
        let download = await session.download(url, to: target, segments: 4, retryLimit: 0)
        let bytes = UInt64(Self.interruptedChunks.reduce(0, +) * RangedFile.chunk)
        for await progress in download.progress where progress.completed == bytes { download.cancel() }
        await #expect(throws: CancellationError.self) { try await download.value }
        #expect(try folder.contents == [".a.larkspur", ".a.larkspur.json"])
    }

    @Test("After a failure the missing bytes are requested, with any number of segments", arguments: [1, 2, 4, 7])
    func resume(count: Int) async throws {
        try await interrupt()
        let download = await plain().download(url, to: target, segments: count)
        var values: [TransferProgress] = []
        for await value in download.progress { values.append(value) }
        _ = try await download.value
        try expectFile()
        let requested = log.requests.reduce(0) { $0 + (RangedFile.range(of: $1, count: .max)?.count ?? 0) }
        #expect(requested == served.bytes.count - Self.interruptedChunks.reduce(0, +) * RangedFile.chunk)
        #expect(log.requests.allSatisfy { $0["If-Range"] == "\"one\"" })
        #expect(values.first.map { $0.completed > 0 } == true)
    }

    @Test("A retry requests the rest of a segment, after a delay, and without progress only up to the limit")
    func retry() async throws {
        let served = served
        let session = session { request, number in
            number <= 6 ? served.answer(to: request).cut(after: 2) : served.answer(to: request)
        }
        _ = try await session.download(url, to: target, segments: 3, retryLimit: 1).value
        try expectFile()
        #expect(clock.sleeps.count == 6)
        let dead = self.session { request, number in
            number > 12 ? .failure(.timedOut) : served.answer(to: request).cut(after: 9)
        }
        let error = await failure(of: dead.download(url, to: folder["b"], segments: 3, retryLimit: 2))
        #expect(error?.code == .timedOut)
        #expect(try folder.contents.contains(".b.larkspur.json"))
    }

    @Test("A server that accepts few connections is asked over those")
    func overload() async throws {
        let served = served
        let active = Counter()
        let session = session { request, number in
            active.increment()
            return [2, 4].contains(number) ? .text("", status: 503) : served.answer(to: request)
        }
        _ = try await session.download(url, to: target, segments: 4).value
        try expectFile()
    }

    @Test("A server that sends less than a range is asked for the rest at once")
    func shortRanges() async throws {
        let served = served
        let session = session { request, _ in
            guard let range = RangedFile.range(of: request, count: served.bytes.count) else {
                return .failure(.unreachable)
            }
            let part = range.prefix(300_000)
            return served.response(206, ["Content-Range": served.contentRange(part)], part)
        }
        _ = try await session.download(url, to: target, segments: 2).value
        try expectFile()
        #expect(clock.sleeps.isEmpty)
    }

    @Test("The start of a file that a plain download has left is continued in segments")
    func afterPlain() async throws {
        let served = served
        let cut = session { request, _ in served.answer(to: request).cut(after: 10) }
        #expect(await cut.download(url, to: target).serializingFile().response.error != nil)
        _ = try await plain().download(url, to: target, segments: 4).value
        try expectFile()
        #expect(later.first?.lowerBound == 10 * RangedFile.chunk)
        #expect(log.count == 5)
    }

    @Test("A plain download does not take the partial file of a segmented one for its own")
    func plainAfterwards() async throws {
        try await interrupt()
        let response = await plain().download(url, to: target).serializingFile().response
        #expect(response.error == nil)
        try expectFile()
        #expect(ranges == [nil])
    }

    @Test("With startOver, and for another URL, the received bytes are not used")
    func startOver() async throws {
        try await interrupt()
        _ = try await plain().download(url, to: target, segments: 4, options: [.startOver]).value
        try expectFile()
        #expect(ranges.first == "bytes=0-")
        try FileManager.default.removeItem(at: target)
        try await interrupt()
        _ = try await plain().download(url + "?2", to: target, segments: 4).value
        try expectFile()
        #expect(ranges.filter { $0 == "bytes=0-" }.count == 2)
    }

    @Test(
        "A record that does not fit the partial file is not used",
        arguments: [
            "", "{}", #"{"url":"U","validator":"\"one\"","total":9,"missing":[[0,1]]}"#,
            #"{"url":"U","validator":"\"one\"","total":5242957,"missing":[]}"#,
            #"{"url":"U","validator":"\"one\"","total":5242957,"missing":[[5,4]]}"#,
            #"{"url":"U","validator":"\"one\"","total":5242957,"missing":[[9,20],[15,5242957]]}"#,
            #"{"url":"U","validator":"\"one\"","total":5242957,"missing":[[9]]}"#,
            #"{"url":"U","validator":"\"one\"","total":18446744073709551615,"missing":[[9,18446744073709551615]]}"#,
        ])
    func damaged(record: String) async throws {
        try folder.write([UInt8](repeating: 7, count: 100), to: ".a.larkspur")
        try folder.write(record.replacing("U", with: url).utf8, to: ".a.larkspur.json")
        _ = try await plain().download(url, to: target, segments: 4).value
        try expectFile()
        #expect(ranges.first == "bytes=0-")
    }

    @Test("A complete partial file is compared with the server's file before it is moved")
    func complete() async throws {
        for tag in ["\"one\"", "\"two\""] {
            try? FileManager.default.removeItem(at: target)
            try folder.write(served.bytes, to: ".a.larkspur")
            let record = #"{"url":"U","validator":"\"one\"","total":5242957,"missing":[]}"#
            try folder.write(record.replacing("U", with: url).utf8, to: ".a.larkspur.json")
            var server = served
            server.fields = ["ETag": tag]
            server.bytes[0] = tag == "\"two\"" ? 99 : server.bytes[0]
            _ = try await session { [server] request, _ in server.answer(to: request) }
                .download(url, to: target, segments: 4).value
            try expectFile(server)
        }
        #expect(ranges == ["bytes=5242956-5242956", "bytes=5242956-5242956"])
    }
}

extension StreamingHash {
    /// Returns the SHA-256 of a file.
    fileprivate static func hexadecimal(of file: URL) throws -> String {
        var hash = StreamingHash(.sha256)
        try Data(contentsOf: file).withUnsafeBytes { hash.update($0) }
        return hash.finalize().hexadecimal
    }
}
