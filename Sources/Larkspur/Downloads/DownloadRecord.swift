/// What it takes to go on with a download that has ended early: where its bytes are, and of what they are.
///
///     let record = await request.cancelProducingResumeRecord()
///     …
///     let file = try await session.download(resuming: record, to: .file(destination)).serializingFile().value
///
/// It is good for as long as its partial file is left alone, also in another process. Nothing depends on its being right:
/// a server whose file is another one by now sends all of it.
public struct DownloadRecord: Codable, Hashable, Sendable {
    /// The URL as it was asked for, before adapters; user and password are not part of it.
    public let url: String
    /// The bytes so far.
    public internal(set) var partialFile: URL
    /// A strong `ETag`, or a `Last-Modified`: what the server tells the file by.
    public let validator: String
    /// How many bytes there were when the record was made. What counts is the partial file's own length.
    public internal(set) var offset: UInt64
    /// How many bytes there will be, if the server has said so.
    public let total: UInt64?
}

extension DownloadRecord {
    /// Nil if what comes with this head cannot be continued: its bytes are decoded on their way to the file, or nothing
    /// tells the server's file from a later one.
    init?(of hop: Hop, url: String, partialFile: URL) {
        let asksForPart = hop.request.headers["Range"] != nil && hop.request.options.resumption == nil
        guard hop.request.method == .get, !asksForPart, let head = hop.head, head.status == 200, head.isPlain,
            head["Accept-Ranges"]?.lowercased() != "none", let validator = head.strongValidator
        else { return nil }
        self.init(url: url, partialFile: partialFile, validator: validator, offset: 0, total: head.contentLength)
    }

    func isOfSame(as other: DownloadRecord) -> Bool { url == other.url && validator == other.validator }
}

/// What a request asks for so that a file can be continued.
struct Resumption: Hashable, Sendable {
    enum Answer: Equatable {
        /// The bytes that are missing.
        case rest(total: UInt64)
        /// There are none.
        case nothing
        /// The whole file, or something else altogether.
        case all
        /// Nothing to go on with: the file has to be asked for from its start.
        case unusable
    }

    let offset: UInt64
    let validator: String
    let total: UInt64?

    /// What the head says about the body. Where it is not sure that both parts are of one file, they are not joined.
    func answer(in head: ResponseHead) -> Answer {
        let range = head["Content-Range"].flatMap(ContentRange.init)
        switch head.status {
        case 206:
            // Without a total nobody could say whether this is all of the rest.
            guard let range, range.first == offset, head.isPlain, isOfSameFile(head), isSame(range.total),
                let total = range.total ?? total
            else { return .unusable }
            return .rest(total: total)
        case 416:
            return range?.first == nil && range?.total == offset && isOfSameFile(head) && isSame(offset)
                ? .nothing : .unusable
        default:
            return .all
        }
    }

    /// Servers that look at `Range` and not at `If-Range` exist.
    private func isOfSameFile(_ head: ResponseHead) -> Bool {
        let theirs = validator.hasPrefix("\"") ? head["ETag"] : head["Last-Modified"]
        return theirs == nil || theirs == validator
    }

    private func isSame(_ other: UInt64?) -> Bool { total == nil || other == nil || total == other }
}

extension OutgoingRequest {
    mutating func askForRest(_ resumption: Resumption) {
        headers.update(name: "Range", value: "bytes=\(resumption.offset)-")
        headers.update(name: "If-Range", value: resumption.validator)
        options.resumption = resumption
    }

    mutating func startOver() {
        headers.remove(name: "Range")
        headers.remove(name: "If-Range")
        options.resumption = nil
    }
}

extension ResponseHead {
    /// Whether the body's bytes are those of the file.
    fileprivate var isPlain: Bool {
        !bodyIsDecoded && ContentCoding.names(in: values(for: "Content-Encoding")).isEmpty
    }

    /// What may stand in `If-Range` by RFC 9110, section 13.1.5: a date only without any `ETag`, and only if the file was
    /// not changed in the second in which it was sent.
    fileprivate var strongValidator: String? {
        if let tag = self["ETag"] { return tag.hasPrefix("\"") && tag.count > 1 && tag.hasSuffix("\"") ? tag : nil }
        guard let date = self["Last-Modified"], date != self["Date"] else { return nil }
        return date
    }
}

/// A `Content-Range` in bytes: `bytes 5-9/10`, `bytes 5-9/*`, `bytes */10`.
struct ContentRange: Equatable {
    /// Nil for a range that could not be had.
    let first: UInt64?
    let total: UInt64?

    init?(_ text: String) {
        let words = text.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        total = Self.number(parts[1])
        guard total != nil || parts[1] == "*" else { return nil }
        if parts[0] == "*" {
            first = nil
            return
        }
        let bounds = parts[0].split(separator: "-", omittingEmptySubsequences: false).map(Self.number)
        guard bounds.count == 2, let first = bounds[0], let last = bounds[1], first <= last, last < total ?? .max
        else { return nil }
        self.first = first
    }

    /// No file has as many bytes as the largest number, nor as one that is too large to be one.
    private static func number(_ text: Substring) -> UInt64? {
        UInt64(digits: text.utf8).flatMap { $0 < .max ? $0 : nil }
    }
}

extension Hop {
    /// Whether the response says that the file was whole before.
    var hasNothingMore: Bool {
        guard let head else { return false }
        return request.options.resumption?.answer(in: head) == .nothing
    }
}
