import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// A file on a server that supports closed ranges, whose answers a stub returns.
struct RangedFile: Sendable {
    var bytes = MockResponse.pattern(from: 0, count: 5 * (1 << 20) + 77)
    /// The header fields with the validators of the file.
    var fields: HTTPHeaders = ["ETag": "\"one\""]
    /// Whether the server ignores `If-Range`.
    var ignoresIfRange = false
    /// Whether the server ignores `Range`.
    var ignoresRange = false

    static let chunk = 64 << 10

    /// Returns the range that a request asks for; nil if it asks for the whole file.
    static func range(of request: TransportRequest, count: Int) -> Range<Int>? {
        guard let text = request["Range"], text.hasPrefix("bytes=") else { return nil }
        let ends = text.dropFirst(6).split(separator: "-").compactMap { Int($0) }
        guard let first = ends.first else { return nil }
        return first..<(ends.count == 2 ? min(count, ends[1] + 1) : count)
    }

    func answer(to request: TransportRequest) -> StubAnswer {
        let condition = request["If-Range"]
        let isSame = condition == nil || ignoresIfRange || condition == fields["ETag"]
        guard !ignoresRange, isSame, let range = Self.range(of: request, count: bytes.count) else {
            return response(200, [:], 0..<bytes.count)
        }
        guard range.lowerBound < bytes.count else {
            return .response(416, headers: ["Content-Range": "bytes */\(bytes.count)"])
        }
        return response(206, ["Content-Range": contentRange(range)], range)
    }

    func contentRange(_ range: Range<Int>) -> String {
        "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(bytes.count)"
    }

    func response(_ status: Int, _ others: HTTPHeaders, _ range: Range<Int>) -> StubAnswer {
        var headers = fields
        headers.add(name: "Content-Length", value: "\(range.count)")
        for field in others { headers.update(field) }
        return .response(status, headers: headers, chunks: chunks(range))
    }

    func chunks(_ range: Range<Int>) -> [Data] {
        stride(from: range.lowerBound, to: range.upperBound, by: Self.chunk).map {
            Data(bytes[$0..<min($0 + Self.chunk, range.upperBound)])
        }
    }
}

extension StubAnswer {
    /// Returns this answer, cut after so many chunks of its body, and then this step.
    func cut(after count: Int, _ end: Step = .fail(TransportError(.connectionLost))) -> StubAnswer {
        StubAnswer(Array(steps.prefix(1 + count)) + [end])
    }
}

/// A suite of downloads to the file `a` of a folder.
protocol SegmentedDownloadSuite {
    var folder: TemporaryFolder { get }
    var log: TransportLog { get }
    /// A clock that does not wait.
    var clock: LeapingClock { get }
}

extension SegmentedDownloadSuite {
    var url: String { "http://h/files/archive.zip" }
    var target: URL { folder["a"] }
    /// The requested ranges, in the order of the requests.
    var ranges: [String?] { log.requests.map { $0["Range"] } }

    func configuration() -> SessionConfiguration {
        SessionConfiguration {
            $0.clock = clock
            $0.headers = [:]
        }
    }

    func session(answering answer: @escaping @Sendable (TransportRequest, Int) -> StubAnswer) -> Session {
        log.session(configuration(), answering: answer)
    }

    func expectFile(_ served: RangedFile) throws {
        #expect(try Data(contentsOf: target) == served.bytes)
        #expect(try folder.contents == ["a"])
    }

    func failure(of download: SegmentedDownload) async -> RequestError? {
        do {
            let file = try await download.value
            Issue.record("a success: \(file)")
            return nil
        } catch {
            return error as? RequestError
        }
    }
}
