import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurMessages

@Suite("Header fields", .limited)
struct HTTPHeadersTests {
    private let sample: HTTPHeaders = ["B": "1", "a": "2", "b": "3", "C": "4"]

    private func lines(_ headers: HTTPHeaders) -> [String] { headers.map(\.line) }

    @Test("A dictionary literal keeps its order and repeated names")
    func dictionaryLiteral() {
        #expect(lines(sample) == ["B: 1", "a: 2", "b: 3", "C: 4"])
    }

    @Test("An array literal and a sequence keep their order and repeated names")
    func arrayLiteral() {
        let fields = [HTTPHeader(name: "B", value: "1"), HTTPHeader(name: "A", value: "2")]
        let literal: HTTPHeaders = [fields[0], fields[1], fields[0]]
        #expect(lines(literal) == ["B: 1", "A: 2", "B: 1"])
        #expect(lines(HTTPHeaders(fields.lazy.reversed())) == ["A: 2", "B: 1"])
        #expect(HTTPHeaders().isEmpty)
    }

    @Test("Fields of a dictionary are sorted by name, so that every run sends the same")
    func dictionary() {
        let names = (0..<50).map { "X-\($0)" }
        let headers = HTTPHeaders(Dictionary(uniqueKeysWithValues: names.map { ($0, "v") }))
        #expect(headers.map(\.name) == names.sorted())
    }

    @Test("Adding appends, even if the name exists")
    func adding() {
        var headers: HTTPHeaders = ["A": "1"]
        headers.add(name: "a", value: "2")
        headers.add(name: "B", value: "3")
        headers.add(name: "A", value: "1")
        #expect(lines(headers) == ["A: 1", "a: 2", "B: 3", "A: 1"])
    }

    @Test(
        "Updating leaves one field, at the position of the first and in the new spelling",
        arguments: [
            ("b", ["b: new", "a: 2", "C: 4"]), ("B", ["B: new", "a: 2", "C: 4"]),
            ("A", ["B: 1", "A: new", "b: 3", "C: 4"]), ("c", ["B: 1", "a: 2", "b: 3", "c: new"]),
            ("D", ["B: 1", "a: 2", "b: 3", "C: 4", "D: new"]),
        ])
    func updating(name: String, expected: [String]) {
        var headers = sample
        headers.update(name: name, value: "new")
        #expect(lines(headers) == expected)
    }

    @Test(
        "Removing removes every field of the name and no other",
        arguments: [
            ("b", ["a: 2", "C: 4"]), ("A", ["B: 1", "b: 3", "C: 4"]), ("D", ["B: 1", "a: 2", "b: 3", "C: 4"]),
            ("", ["B: 1", "a: 2", "b: 3", "C: 4"]),
        ])
    func removing(name: String, expected: [String]) {
        var headers = sample
        headers.remove(name: name)
        #expect(lines(headers) == expected)
    }

    @Test(
        "A name is found with any case of its ASCII letters, and nothing else is",
        arguments: [
            ("Content-Type", "content-type", true), ("ETAG", "eTag", true), ("X-1_~", "x-1_~", true),
            ("X-A", "X-AB", false), ("X_A", "X-A", false), ("@", "`", false), ("[", "{", false), ("Ä", "ä", false),
        ])
    func caseInsensitivity(name: String, asked: String, isFound: Bool) {
        let headers = HTTPHeaders([HTTPHeader(name: name, value: "v")])
        #expect((headers[asked] == "v") == isFound)
        #expect(headers.values(for: asked) == (isFound ? ["v"] : []))
    }

    @Test("The single value is the first, and all values are in order")
    func values() {
        #expect(sample.value(for: "b") == "1")
        #expect(sample["b"] == "1")
        #expect(sample.values(for: "b") == ["1", "3"])
        #expect(sample["d"] == nil)
        #expect(sample.values(for: "d").isEmpty)
    }

    @Test("Setting by name updates, setting nil removes")
    func subscripting() {
        var headers = sample
        headers["b"] = "new"
        #expect(lines(headers) == ["b: new", "a: 2", "C: 4"])
        headers["B"] = nil
        #expect(lines(headers) == ["a: 2", "C: 4"])
        headers["E"] = "5"
        #expect(lines(headers) == ["a: 2", "C: 4", "E: 5"])
        headers["F"] = nil
        #expect(headers.count == 3)
    }

