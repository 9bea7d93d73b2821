import LarkspurHTTP
import Testing

extension ResponseHeadTests {
    /// Pieces of field lines that make random texts reach every branch.
    private static let pieces: [[UInt8]] =
        [
            ":", " ", "\t", "\r", "\n", "\r\n", "A", "Content-Length", "12", "-", "ü", "\u{0}", ",", "\r\n ", "",
        ].map { Array($0.utf8) } + [[0xFC], [0xFF], [0xC3], [0xE2, 0x82], [0x80]]

    /// Returns the rule that the parsed fields break, if any. The test uses rules, because computing the expected
    /// fields would take longer than parsing.
    private static func brokenRule(_ raw: [UInt8]) -> String? {
        let head = ResponseHead(status: 200, rawFields: raw)
        let fields = head.fields
        if head.rawFields != raw { return "the bytes are kept" }
        if !fields.isEmpty, !raw.contains(0x3A) { return "a field has a colon" }
        for field in fields {
            if field.value.utf8.contains(where: { $0 == 0x0A || $0 == 0x0D }) { return "a value has no line end" }
            if field.name.isEmpty || field.name.utf8.contains(0x3A) { return "a name has bytes, and no colon" }
            guard field.name.utf8.allSatisfy({ $0 < 128 }) else { continue }
            let matching = fields.filter { $0.name.lowercased() == field.name.lowercased() }.map(\.value)
            if head.values(for: field.name) != matching { return "values(for:) gives what fields gives" }
            if head[field.name] != matching.first { return "the subscript gives the first value" }
        }
        let isDeclared = !head.values(for: "Content-Length").isEmpty
        return head.contentLength != nil && !isDeclared ? "a length is declared by a field" : nil
    }

    private static func check(_ raw: [UInt8]) {
        if let rule = brokenRule(raw) { Issue.record("\(rule): \(raw)") }
    }

    @Test("random bytes are read without a trap", arguments: 0..<8)
    func randomBytes(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<500 {
            let count = Int.random(in: 0...60, using: &random)
            Self.check((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) })
        }
    }

    @Test("random pieces of fields are read without a trap", arguments: 0..<8)
    func randomPieces(seed: UInt64) {
        var random = SeededRandom(seed: ~seed)
        for _ in 0..<500 {
            let count = Int.random(in: 0...24, using: &random)
            Self.check((0..<count).flatMap { _ in Self.pieces.randomElement(using: &random) ?? [] })
        }
    }

    @Test("a head of very many lines, folds or colons is read in one go", arguments: ["A:1\n", "\n ", ":", "\r", "A"])
    func long(piece: String) {
        let raw = Array(String(repeating: piece, count: 10_000).utf8)
        let head = ResponseHead(status: 200, rawFields: raw)
        #expect(head.fields.count == (piece == "A:1\n" ? 10_000 : 0))
        #expect(head["B"] == nil)
    }
}
