import Larkspur
import TestSupport
import Testing

@Suite("Challenges of WWW-Authenticate", .limited)
struct AuthenticationChallengeTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let fields: [String]
        let expected: [AuthenticationChallenge]
        var testDescription: String { fields.joined(separator: " ⏎ ") }

        init(_ fields: String..., is expected: AuthenticationChallenge...) {
            self.fields = fields
            self.expected = expected
        }
    }

    private static func basic(_ realm: String) -> AuthenticationChallenge {
        AuthenticationChallenge("Basic", parameters: [.init("realm", realm)])
    }

    static let table = [
        // One challenge
        Row(#"Basic realm="a""#, is: basic("a")),
        Row("Basic realm=a", is: basic("a")),
        Row("  Basic \t realm  =  \"a\"  ", is: basic("a")),
        Row("Basic", is: .init("Basic")),
        Row(
            #"bAsIc Realm="a", CHARSET=UTF-8"#,
            is: .init("bAsIc", parameters: [.init("Realm", "a"), .init("CHARSET", "UTF-8")])),
        Row(
            "X b=2, a=1,b=3", is: .init("X", parameters: [.init("b", "2"), .init("a", "1"), .init("b", "3")])),
        // Quotes
        Row(#"Basic realm="""#, is: basic("")),
        Row(#"Basic realm="a, Digest realm=\"b\"""#, is: basic(#"a, Digest realm="b""#)),
        Row(#"Basic realm="a\\\x""#, is: basic(#"a\x"#)),
        Row(#"Basic realm="größe""#, is: basic("größe")),
        Row(#"Digest realm="x, Basic realm=y""#, is: .init("Digest", parameters: [.init("realm", "x, Basic realm=y")])),
        // A single word
        Row("Negotiate a.B-_~+/9==", is: .init("Negotiate", token: "a.B-_~+/9==")),
        Row("NTLM, Basic realm=a", is: .init("NTLM"), basic("a")),
        Row("Negotiate abc=, Basic realm=a", is: .init("Negotiate", token: "abc="), basic("a")),
        Row("Basic realm=", is: .init("Basic", token: "realm=")),
        // Several
        Row(
            #"Digest qop="auth, auth-int", nonce=n, Basic realm="a", charset="UTF-8", Bearer"#,
            is: .init("Digest", parameters: [.init("qop", "auth, auth-int"), .init("nonce", "n")]),
            .init("Basic", parameters: [.init("realm", "a"), .init("charset", "UTF-8")]), .init("Bearer")),
        Row("Bearer", "Basic realm=a", is: .init("Bearer"), basic("a")),
        Row(", ,,Bearer,, ,Basic realm=a,", is: .init("Bearer"), basic("a")),
        // Fields that break the grammar
        Row(""),
        Row(" , "),
        Row("realm=a, charset=b"),
        Row(#""Basic realm=a""#),
        Row(#"Basic realm="a"#, is: .init("Basic")),
        Row(#"Digest realm="a, Basic realm=b"#, is: .init("Digest")),
        Row(#"Digest realm="a\"#, is: .init("Digest")),
        Row("Basic realm=a b, charset=c", is: .init("Basic", parameters: [.init("charset", "c")])),
        Row(#"Basic realm="a";x="b, Bearer", c=d"#, is: .init("Basic", parameters: [.init("c", "d")])),
        Row("Digest Basic realm=a", is: .init("Digest")),
        Row("Digest@ realm=a", "Basic realm=b", is: basic("b")),
        Row(#"Digest"x" , Basic realm=a"#, is: basic("a")),
        Row("Basic", "realm=a", is: .init("Basic")),
    ]

    @Test("Fields are read by the grammar, and what breaks it is left out up to the next comma", arguments: table)
    func parse(row: Row) {
        #expect(AuthenticationChallenge.parse(row.fields) == row.expected)
    }

    @Test("Schemes and parameters are found whatever their case")
    func names() throws {
        let challenge = try #require(AuthenticationChallenge.parse(["bAsIc ReAlM=a, realm=b"]).first)
        #expect(challenge.isScheme("Basic") && !challenge.isScheme("Digest"))
        #expect(challenge["realm"] == "a")
        #expect(challenge["nonce"] == nil)
    }

    @Test("No field, whatever is in it, is read without an end or costs more than its length", arguments: 0..<8)
    func hostile(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let alphabet = Array(#"ab=",\ "# + "\t;é")
        for _ in 0..<500 {
            let text = String(
                (0..<Int.random(in: 0...40, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? " " })
            for challenge in AuthenticationChallenge.parse([text]) {
                #expect(!challenge.scheme.isEmpty && text.contains(challenge.scheme), "\(text)")
            }
        }
        let long = String(repeating: #"a="\","#, count: 5_000)
        #expect(AuthenticationChallenge.parse([long]).isEmpty)
    }
}