    @Test("Adding missing fields keeps existing ones and adds new names with their repetitions")
    func addingMissing() {
        var headers: HTTPHeaders = ["Accept": "a", "X": "1"]
        headers.addMissing(from: ["accept": "b", "Link": "1", "link": "2", "x": "3"])
        #expect(lines(headers) == ["Accept: a", "X: 1", "Link: 1", "link: 2"])

        var empty = HTTPHeaders()
        empty.addMissing(from: ["A": "1", "a": "2"])
        #expect(lines(empty) == ["A: 1", "a: 2"])
        empty.addMissing(from: [:])
        #expect(lines(empty) == ["A: 1", "a: 2"])
    }

    @Test("Names and values are unchanged")
    func verbatim() {
        let headers: HTTPHeaders = ["x-ODD-case": "  spaces , and;commas ", "empty": ""]
        #expect(headers["X-Odd-Case"] == "  spaces , and;commas ")
        #expect(headers["Empty"] == "")
        #expect(headers[0].name == "x-ODD-case")
        #expect(headers.description == "x-ODD-case:   spaces , and;commas \nempty: ")
    }

    @Test("A description of the list hides the values of secret names, and a single field shows its own")
    func discreetDescription() {
        let headers: HTTPHeaders = ["Authorization": "Bearer s3cret", "Cookie": "s3cret", "X-A": "1"]
        let shown = "Authorization: Bearer REDACTED\nCookie: REDACTED\nX-A: 1"
        var dumped = ""
        dump(headers, to: &dumped)
        #expect("\(headers)" == shown && String(reflecting: headers) == shown)
        #expect(!dumped.contains("s3cret") && dumped.contains("X-A: 1"))
        #expect(lines(headers) == ["Authorization: Bearer s3cret", "Cookie: s3cret", "X-A: 1"])
    }

    @Test("Headers are equal when their fields are the same in the same order")
    func equality() {
        #expect(sample == ["B": "1", "a": "2", "b": "3", "C": "4"])
        #expect(sample != ["a": "2", "B": "1", "b": "3", "C": "4"])
        #expect(Set([sample, sample]).count == 1)
    }

    @Test("A session's fields fill in missing fields of a request, and are never duplicated")
    func sessionFields() async throws {
        let log = TransportLog()
        let session = log.session(SessionConfiguration { $0.headers = ["Accept": "a/b", "X-S": "1", "x-s": "2"] })
        let own: HTTPHeaders = ["accept": "c/d", "X-R": "3"]
        _ = try await session.request("http://h/", headers: own).serializingData().value
        let sent = try #require(log.requests.first)
        #expect(sent.fields.map(\.description) == ["accept: c/d", "X-R: 3", "X-S: 1", "x-s: 2"])
    }

    @Test("Sorting is by name, ignores the case, and keeps the order of repeated names")
    func sorting() {
        var headers: HTTPHeaders = ["b": "1", "C": "2", "A": "3", "B": "0", "a": "2"]
        #expect(lines(headers.sorted()) == ["A: 3", "a: 2", "b: 1", "B: 0", "C: 2"])
        headers.sort()
        #expect(headers == headers.sorted())
    }

    @Test("In a dictionary, repeated fields are joined in order under the first spelling")
    func asDictionary() {
        let headers: HTTPHeaders = ["Via": "1", "X": "x", "VIA": "2", "via": ""]
        #expect(headers.dictionary == ["Via": "1, 2, ", "X": "x"])
    }

