import Larkspur
import TestSupport
import Testing

@Suite("The form encoder's options", .limited)
struct FormOptionsTests {
    /// Returns the form without escapes, for readable keys.
    private func form(_ value: some Encodable, _ encoder: URLEncodedFormEncoder) throws -> String {
        let encoded = try encoder.encode(value)
        return try #require(encoded.removingPercentEncoding)
    }

    @Test("The pairs of a form are those that the server reads, in its keys' formats, without escapes")
    func items() throws {
        struct Search: Encodable { let text = "a b&=+%é", tags = ["x", ""], page = ["size": 2] }
        for encoder in [URLEncodedFormEncoder(), .webForm] {
            let items = try encoder.queryItems(of: Search())
            #expect(items.map(\.name) == ["text", "tags[]", "tags[]", "page[size]"])
            #expect(items.map(\.value) == ["a b&=+%é", "x", "", "2"])
        }
        let dotted = URLEncodedFormEncoder(arrayEncoding: .indexInBrackets, keyPathEncoding: .dots)
        #expect(try dotted.queryItems(of: Search()).map(\.name) == ["text", "tags[0]", "tags[1]", "page.size"])
        #expect(try URLEncodedFormEncoder().queryItems(of: [String: Int]()).isEmpty)
        #expect(throws: RequestError.self) { try URLEncodedFormEncoder().queryItems(of: [1]) }
    }

