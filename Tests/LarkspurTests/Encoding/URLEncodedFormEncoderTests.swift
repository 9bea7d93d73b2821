import Larkspur
import TestSupport
import Testing

@Suite("The form encoder", .limited)
struct URLEncodedFormEncoderTests {
    /// Returns the form without escapes, for readable keys.
    private func form(_ value: some Encodable) throws -> String {
        let encoded = try URLEncodedFormEncoder().encode(value)
        return try #require(encoded.removingPercentEncoding)
    }

    private struct Box<Value: Encodable>: Encodable {
        let v: Value
    }

    private enum Color: String, Encodable { case red = "r&d", green }
    private enum Level: Int, Encodable { case low = -1, high = 7 }

    /// A value that encodes itself as one of two scalar types, like hand-written types.
    private enum Either: Encodable {
        case text(String)
        case flag(Bool)

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .flag(let flag): try container.encode(flag)
            }
        }
    }

    // MARK: Values

    static let scalars: [(any Encodable & Sendable, String)] = [
        (true, "1"), (false, "0"), (0, "0"), (-1, "-1"), (Int64.max, "9223372036854775807"),
        (Int64.min, "-9223372036854775808"), (UInt64.max, "18446744073709551615"), (Int8.min, "-128"),
        (UInt8.max, "255"), (1.5, "1.5"), (0.1, "0.1"), (-0.0, "-0.0"), (100.0, "100.0"), (1e300, "1e+300"),
        (Double.pi, "3.141592653589793"), (Float(0.1), "0.1"), (CGFloat(2.5), "2.5"),
        (Decimal(string: "12345678901234567890.123456789012") ?? 0, "12345678901234567890.123456789012"),
        (Decimal(string: "0.1") ?? 0, "0.1"), ("", ""), ("text", "text"), (Data([0xFB, 0xFF, 0x00]), "+/8A"),
        (Data(), ""), (Date(timeIntervalSince1970: 1.5), "1.5"), (Date(timeIntervalSince1970: -86400), "-86400"),
        (UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F") ?? UUID(), "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"),
    ]

    @Test("A scalar is written in full", arguments: scalars.indices)
    func scalar(index: Int) throws {
        let (value, expected) = Self.scalars[index]
        #expect(try form(["v": AnyValue(value)]) == "v=\(expected)")
    }

    /// Passes the value to a keyed container with its static type.
    private struct AnyValue: Encodable {
        let value: any Encodable
        init(_ value: any Encodable) { self.value = value }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(value)
        }
    }

    @Test("Synthesized members of every supported type are written, in the order of declaration")
    func synthesized() throws {
        struct All: Encodable {
            let s = "x", i = 1, b = true, d = 2.5, f = Float(1.5)
            let u = URL(string: "http://h/?a=b&c")
            let n = Decimal(string: "1.10")
            let data = Data("?>".utf8)
            let date = Date(timeIntervalSince1970: 10)
            let color = Color.red
            let level = Level.low
            let character: Either = .flag(true)
        }
        let expected =
            "s=x&i=1&b=1&d=2.5&f=1.5&u=http://h/?a=b&c&n=1.1&data=Pz4=&date=10&color=r&d&level=-1&character=1"
        #expect(try form(All()) == expected)
    }

    @Test("Enums are written as their raw values, and types that encode one scalar are written as this scalar")
    func enums() throws {
        #expect(try form(Box(v: [Color.red, .green])) == "v[]=r&d&v[]=green")
        #expect(try form(Box(v: [Level.high, .low])) == "v[]=7&v[]=-1")
        #expect(try form(Box(v: [Either.text("t"), .flag(false)])) == "v[]=t&v[]=0")
    }

    // MARK: Keys

    @Test("Nested keys are in brackets")
    func nested() throws {
        struct Inner: Encodable { let x = 1, y = ["p": ["q": 2]] }
        struct Outer: Encodable { let a = Inner(), b = 3 }
        #expect(try form(Outer()) == "a[x]=1&a[y][p][q]=2&b=3")
        #expect(try form(["a": ["b": ["c": ["d": "e"]]]]) == "a[b][c][d]=e")
    }

    @Test("Integers of 128 bits are written in full, everywhere")
    func wideIntegers() throws {
        guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else { return }
        struct Wide: Encodable {
            let a = Int128.min, b = UInt128.max, c: Int128? = 1, d: UInt128? = 2, e: Int128? = nil
        }
        let (low, high) = ("-170141183460469231731687303715884105728", "340282366920938463463374607431768211455")
        #expect(try form(Wide()) == "a=\(low)&b=\(high)&c=1&d=2")
        #expect(try form(["v": [Int128.min]]) == "v[]=\(low)")
        #expect(try form(["v": [UInt128.max]]) == "v[]=\(high)")
        #expect(try form(["v": [Int128?.some(.min)]]) == "v[]=\(low)")
        #expect(try form(["v": [UInt128?.some(.max)]]) == "v[]=\(high)")
        struct Single: Encodable {
            var low: Int128?
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                if let low { try container.encode(low) } else { try container.encode(UInt128.max) }
            }
        }
        #expect(try form(["v": [Single(low: .min), Single()]]) == "v[]=\(low)&v[]=\(high)")
        struct Absent: Encodable { let a: Int128? = nil, b: UInt128? = nil }
        #expect(try URLEncodedFormEncoder(nilEncoding: .null).encode(Absent()) == "a=null&b=null")
    }

    @Test("The elements of a set are sorted, because a set has no order")
    func sets() throws {
        #expect(try form(["a": Set(["z", "m", "a", "q", "b"])]) == "a[]=a&a[]=b&a[]=m&a[]=q&a[]=z")
        #expect(try form(["a": Set([1, 2, 3])]) == "a[]=1&a[]=2&a[]=3")
    }

    @Test("Only the keys of a dictionary are sorted, even next to other members")
    func dictionaryBesideMembers() throws {
        struct WithExtra: Encodable {
            enum CodingKeys: CodingKey { case z, y }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(1, forKey: .z)
                try container.encode(2, forKey: .y)
                var single = encoder.singleValueContainer()
                try single.encode(["c": 3, "b": 4, "a": 5])
            }
        }
        #expect(try form(WithExtra()) == "z=1&y=2&a=5&b=4&c=3")
    }

    @Test("Array elements keep their order")
    func arrays() throws {
        #expect(try form(["a": [2, 10, 1]]) == "a[]=2&a[]=10&a[]=1")
        #expect(try form(["a": ["z", "", "a"]]) == "a[]=z&a[]=&a[]=a")
        #expect(try form(["a": [[1, 2], [3]]]) == "a[][]=1&a[][]=2&a[][]=3")
        #expect(try form(["a": [["k": 1], ["k": 2]]]) == "a[][k]=1&a[][k]=2")
        #expect(try form(["a": (0..<100).map { $0 }]) == (0..<100).map { "a[]=\($0)" }.joined(separator: "&"))
    }

    @Test("Empty values have no pairs")
    func empty() throws {
        struct Nothing: Encodable {}
        #expect(try form(Nothing()) == "")
        #expect(try form([String: Int]()) == "")
        #expect(try form(["a": [Int]()]) == "")
        #expect(try form(["a": ["b": [String: Int]()]]) == "")
    }

    @Test("A nil value leaves its key out: in members, dictionaries, arrays and custom containers")
    func optionals() throws {
        struct Optionals: Encodable {
            let a: Int? = nil, b: Int? = 1, c: String?? = .some(nil), d: Bool? = true, e: URL? = nil,
                f: [Int?] = [1, nil, 2]
        }
        struct ByHand: Encodable {
            enum CodingKeys: CodingKey { case a, b }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encodeNil(forKey: .a)
                try container.encode(1, forKey: .b)
            }
        }
        #expect(try form(Optionals()) == "b=1&d=1&f[]=1&f[]=2")
        #expect(try form(["a": nil as Int?]) == "")
        #expect(try form(["a": 1 as Int?]) == "a=1")
        #expect(try form(ByHand()) == "b=1")
    }

    @Test("Coding keys name the pairs, integer keys by their text")
    func codingKeys() throws {
        struct Renamed: Encodable {
            let first = 1
            enum CodingKeys: String, CodingKey { case first = "the first" }
        }
        #expect(try form(Renamed()) == "the first=1")
        #expect(try form([7: "x"]) == "7=x")
        #expect(try form(["": 1]) == "=1")
    }

    @Test("Custom containers are written like synthesized ones")
    func containersByHand() throws {
        struct ByHand: Encodable {
            enum Key: String, CodingKey { case a, b, c, d }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Key.self)
                var nested = container.nestedContainer(keyedBy: Key.self, forKey: .a)
                try nested.encode(1, forKey: .b)
                var list = container.nestedUnkeyedContainer(forKey: .c)
                try list.encode(2)
                var deep = list.nestedUnkeyedContainer()
                try deep.encode(3)
                var inner = list.nestedContainer(keyedBy: Key.self)
                try inner.encode(4, forKey: .d)
                #expect(list.count == 3)
                #expect(list.codingPath.map(\.stringValue) == ["c"])
                try "5".encode(to: container.superEncoder(forKey: .d))
            }
        }
        #expect(try form(ByHand()) == "a[b]=1&c[]=2&c[][]=3&c[][d]=4&d=5")
    }

    // MARK: Classes

    private class Base: Encodable {
        let base = 1
    }

    private final class WithSuperEncoder: Base {
        enum Key: String, CodingKey { case own }
        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(2, forKey: .own)
            try super.encode(to: container.superEncoder())
        }
    }

    private final class WithSameEncoder: Base {
        enum Key: String, CodingKey { case own }
        override func encode(to encoder: any Encoder) throws {
            try super.encode(to: encoder)
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(2, forKey: .own)
        }
    }

    @Test("The keys of a subclass are next to those of its superclass")
    func classes() throws {
        #expect(try form(WithSuperEncoder()) == "own=2&base=1")
        #expect(try form(WithSameEncoder()) == "base=1&own=2")
        #expect(try form(Box(v: [WithSuperEncoder()])) == "v[][own]=2&v[][base]=1")
    }

    // MARK: Roots

    static let roots: [any Encodable & Sendable] = [
        [1, 2], ["a"], [["k": "v"]], [Int](), Set([1]), 1, "text", true, Data("x".utf8), 1.5, Color.red, Date(),
    ]

    @Test("An outermost value without keys is refused", arguments: roots.indices)
    func unkeyedRoot(index: Int) {
        #expect {
            try URLEncodedFormEncoder().encode(AnyValue(Self.roots[index]))
        } throws: { error in
            (error as? RequestError)?.code == .encodingFailed
        }
    }

    @Test("An outermost nil has no pairs")
    func nilRoot() throws {
        #expect(try form([String: Int]?.none) == "")
        #expect(try form([String: Int]?.some(["a": 1])) == "a=1")
    }

    @Test("An error of a value is wrapped, and the original is kept")
    func foreignError() {
        struct Failing: Encodable {
            func encode(to encoder: any Encoder) throws { throw ForeignError() }
        }
        #expect {
            try URLEncodedFormEncoder().encode(["a": [Failing()]])
        } throws: { error in
            let error = error as? RequestError
            return error?.code == .encodingFailed && error?.underlying is ForeignError
        }
    }

    // MARK: Escaping

    @Test(
        "Everything but unreserved characters is percent-encoded, in keys and values",
        arguments: [
            (" ", "%20"), ("+", "%2B"), ("%", "%25"), ("%20", "%2520"), ("&", "%26"), ("=", "%3D"), ("#", "%23"),
            ("?", "%3F"), ("/", "%2F"), (";", "%3B"), (":@,!$'()*[]", "%3A%40%2C%21%24%27%28%29%2A%5B%5D"),
            ("\"<>\\^`{|}", "%22%3C%3E%5C%5E%60%7B%7C%7D"), ("\r\n\t\u{0}\u{7F}", "%0D%0A%09%00%7F"),
            ("ü", "%C3%BC"), ("😃", "%F0%9F%98%83"), ("👨‍👩", "%F0%9F%91%A8%E2%80%8D%F0%9F%91%A9"),
            ("日本", "%E6%97%A5%E6%9C%AC"),
            ("AZaz09-._~", "AZaz09-._~"),
        ])
    func escaping(text: String, expected: String) throws {
        #expect(try URLEncodedFormEncoder().encode([text: text]) == "\(expected)=\(expected)")
    }

    @Test("Brackets of nested keys are percent-encoded as well")
    func escapedBrackets() throws {
        #expect(try URLEncodedFormEncoder().encode(["a b": ["c&": [1]]]) == "a%20b%5Bc%26%5D%5B%5D=1")
    }

    @Test("Thousands of characters are encoded")
    func longText() throws {
        let text = String(repeating: "一二三😃 +%&=", count: 2_000)
        let encoded = try URLEncodedFormEncoder().encode(["k": text])
        #expect(encoded.utf8.allSatisfy { $0 < 128 })
        #expect(encoded.removingPercentEncoding == "k=\(text)")
    }

    @Test("A form is decoded to the original pairs")
    func readsBack() throws {
        let text = "a=b&c=d%26+e f#g"
        let encoded = try URLEncodedFormEncoder().encode(["k&": text])
        let components = try #require(URLComponents(string: "http://h/?\(encoded)"))
        #expect(components.queryItems == [URLQueryItem(name: "k&", value: text)])
    }
}