    @Test("The standard fields have their names and formats")
    func standardFields() {
        let fields: HTTPHeaders = [
            .accept("a/b"), .acceptCharset("utf-8"), .acceptEncoding("br"), .acceptEncoding(["zstd", "br", "gzip"]),
            .acceptLanguage("de"), .acceptLanguage(["de-AT"]), .authorization("X y"),
            .authorization(username: "Aladdin", password: "open sesame"), .authorization(username: "ü", password: "€"),
            .authorization(bearerToken: "t"), .cacheControl("no-store"), .contentDisposition("inline"),
            .contentEncoding("gzip"), .contentType("a/b"), .userAgent("u"), .websocketProtocol("chat"),
        ]
        #expect(
            lines(fields) == [
                "Accept: a/b", "Accept-Charset: utf-8", "Accept-Encoding: br",
                "Accept-Encoding: zstd, br;q=0.9, gzip;q=0.8", "Accept-Language: de", "Accept-Language: de-AT",
                "Authorization: X y", "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
                "Authorization: Basic w7w64oKs", "Authorization: Bearer t", "Cache-Control: no-store",
                "Content-Disposition: inline", "Content-Encoding: gzip", "Content-Type: a/b", "User-Agent: u",
                "Sec-WebSocket-Protocol: chat",
            ])
    }

    @Test("Quality values stay above zero for any number of choices")
    func manyChoices() {
        let field = HTTPHeader.acceptLanguage((0..<20).map { "l\($0)" })
        #expect(field.value.hasSuffix("l9;q=0.1"))
    }
}

@Suite("Default fields", .limited)
struct DefaultHeadersTests {
    private let log = TransportLog()

    @Test("A session sends the default fields, unless the request sets them")
    func defaults() async throws {
        let session = log.session(SessionConfiguration())
        _ = try await session.request("http://h/", headers: ["ACCEPT": "a/b", "X": "1"]).serializingData().value
        let sent = HTTPHeaders(try #require(log.requests.first).fields)
        #expect(sent.values(for: "Accept") == ["a/b"])
        #expect(sent["Accept-Encoding"] == HTTPHeader.defaultAcceptEncoding.value)
        #expect(sent["User-Agent"]?.hasSuffix("Larkspur/\(LarkspurInfo.version)") == true)
        #expect(Array(sent.prefix(2)) == [HTTPHeader(name: "ACCEPT", value: "a/b"), HTTPHeader(name: "X", value: "1")])
    }

    @Test(
        "Accept-Encoding lists the codings that can be decoded here, best first; the test machines support all of them")
    func acceptEncoding() {
        #expect(HTTPHeader.defaultAcceptEncoding.value == "br, zstd;q=0.9, gzip;q=0.8, deflate;q=0.7")
    }

    @Test("The user agent names the program, Larkspur and the system, and leaves out unknown parts")
    func userAgent() {
        #expect(
            UserAgent.text(
                program: "Notes", version: "1.2", identifier: "com.example.notes", build: "7", system: "iOS 18.1.0")
                == "Notes/1.2 (com.example.notes; build:7; iOS 18.1.0) Larkspur/\(LarkspurInfo.version)")
        #expect(
            UserAgent.text(program: "notes", version: nil, identifier: nil, build: nil, system: "Linux 6.1.0")
                == "notes (Linux 6.1.0) Larkspur/\(LarkspurInfo.version)")
    }

    @Test(
        "No name of a program can break the user agent",
        arguments: ["My App", "a/b", "x\r\nEvil: 1", "Grüße", "(x)", "日本", "🎉", "a;b\\c"])
    func oddPrograms(name: String) {
        let text = UserAgent.text(program: name, version: name, identifier: name, build: name, system: "Linux 6.1.0")
        #expect(text.utf8.allSatisfy { (0x20..<0x7F).contains($0) })
        #expect(text.count { $0 == "(" } == 1 && text.count { $0 == ")" } == 1)
        #expect(text.prefix { $0 != "(" }.count { $0 == " " || $0 == "/" } == 2)
    }

    @Test(
        "The languages are those of the environment, with the user's list first",
        arguments: [
            ([:], []), (["LANG": "C.UTF-8"], []), (["LANG": "POSIX"], []), (["LANG": "de_AT.UTF-8"], ["de-AT"]),
            (["LC_ALL": "", "LANG": "fr"], ["fr"]), (["LC_ALL": "C", "LANG": "fr", "LANGUAGE": "de"], []),
            (["LANG": "de_DE@euro", "LANGUAGE": "de_AT:de_DE:en"], ["de-AT", "de-DE", "en"]),
            (["LANG": "en_US", "LANGUAGE": "x\r\ny:fr"], ["fr", "en-US"]),
        ] as [([String: String], [String])])
    func languages(environment: [String: String], expected: [String]) {
        #expect(UserLanguages.named(in: environment) == expected)
    }
}
