import Larkspur
import TestSupport
import Testing

@testable import LarkspurTransfers

@Suite("The division of a file into segments", .limited)
struct SegmentLayoutTests {
    private static let mebibyte: UInt64 = 1 << 20

    @Test("A file is divided evenly, and into no segment shorter than a mebibyte")
    func even() {
        let size = Self.mebibyte
        #expect(SegmentLayout.segments(of: [0..<4 * size], count: 4).map(\.length) == [size, size, size, size])
        #expect(SegmentLayout.segments(of: [0..<4 * size - 16], count: 4).count == 3)
        #expect(SegmentLayout.segments(of: [0..<2 * size - 17], count: 16) == [0..<2 * size - 17])
        #expect(SegmentLayout.segments(of: [0..<0], count: 4) == [0..<0])
        #expect(SegmentLayout.segments(of: [0..<1 << 63], count: 1) == [0..<1 << 63])
    }

    @Test("Random missing parts are divided without gaps, and in order", arguments: 0..<rounds(200, nightly: 5_000))
    func random(seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        var (missing, end) = ([Range<UInt64>](), UInt64(0))
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            let start = end + UInt64.random(in: 1...(30 * Self.mebibyte), using: &random)
            end = start + UInt64.random(in: 1...(30 * Self.mebibyte), using: &random)
            missing.append(start..<end)
        }
        let count = Int.random(in: -1...20, using: &random)
        let segments = SegmentLayout.segments(of: missing, count: count)
        #expect(segments.allSatisfy { !$0.isEmpty })
        var joined: [Range<UInt64>] = []
        for segment in segments {
            let start =
                joined.last?.upperBound == segment.lowerBound ? joined.removeLast().lowerBound : segment.lowerBound
            joined.append(start..<segment.upperBound)
        }
        #expect(joined == missing)
        #expect(segments.count < min(max(1, count), 16) + missing.count)
        let short = segments.count { $0.length < Self.mebibyte - 16 }
        #expect(short <= missing.count { $0.length < Self.mebibyte })
    }

    @Test("A record that was written can be read, with adjacent parts joined, also before the first byte")
    func record() throws {
        let version = DownloadVersion(validator: "\"a\"", total: 100)
        let record = SegmentedDownloadRecord(url: "u", version: version, missing: [0..<40, 40..<50, 70..<100])
        let read = try JSONDecoder().decode(SegmentedDownloadRecord.self, from: JSONEncoder().encode(record))
        #expect(read == record && read.version == version)
        #expect(read.ranges(length: 70) == [0..<50, 70..<100])
        #expect(read.ranges(length: 69) == nil, "the file lacks a byte that was received")
        #expect(read.ranges(length: 101) == nil)
        let fresh = SegmentedDownloadRecord(url: "u", version: version, missing: [0..<40, 40..<100])
        #expect(fresh.ranges(length: 0) == [0..<100])
    }

    @Test("A plain download cannot read the record of a segmented one")
    func otherRecord() throws {
        let version = DownloadVersion(validator: "\"a\"", total: 100)
        let data = try JSONEncoder().encode(SegmentedDownloadRecord(url: "u", version: version, missing: []))
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(DownloadRecord.self, from: data) }
    }
}
