/// The version of a server's file whose bytes a partial file has.
struct DownloadVersion: Equatable, Sendable {
    /// A strong `ETag`, or a `Last-Modified` date.
    let validator: String
    let total: UInt64
}

/// The state of an unfinished segmented download, in a file beside the partial file.
///
/// It cannot be decoded as a ``DownloadRecord``. A plain download would otherwise take the length of the partial file
/// for the number of its bytes.
struct SegmentedDownloadRecord: Codable, Equatable {
    let url: String
    let validator: String
    let total: UInt64
    /// The missing parts of the file: for each one the position of its first byte, and of the byte after its last one.
    let missing: [[UInt64]]

    private static let maximumParts = 1_000

    init(url: String, version: DownloadVersion, missing: [Range<UInt64>]) {
        (self.url, validator, total) = (url, version.validator, version.total)
        self.missing = missing.map { [$0.lowerBound, $0.upperBound] }
    }

    var version: DownloadVersion { DownloadVersion(validator: validator, total: total) }

    /// Returns the missing ranges, in order and joined; nil if the record is damaged, or does not describe a partial
    /// file of this length.
    func ranges(length: UInt64) -> [Range<UInt64>]? {
        guard total <= SegmentLayout.maximumTotal, length <= total, missing.count <= Self.maximumParts else {
            return nil
        }
        var ranges: [Range<UInt64>] = []
        for pair in missing {
            guard pair.count == 2, pair[0] < pair[1], pair[1] <= total, pair[0] >= ranges.last?.upperBound ?? 0
            else { return nil }
            let start = ranges.last?.upperBound == pair[0] ? ranges.removeLast().lowerBound : pair[0]
            ranges.append(start..<pair[1])
        }
        let end = ranges.last.flatMap { $0.upperBound == total ? $0.lowerBound : nil } ?? total
        return length >= end ? ranges : nil
    }
}

/// The division of a file into segments.
enum SegmentLayout {
    static let maximumCount = 16
    static let minimumLength: UInt64 = 1 << 20
    /// The length of the longest file that the system can write.
    static let maximumTotal = UInt64(Int64.max)

    /// Divides the missing parts of a file into segments of similar length. The number of segments is at most `count`
    /// or, if that is larger, the number of parts. A part is divided only if its segments have the minimum length.
    static func segments(of missing: [Range<UInt64>], count: Int) -> [Range<UInt64>] {
        let count = UInt64(min(max(1, count), maximumCount))
        let total = missing.reduce(0) { $0 + $1.length }
        let length = max(minimumLength, total / count + (total % count == 0 ? 0 : 1))
        return missing.flatMap { part -> [Range<UInt64>] in
            // The rounded length may exceed the exact quotient by less than a byte for each segment.
            let pieces = max(1, min(count, (part.length + count - 1) / length))
            let step = part.length / pieces
            return (0..<pieces).map { number in
                let start = part.lowerBound + number * step
                return start..<(number == pieces - 1 ? part.upperBound : start + step)
            }
        }
    }
}

extension Range<UInt64> {
    var length: UInt64 { upperBound - lowerBound }
}
