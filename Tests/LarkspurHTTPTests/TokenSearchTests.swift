import TestSupport
import Testing

@testable import LarkspurHTTP

@Suite("The search for secrets that have a known form", .limited)
struct TokenSearchTests {
    /// Returns the ranges of secrets and the number of steps of the search.
    private static func search(_ text: String) -> (ranges: [Range<Int>], steps: Int) {
        var text = text
        return text.withUTF8 { bytes in
            let search = TokenSearch(bytes)
            return (search.ranges, search.steps)
        }
    }

    @Test(
        "The work for a text that almost has secrets grows with its length alone",
        arguments: [
            "e", "ey", "eyJ", "eyJabcdefghi", "eyJ ", "eyJ.", "eyJ-----BEGIN ", "-", "-----", "-----BEGIN ",
            "-----BEGIN PRIVATE KE-", "-----BEGIN PRIVATE PRIVATE PRIVATE PRIVATE PRIVATE ", "-----BEGIN PRIVATE KEY",
            "-----BEGIN PRIVATE KEY-----\n-----END ", "-----END ", "b", "beare", "bearer", "bearer ", "bearer\n",
            "bearer the ", "bearer%20", "bearer:,", "bearer =realm=", "Bearer x, ", "eyJhbGciOiJIUzI1NiJ9.e30 ",
            "eyJabcdefgh.",
            "bearereyJ-----BEGIN ",
        ])
    func work(piece: String) {
        for prefix in ["", "eyJ", "-----BEGIN PRIVATE KEY-----", "bearer "] {
            let text = prefix + String(repeating: piece, count: (2 << 20) / piece.utf8.count)
            #expect(Self.search(text).steps <= 16 * text.utf8.count)
        }
    }

    @Test("A search finds all secrets of a text, and none before its start or behind its end")
    func ranges() {
        #expect(Self.search("a eyJabcdefg.b c").ranges == [2..<14])
        #expect(Self.search("Bearer a,bearer b").ranges == [7..<8, 16..<17])
        #expect(Self.search("-----BEGIN PRIVATE KEY-----").ranges == [0..<27])
        #expect(Self.search("-----BEGIN A PRIVATE KEY-----x-----END A PRIVATE KEY-----y").ranges == [0..<57])
        for text in ["", "e", "eyJ", "b", "bearer", "bearer ", "-", "-----BEGIN ", "-----BEGIN PRIVATE"] {
            #expect(Self.search(text).ranges.isEmpty)
        }
    }
}
