import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurImages

@Suite("When a part of a file is worth a preview", .limited)
struct PreviewProgressTests {
    private static let step = PreviewProgress.minimumStep

    private func head(_ status: Int = 200, length: Int? = nil, coding: String? = nil, isDecoded: Bool = false)
        -> ResponseHead
    {
        var headers = HTTPHeaders()
        if let length { headers["Content-Length"] = "\(length)" }
        if let coding { headers["Content-Encoding"] = coding }
        return ResponseHead(status: status, fields: Array(headers), bodyIsDecoded: isDecoded)
    }

    /// Plays a response whose parts have these sizes. Each decoding ends at once.
    private func previews(
        of head: ResponseHead, _ parts: [Int], in progress: inout PreviewProgress
    ) -> [Int] {
        progress.begin()
        progress.receive(head)
        var offset = 0
        var previews: [Int] = []
        for part in parts {
            var next = progress.receive(BodyPart(of: .response, offset: UInt64(offset), bytes: Data(count: part)))
            offset += part
            while let data = next {
                previews.append(data.count)
                next = progress.decoded(isLast: false)
            }
        }
        return previews
    }

    private func previews(of head: ResponseHead, _ parts: [Int]) -> [Int] {
        var progress = PreviewProgress()
        return previews(of: head, parts, in: &progress)
    }

    @Test("A body of known length is worth a preview for each eighth, without the last one")
    func knownLength() {
        let size = 800 * Self.step
        let counts = previews(of: head(length: size), Array(repeating: Self.step, count: 800))
        #expect(counts == (1...7).map { $0 * size / 8 })
    }

    @Test("A body of unknown length is worth a preview for each doubling")
    func unknownLength() {
        let counts = previews(of: head(), Array(repeating: Self.step, count: 1_000))
        #expect(counts == (0...9).map { Self.step << $0 })
    }

    @Test("A small body has no preview, and neither has a body that arrives at once")
    func small() {
        #expect(previews(of: head(length: Self.step), Array(repeating: 1_024, count: 8)).isEmpty)
        #expect(previews(of: head(), [Self.step - 1]).isEmpty)
        #expect(previews(of: head(length: Self.step * 9), [Self.step * 9]).isEmpty)
    }

    @Test("The work of all previews is less than four decodings of the file, in parts of any size", arguments: 0..<20)
    func work(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let parts = (0..<500).map { _ in Int.random(in: 1...20_000, using: &random) }
        let size = parts.reduce(0, +)
        for head in [head(), head(length: size)] {
            let counts = previews(of: head, parts)
            #expect(!counts.isEmpty)
            #expect(counts.reduce(0, +) <= size * 4)
            #expect(zip(counts, counts.dropFirst()).allSatisfy { $1 >= $0 + Self.step })
        }
    }

    @Test("A body that is not the file as it is is worth none")
    func others() {
        let parts = [Self.step * 4, Self.step * 4]
        #expect(previews(of: head(404), parts).isEmpty)
        #expect(previews(of: head(302), parts).isEmpty)
        #expect(previews(of: head(206), parts).isEmpty)
        #expect(previews(of: head(coding: "gzip"), parts).isEmpty)
        #expect(previews(of: head(coding: "identity"), parts).count == 2)
        #expect(previews(of: head(coding: "gzip", isDecoded: true), parts).count == 2)
        // The length is that of the coded body.
        #expect(previews(of: head(length: 9, coding: "gzip", isDecoded: true), parts).count == 2)
    }

    @Test("A decoding that takes long delays the next one, which has all that arrived meanwhile")
    func slow() {
        var progress = PreviewProgress()
        progress.begin()
        progress.receive(head())
        func part(_ index: Int) -> BodyPart {
            BodyPart(of: .response, offset: UInt64(index * Self.step), bytes: Data(count: Self.step))
        }
        #expect(progress.receive(part(0))?.count == Self.step)
        for index in 1..<9 { #expect(progress.receive(part(index)) == nil) }
        #expect(progress.decoded(isLast: false)?.count == 9 * Self.step)
        #expect(progress.decoded(isLast: false) == nil)
    }

    @Test("A request that is repeated has previews beyond those of the one before")
    func repeated() {
        var progress = PreviewProgress()
        let parts = Array(repeating: Self.step, count: 4)
        #expect(previews(of: head(302), parts, in: &progress).isEmpty)
        #expect(previews(of: head(), parts, in: &progress) == [1, 2, 4].map { $0 * Self.step })
        #expect(previews(of: head(), parts + parts, in: &progress) == [8 * Self.step])
    }

    @Test("A stored file is worth none", arguments: [CacheOutcome.hit(age: .seconds(1)), .revalidated])
    func stored(_ outcome: CacheOutcome) {
        var progress = PreviewProgress()
        progress.receive(outcome)
        #expect(previews(of: head(), [Self.step, Self.step], in: &progress).isEmpty)
        progress = PreviewProgress()
        progress.receive(.miss)
        #expect(previews(of: head(), [Self.step, Self.step], in: &progress).count == 2)
    }

    @Test("After a gap, a failed decoding or the end, there are no previews")
    func over() {
        for stop in 0..<3 {
            var progress = PreviewProgress()
            progress.begin()
            progress.receive(head())
            let start = progress.receive(BodyPart(of: .response, offset: 0, bytes: Data(count: Self.step)))
            #expect(start != nil)
            switch stop {
            case 0:
                let late = BodyPart(of: .response, offset: UInt64(3 * Self.step), bytes: Data(count: Self.step))
                #expect(progress.receive(late) == nil)
                #expect(progress.decoded(isLast: false) == nil)
            case 1: #expect(progress.decoded(isLast: true) == nil)
            default:
                progress.stop()
                #expect(progress.decoded(isLast: false) == nil)
            }
            #expect(previews(of: head(), [Self.step * 8, Self.step * 8], in: &progress).isEmpty)
        }
    }
}
