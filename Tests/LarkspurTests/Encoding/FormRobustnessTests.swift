import Larkspur
import TestSupport
import Testing

@Suite("The form encoder and odd values", .limited)
struct FormRobustnessTests {
    private func isEncodingFailure(_ error: any Error) -> Bool { (error as? RequestError)?.code == .encodingFailed }

    // MARK: Depth

    /// A list of nested values, for each way in which a type can pass encoding on.
    private final class Chain: Encodable, Sendable {
        enum Link: String, CaseIterable { case member, element, single, optional, superclass }
        enum Key: CodingKey { case next }

        let link: Link
        let next: Chain?

        init(_ link: Link, length: Int) {
            self.link = link
            next = length > 1 ? Chain(link, length: length - 1) : nil
        }

        func encode(to encoder: any Encoder) throws {
            guard let next else {
                var container = encoder.container(keyedBy: Key.self)
                return try container.encode(1, forKey: .next)
            }
            switch link {
            case .member:
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(next, forKey: .next)
            case .element:
                var container = encoder.unkeyedContainer()
                try container.encode(next)
            case .single:
                var container = encoder.singleValueContainer()
                try container.encode(next)
            case .optional:
                var container = encoder.singleValueContainer()
                try container.encode(Optional(next))
            case .superclass:
                var container = encoder.container(keyedBy: Key.self)
                try next.encode(to: container.superEncoder(forKey: .next))
            }
        }
    }