    @Test("A text is escaped as in the form")
    func escaped() {
        #expect(URLEncodedFormEncoder().escaped("a b/é+") == "a%20b%2F%C3%A9%2B")
        #expect(
            URLEncodedFormEncoder(spaceEncoding: .plusReplaced, allowedCharacters: .query).escaped("a b/")
                == "a+b/")
    }

    private struct Nested: Encodable {
        struct Item: Encodable { let itemID = 1, itemTags = ["x"] }
        let firstPart = [Item(), Item()]
        let secondPart = ["innerKey": [[1, 2], [3]]]
    }

    private struct Unsorted: Encodable {
        struct Inner: Encodable { let z = 1, y = [2, 10, 1] }
        let c = [Inner(), Inner()], b = 2, a = [String: Int]()
    }

    // MARK: Keys

    static let arrays: [(URLEncodedFormEncoder.ArrayEncoding, String)] = [
        (.brackets, "a[]=x&a[]=y&b[][k]=1&c[][]=2&c[][]=3"),
        (.noBrackets, "a=x&a=y&b[k]=1&c=2&c=3"),
        (.indexInBrackets, "a[0]=x&a[1]=y&b[0][k]=1&c[0][0]=2&c[1][0]=3"),
        (.custom { "\($0).\($1 + 1)" }, "a.1=x&a.2=y&b.1[k]=1&c.1.1=2&c.2.1=3"),
        (.custom { _, _ in "same" }, "same=x&same=y&same[k]=1&same=2&same=3"),
    ]

    @Test("Elements of arrays have the keys of the array encoding", arguments: arrays.indices)
    func arrayEncoding(index: Int) throws {
        struct Lists: Encodable { let a = ["x", "y"], b = [["k": 1]], c = [[2], [3]] }
        let (encoding, expected) = Self.arrays[index]
        #expect(try form(Lists(), URLEncodedFormEncoder(arrayEncoding: encoding)) == expected)
    }

    static let paths: [(URLEncodedFormEncoder.KeyPathEncoding, String)] = [
        (.brackets, "a[b][c]=1&a[b][d][][e]=2"), (.dots, "a.b.c=1&a.b.d[].e=2"),
        (.custom { "->" + $0 }, "a->b->c=1&a->b->d[]->e=2"), (.custom { _ in "" }, "a=1&a[]=2"),
    ]

    @Test("Nested keys are joined by the key path encoding", arguments: paths.indices)
    func keyPathEncoding(index: Int) throws {
        struct Inner: Encodable { let c = 1, d = [["e": 2]] }
        let (encoding, expected) = Self.paths[index]
        #expect(try form(["a": ["b": Inner()]], URLEncodedFormEncoder(keyPathEncoding: encoding)) == expected)
    }

    static let keys: [(URLEncodedFormEncoder.KeyEncoding, String)] = [
        (.useDefaultKeys, "firstPart[][itemID]=1"), (.convertToSnakeCase, "first_part[][item_id]=1"),
        (.convertToKebabCase, "first-part[][item-id]=1"), (.capitalized, "FirstPart[][ItemID]=1"),
        (.uppercased, "FIRSTPART[][ITEMID]=1"), (.lowercased, "firstpart[][itemid]=1"),
        (.custom { "<\($0)>" }, "<firstPart>[][<itemID>]=1"),
    ]

    @Test("Each key of a path is converted separately", arguments: keys.indices)
    func keyEncoding(index: Int) throws {
        let (encoding, expected) = Self.keys[index]
        let pairs = try form(Nested(), URLEncodedFormEncoder(keyEncoding: encoding)).split(separator: "&")
        #expect(pairs.first.map(String.init) == expected)
        #expect(pairs.count == 7)
    }

    @Test("The spelling of a path does not depend on how it is joined")
    func keyEncodingOfDots() throws {
        let encoder = URLEncodedFormEncoder(
            arrayEncoding: .indexInBrackets, keyEncoding: .capitalized, keyPathEncoding: .dots)
        #expect(try form(["one": ["two": ["three": [1]]]], encoder) == "One.Two.Three[0]=1")
    }

    @Test(
        "Words are split at capitals",
        arguments: [
            ("", ""), ("a", "a"), ("A", "a"), ("oneTwoThree", "one_two_three"), ("one", "one"), ("One", "one"),
            ("userID", "user_id"), ("myURLPath", "my_url_path"), ("URLPath", "url_path"), ("ABC", "abc"),
            ("isHTTP2Enabled", "is_http2_enabled"), ("version2", "version2"), ("v2Beta", "v2_beta"),
            ("already_snake", "already_snake"), ("already_Snake", "already_snake"), ("_private", "_private"),
            ("_Private", "_private"), ("aBCd", "a_b_cd"), ("größeÄndern", "größe_ändern"), ("日本Go", "日本_go"),
            ("a b", "a b"), ("😃Key", "😃key"), ("with.Dot", "with.dot"),
        ])
    func words(key: String, expected: String) throws {
        #expect(try form([key: 1], URLEncodedFormEncoder(keyEncoding: .convertToSnakeCase)) == "\(expected)=1")
        #expect(
            try form([key.filter { $0 != "_" }: 1], URLEncodedFormEncoder(keyEncoding: .convertToKebabCase)).filter {
                $0 != "-"
            } == expected.filter { $0 != "_" } + "=1")
    }

    @Test("The keys of every level are sorted, but never the elements of an array")
    func alphabetical() throws {
        let byDeclaration = "c[][z]=1&c[][y][]=2&c[][y][]=10&c[][y][]=1"
        let sorted = "c[][y][]=2&c[][y][]=10&c[][y][]=1&c[][z]=1"
        #expect(try form(Unsorted(), URLEncodedFormEncoder()) == "\(byDeclaration)&\(byDeclaration)&b=2")
        #expect(
            try form(Unsorted(), URLEncodedFormEncoder(alphabetizeKeyValuePairs: true)) == "b=2&\(sorted)&\(sorted)")
    }

    @Test("Eleven elements with indices stay in order, although their keys would sort differently")
    func alphabeticalIndices() throws {
        let encoder = URLEncodedFormEncoder(alphabetizeKeyValuePairs: true, arrayEncoding: .indexInBrackets)
        let expected = (0...10).map { "a[\($0)]=\($0)" }.joined(separator: "&")
        #expect(try form(["a": Array(0...10)], encoder) == expected)
    }

    // MARK: Values

    @Test("Booleans are numbers or words", arguments: [(true, "1", "true"), (false, "0", "false")])
    func boolEncoding(value: Bool, number: String, word: String) throws {
        #expect(try form(["v": value], URLEncodedFormEncoder()) == "v=\(number)")
        #expect(try form(["v": value], URLEncodedFormEncoder(boolEncoding: .numeric)) == "v=\(number)")
        #expect(try form(["v": [value]], URLEncodedFormEncoder(boolEncoding: .literal)) == "v[]=\(word)")
        #expect(try form(["v": value as Bool?], URLEncodedFormEncoder(boolEncoding: .literal)) == "v=\(word)")
    }

    static let data: [(URLEncodedFormEncoder.DataEncoding, String)] = [
        (.base64, "v=+/8A"), (.deferredToData, "v[]=251&v[]=255&v[]=0"), (.custom { "\($0.count) bytes" }, "v=3 bytes"),
    ]

    @Test("Data is text, bytes or the result of a closure", arguments: data.indices)
    func dataEncoding(index: Int) throws {
        let (encoding, expected) = Self.data[index]
        #expect(try form(["v": Data([0xFB, 0xFF, 0x00])], URLEncodedFormEncoder(dataEncoding: encoding)) == expected)
    }

    static let dates: [(URLEncodedFormEncoder.DateEncoding, TimeInterval, String)] = [
        (.secondsSince1970, 1_000_000_000, "1000000000"), (.secondsSince1970, 0, "0"),
        (.secondsSince1970, -0.25, "-0.25"),
        (.secondsSince1970, 1e300, "1e+300"), (.millisecondsSince1970, 1_700_000_000.123, "1700000000123"),
        (.millisecondsSince1970, -1.5, "-1500"), (.millisecondsSince1970, 0.001, "1"),
        (.deferredToDate, 978_307_200, "0.0"),
        (.deferredToDate, 978_307_201.5, "1.5"), (.iso8601, 1_000_000_000, "2001-09-09T01:46:40Z"),
        (.iso8601, 0.999, "1970-01-01T00:00:00Z"), (.iso8601, -12_212_553_600, "1583-01-01T00:00:00Z"),
        (.iso8601, 253_402_300_799, "9999-12-31T23:59:59Z"), (.custom { "\($0.timeIntervalSince1970)!" }, 1, "1.0!"),
        (.formatted(formatter), 0, "1970|01|01"),
    ]

    static let formatter = {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "yyyy|MM|dd"
        return formatter
    }()

    @Test("A date is written by the date encoding", arguments: dates.indices)
    func dateEncoding(index: Int) throws {
        let (encoding, seconds, expected) = Self.dates[index]
        let date = Date(timeIntervalSince1970: seconds)
        #expect(try form(["v": date], URLEncodedFormEncoder(dateEncoding: encoding)) == "v=\(expected)")
        #expect(try form(["v": [date]], URLEncodedFormEncoder(dateEncoding: encoding)) == "v[]=\(expected)")
    }

    static let unwritableDates: [(URLEncodedFormEncoder.DateEncoding, TimeInterval)] = [
        (.secondsSince1970, .infinity), (.millisecondsSince1970, .nan), (.deferredToDate, -.infinity),
        (.iso8601, .infinity), (.iso8601, .nan), (.iso8601, 1e18), (.iso8601, -12_212_553_601),
        (.iso8601, 253_402_300_800),
        (.custom { _ in throw ForeignError() }, 0),
    ]

    @Test("A date that cannot be written is an error with its path", arguments: unwritableDates.indices)
    func unwritableDate(index: Int) {
        let (encoding, seconds) = Self.unwritableDates[index]
        #expect {
            let encoder = URLEncodedFormEncoder(dateEncoding: encoding)
            _ = try encoder.encode(["v": [Date(timeIntervalSince1970: seconds)]]) as String
        } throws: { error in
            (error as? RequestError)?.code == .encodingFailed && "\(error)".contains(" at v.0: ")
        }
    }

    // MARK: Nil

    private struct Optionals: Encodable {
        struct Inner: Encodable { let x = 1 }
        let bool: Bool? = nil, string: String? = nil, double: Double? = nil, float: Float? = nil
        let int: Int? = nil, int8: Int8? = nil, int16: Int16? = nil, int32: Int32? = nil, int64: Int64? = nil
        let uint: UInt? = nil, uint8: UInt8? = nil, uint16: UInt16? = nil, uint32: UInt32? = nil, uint64: UInt64? = nil
        let url: URL? = nil, date: Date? = nil, array: [Int]? = nil, inner: Inner? = nil, twice: Int?? = .some(nil)
    }

    private struct Present: Encodable {
        let bool: Bool? = true, string: String? = "s", double: Double? = 1.5, float: Float? = 2.5
        let int: Int? = 1, int8: Int8? = 2, int16: Int16? = 3, int32: Int32? = 4, int64: Int64? = 5
        let uint: UInt? = 6, uint8: UInt8? = 7, uint16: UInt16? = 8, uint32: UInt32? = 9, uint64: UInt64? = 10
        let array: [Int]? = [11], twice: Int?? = 12
    }

    static let optionalNames = [
        "bool", "string", "double", "float", "int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16",
        "uint32", "uint64", "url", "date", "array", "inner", "twice",
    ]

    static let nils: [(URLEncodedFormEncoder.NilEncoding, String?)] = [
        (.dropKey, nil), (.dropValue, ""), (.null, "null"), (.custom { "<none>" }, "<none>"), (.custom { nil }, nil),
    ]

    @Test("A synthesized nil member is written by the option, for every type", arguments: nils.indices)
    func nilMembers(index: Int) throws {
        let (encoding, text) = Self.nils[index]
        let expected = text.map { text in Self.optionalNames.map { "\($0)=\(text)" }.joined(separator: "&") } ?? ""
        #expect(try form(Optionals(), URLEncodedFormEncoder(nilEncoding: encoding)) == expected)
    }

    @Test("Nil in dictionaries, arrays and custom containers is written like a nil member", arguments: nils.indices)
    func otherNils(index: Int) throws {
        struct ByHand: Encodable {
            enum CodingKeys: CodingKey { case a, b }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encodeNil(forKey: .a)
                var list = container.nestedUnkeyedContainer(forKey: .b)
                try list.encodeNil()
                try list.encode(1)
            }
        }
        let (encoding, text) = Self.nils[index]
        let encoder = URLEncodedFormEncoder(arrayEncoding: .indexInBrackets, nilEncoding: encoding)
        #expect(try form(ByHand(), encoder) == (text.map { "a=\($0)&b[0]=\($0)&" } ?? "") + "b[1]=1")
        #expect(try form(["a": Int?.none], encoder) == (text.map { "a=\($0)" } ?? ""))
        #expect(try form(["a": [nil, 1, nil]], encoder) == (text.map { "a[0]=\($0)&a[1]=1&a[2]=\($0)" } ?? "a[1]=1"))
        #expect(try form(["a": ["b": JSON.null]], encoder) == (text.map { "a[b]=\($0)" } ?? ""))
    }

    @Test("A present optional is written like a value that is not optional")
    func present() throws {
        let expected =
            "bool=1&string=s&double=1.5&float=2.5&int=1&int8=2&int16=3&int32=4&int64=5&uint=6&uint8=7&uint16=8"
            + "&uint32=9&uint64=10&array[]=11&twice=12"
        #expect(try form(Present(), URLEncodedFormEncoder(nilEncoding: .null)) == expected)
    }

    // MARK: Characters

    private static let printable = String(decoding: UInt8(0x20)..<0x7F, as: UTF8.self)

    private func kept(_ encoder: URLEncodedFormEncoder) throws -> String {
        let kept = try Self.printable.filter { try encoder.encode(["": "\($0)"]) == "=\($0)" }
        return String(kept.filter { !$0.isLetter && !$0.isNumber })
    }

    static let characters: [(URLEncodedFormEncoder.AllowedCharacters, String)] = [
        (.unreserved, "-._~"), (.query, "-./?_~"), (.webForm, "*-._"), (.unreserved.adding("[]"), "-.[]_~"),
        (URLEncodedFormEncoder.AllowedCharacters(printable), "!\"$'()*,-./:;<>?@[\\]^_`{|}~"),
        (URLEncodedFormEncoder.AllowedCharacters("ü\u{0}\n\u{7F}"), ""),
    ]

    @Test("Allowed characters are not encoded, except those that would change the form", arguments: characters.indices)
    func allowedCharacters(index: Int) throws {
        let (characters, expected) = Self.characters[index]
        #expect(try kept(URLEncodedFormEncoder(allowedCharacters: characters)) == expected)
        let encoder = URLEncodedFormEncoder(allowedCharacters: characters)
        #expect(try encoder.encode(["\n\u{7F}ü": "&=+%# "]) == "%0A%7F%C3%BC=%26%3D%2B%25%23%20")
    }

    @Test("Only the given letters are allowed")
    func nothingAllowed() throws {
        let encoder = URLEncodedFormEncoder(allowedCharacters: URLEncodedFormEncoder.AllowedCharacters("b"))
        #expect(try encoder.encode(["aBb": "z"]) == "%61%42b=%7A")
    }

    @Test("Brackets can be allowed")
    func plainBrackets() throws {
        let encoder = URLEncodedFormEncoder(allowedCharacters: .unreserved.adding("[]"))
        #expect(try encoder.encode(["a b": ["c": [1]]]) == "a%20b[c][]=1")
    }

    @Test("A space is written as %20 or a plus sign, and a plus sign always as %2B")
    func spaces() throws {
        #expect(try URLEncodedFormEncoder().encode(["a b": " + "]) == "a%20b=%20%2B%20")
        #expect(try URLEncodedFormEncoder(spaceEncoding: .plusReplaced).encode(["a b": " + "]) == "a+b=+%2B+")
        #expect(try URLEncodedFormEncoder.webForm.encode(["a b": "*-._ ~+ü"]) == "a+b=*-._+%7E%2B%C3%BC")
    }

    @Test("The form is available as text and as data")
    func asData() throws {
        let data: Data = try URLEncodedFormEncoder().encode(["a": "ü"])
        let text = try URLEncodedFormEncoder().encode(["a": "ü"])
        #expect(text == "a=%C3%BC")
        #expect(data == Data(text.utf8))
    }

    @Test("Options can be changed afterwards")
    func mutable() throws {
        var encoder = URLEncodedFormEncoder()
        encoder.arrayEncoding = .noBrackets
        encoder.boolEncoding = .literal
        #expect(try encoder.encode(["a": [true, false]]) == "a=true&a=false")
    }
}