    @Test("Values that are nested too deep are an error, in every way of nesting", arguments: Chain.Link.allCases)
    private func tooDeep(link: Chain.Link) {
        #expect {
            try URLEncodedFormEncoder().encode(["a": Chain(link, length: 1_000)])
        } throws: {
            isEncodingFailure($0)
        }
    }

    @Test("Custom containers have the same limit, and are released without recursion")
    func deepContainers() {
        struct Deep: Encodable {
            enum Key: CodingKey { case next }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Key.self)
                for _ in 0..<100_000 { container = container.nestedContainer(keyedBy: Key.self, forKey: .next) }
            }
        }
        #expect {
            try URLEncodedFormEncoder().encode(Deep())
        } throws: {
            isEncodingFailure($0)
        }
    }

    @Test("Each way of nesting works up to the limit, on the stack of a small thread", arguments: Chain.Link.allCases)
    private func smallStack(link: Chain.Link) async throws {
        let isEncoded = await withCheckedContinuation { continuation in
            let thread = Thread {
                let value = ["a": Chain(link, length: URLEncodedFormEncoder.maximumDepth / 2)]
                continuation.resume(returning: (try? URLEncodedFormEncoder().encode(value))?.hasSuffix("=1") ?? false)
            }
            thread.stackSize = 512 * 1024
            thread.start()
        }
        #expect(isEncoded)
    }

    @Test("The deepest allowed value can be encoded on the stack of a small thread")
    func deepest() async throws {
        let depth = URLEncodedFormEncoder.maximumDepth
        let forms = await withCheckedContinuation { continuation in
            let thread = Thread {
                let encoder = URLEncodedFormEncoder()
                let json = (1..<depth).reduce(JSON.object(["a": 1])) { inner, _ in ["a": inner] }
                continuation.resume(returning: [
                    try? encoder.encode(Chain(.member, length: depth)), try? encoder.encode(json),
                ])
            }
            thread.stackSize = 512 * 1024
            thread.start()
        }
        let expected = [("next", depth), ("a", depth)].map { key, count in
            key + String(repeating: "%5B\(key)%5D", count: count - 1) + "=1"
        }
        #expect(forms == expected)
    }

    // MARK: Size

    @Test("A hundred thousand values in one container are encoded quickly")
    func wide() throws {
        let count = 100_000
        let list = try URLEncodedFormEncoder(arrayEncoding: .indexInBrackets).encode(["a": [["k": Array(0..<count)]]])
        #expect(list.hasPrefix("a%5B0%5D%5Bk%5D%5B0%5D=0&") && list.hasSuffix("%5B99999%5D=99999"))
        let keyed = JSON.object(JSON.Object((0..<count).map { ("k\($0)", JSON($0)) }))
        #expect(try URLEncodedFormEncoder().encode(keyed).utf8.split(separator: UInt8(ascii: "&")).count == count)
    }

    // MARK: Numbers

    static let unwritable: [any Encodable & Sendable] = [
        Double.nan, Double.infinity, -Double.infinity, Float.nan, Float.infinity, Decimal.nan, CGFloat.nan,
    ]

    @Test("A value that is not a number is an error with its path", arguments: unwritable.indices)
    func notANumber(index: Int) {
        struct Wrapper: Encodable {
            let value: any Encodable
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(value)
            }
        }
        #expect {
            try URLEncodedFormEncoder().encode(
                ["secret": "s3cret", "z": "9"].mapValues(Either.text).merging(
                    ["v": Either.list([Wrapper(value: Self.unwritable[index])])]) { $1 })
        } throws: { error in
            isEncodingFailure(error) && "\(error)".contains(" at v.0") && !"\(error)".contains("s3cret")
                && (error as? RequestError)?.underlying is EncodingError
        }
    }

    private enum Either: Encodable {
        case text(String)
        case list([any Encodable])

        func encode(to encoder: any Encoder) throws {
            switch self {
            case .text(let text): try text.encode(to: encoder)
            case .list(let values):
                var container = encoder.unkeyedContainer()
                for value in values { try value.encode(to: container.superEncoder()) }
            }
        }
    }

    // MARK: Values that break Codable's rules

    private struct ByHand: Encodable {
        enum Key: CodingKey { case a }
        let body: @Sendable (any Encoder) throws -> Void
        func encode(to encoder: any Encoder) throws { try body(encoder) }
    }

    private static let rulebreakers: [ByHand] = [
        ByHand { encoder in
            var keyed = encoder.container(keyedBy: ByHand.Key.self)
            try keyed.encode(1, forKey: .a)
            var list = encoder.unkeyedContainer()
            try list.encode(2)
        },
        ByHand { encoder in
            var single = encoder.singleValueContainer()
            try single.encode(1)
            try single.encode(2)
        },
        ByHand { encoder in
            var single = encoder.singleValueContainer()
            try single.encode(1)
            var keyed = encoder.container(keyedBy: ByHand.Key.self)
            try keyed.encode(2, forKey: .a)
        },
    ]

    @Test("A value that encodes two things at once is an error", arguments: rulebreakers.indices)
    func twoThings(index: Int) {
        #expect {
            try URLEncodedFormEncoder().encode(["v": Self.rulebreakers[index]])
        } throws: {
            isEncodingFailure($0)
        }
    }

    @Test("A value that encodes nothing has no pair, and a value with alternating containers keeps all of its pairs")
    func unusual() throws {
        #expect(try URLEncodedFormEncoder().encode(["v": ByHand { _ in }]) == "")
        #expect(try URLEncodedFormEncoder().encode(ByHand { _ in }) == "")
        let byTurns = ByHand { encoder in
            var first = encoder.container(keyedBy: ByHand.Key.self)
            var list = first.nestedUnkeyedContainer(forKey: .a)
            var nested = first.nestedContainer(keyedBy: ByHand.Key.self, forKey: .a)
            try list.encode(1)
            try nested.encode(2, forKey: .a)
            try list.encode(3)
            try first.encode(4, forKey: .a)
        }
        let encoder = URLEncodedFormEncoder(allowedCharacters: .unreserved.adding("[]"))
        #expect(try encoder.encode(byTurns) == "a[]=1&a[]=3&a[a]=2&a=4")
    }

    @Test("Two lists of one value, for example of a class and its superclass, are joined")
    func continuedList() throws {
        let twice = ByHand { encoder in
            var list = encoder.unkeyedContainer()
            try list.encode(1)
            var more = encoder.unkeyedContainer()
            #expect(more.count == 1)
            try more.encode(2)
        }
        let encoder = URLEncodedFormEncoder(
            arrayEncoding: .indexInBrackets, allowedCharacters: .unreserved.adding("[]"))
        #expect(try encoder.encode(["a": twice]) == "a[0]=1&a[1]=2")
    }

    // MARK: Other readers

    /// Pairs of random text, with all characters that could break a form.
    private func randomPairs(_ random: inout SeededRandom) -> [(String, String)] {
        let alphabet = Array("ab09 +&=%#?/;:[]*~'\"\\\r\n\t\u{0}\u{7F}éßЖ日本語👨‍👩‍👧😃\u{FFFD}")
        return (0..<Int.random(in: 1...20, using: &random)).map { index in
            let texts = (0..<2).map { _ in
                String(
                    (0..<Int.random(in: 0...12, using: &random)).map { _ in
                        alphabet.randomElement(using: &random) ?? "x"
                    })
            }
            return ("\(index)" + texts[0], texts[1])
        }
    }

    static let encoders: [URLEncodedFormEncoder] = [
        URLEncodedFormEncoder(), URLEncodedFormEncoder(allowedCharacters: .query),
        URLEncodedFormEncoder(
            allowedCharacters: URLEncodedFormEncoder.AllowedCharacters(String(decoding: UInt8(0)...255, as: UTF8.self))),
    ]

    @Test("Foundation parses the written pairs, in their order", arguments: encoders.indices, 1...50)
    func readByFoundation(encoder: Int, seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        let pairs = randomPairs(&random)
        let object = JSON.object(JSON.Object(pairs.map { ($0.0, .string($0.1)) }))
        var components = URLComponents()
        components.percentEncodedQuery = try URLEncodedFormEncoder().encode(object)
        #expect(components.queryItems == pairs.map { URLQueryItem(name: $0.0, value: $0.1) })
        let form = try Self.encoders[encoder].encode(object)
        let read = form.split(separator: "&").map { pair in
            pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
                $0.removingPercentEncoding
            }
        }
        #expect(read == pairs.map { [$0.0, $0.1] })
    }

    @Test("Python parses the written pairs", .enabled(if: Python.path != nil, "there is no python3 in PATH"))
    func readByPython() async throws {
        let program = """
            import sys, json, urllib.parse
            for line in sys.stdin.buffer.read().decode("ascii").split("\\n"):
                print(json.dumps(urllib.parse.parse_qsl(line, keep_blank_values=True, strict_parsing=True)))
            """
        var random = SeededRandom(seed: 7)
        let pairs = (0..<200).map { _ in randomPairs(&random) }
        for encoder in [URLEncodedFormEncoder(), .webForm] {
            let forms = try pairs.map { pairs in
                try encoder.encode(JSON.object(JSON.Object(pairs.map { ($0.0, .string($0.1)) }))) as String
            }
            let output = try await Python.run(program, input: forms.joined(separator: "\n"))
            let read = try output.split(separator: "\n").map { try JSON(text: String($0)) }
            #expect(read == pairs.map { .array($0.map { [.string($0.0), .string($0.1)] }) })
        }
    }
}
