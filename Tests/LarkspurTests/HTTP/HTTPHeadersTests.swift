import Larkspur
import Testing

@Suite("Header fields", .timeLimit(.minutes(1)))
struct HTTPHeadersTests {
    private let sample: HTTPHeaders = ["B": "1", "a": "2", "b": "3", "C": "4"]

    private func lines(_ headers: HTTPHeaders) -> [String] { headers.map(\.description) }

    @Test("A dictionary literal keeps its order and its repeats")
    func dictionaryLiteral() {
        #expect(lines(sample) == ["B: 1", "a: 2", "b: 3", "C: 4"])
    }

    @Test("An array literal and a sequence keep their order and their repeats")
    func arrayLiteral() {
        let fields = [HTTPHeader(name: "B", value: "1"), HTTPHeader(name: "A", value: "2")]
        let literal: HTTPHeaders = [fields[0], fields[1], fields[0]]
        #expect(lines(literal) == ["B: 1", "A: 2", "B: 1"])
        #expect(lines(HTTPHeaders(fields.lazy.reversed())) == ["A: 2", "B: 1"])
        #expect(HTTPHeaders().isEmpty)
    }

    @Test("Fields of a dictionary are sorted by name, so that two runs send the same")
    func dictionary() {
        let names = (0..<50).map { "X-\($0)" }
        let headers = HTTPHeaders(Dictionary(uniqueKeysWithValues: names.map { ($0, "v") }))
        #expect(headers.map(\.name) == names.sorted())
    }

    @Test("Adding appends, whether or not the name is there")
    func adding() {
        var headers: HTTPHeaders = ["A": "1"]
        headers.add(name: "a", value: "2")
        headers.add(name: "B", value: "3")
        headers.add(name: "A", value: "1")
        #expect(lines(headers) == ["A: 1", "a: 2", "B: 3", "A: 1"])
    }

    @Test(
        "Updating leaves one field, at the place of the first and in the new spelling",
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
        "Removing takes every field of the name and no other",
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
        "A name is found whatever the case of its ASCII letters, and nothing else is",
        arguments: [
            ("Content-Type", "content-type", true), ("ETAG", "eTag", true), ("X-1_~", "x-1_~", true),
            ("X-A", "X-AB", false), ("X_A", "X-A", false), ("@", "`", false), ("[", "{", false), ("Ä", "ä", false),
        ])
    func caseInsensitivity(name: String, asked: String, isFound: Bool) {
        let headers = HTTPHeaders([HTTPHeader(name: name, value: "v")])
        #expect((headers[asked] == "v") == isFound)
        #expect(headers.values(for: asked) == (isFound ? ["v"] : []))
    }

    @Test("One value is the first, all values are in order")
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

    @Test("Adding what is missing keeps what is there and takes new names with their repeats")
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

    @Test("Names and values are kept as they were written")
    func verbatim() {
        let headers: HTTPHeaders = ["x-ODD-case": "  spaces , and;commas ", "empty": ""]
        #expect(headers["X-Odd-Case"] == "  spaces , and;commas ")
        #expect(headers["Empty"] == "")
        #expect(headers[0].name == "x-ODD-case")
        #expect(headers.description == "x-ODD-case:   spaces , and;commas \nempty: ")
    }

    @Test("Headers are equal when their fields are the same in the same order")
    func equality() {
        #expect(sample == ["B": "1", "a": "2", "b": "3", "C": "4"])
        #expect(sample != ["a": "2", "B": "1", "b": "3", "C": "4"])
        #expect(Set([sample, sample]).count == 1)
    }

    @Test("A session's fields fill in what a request does not set itself, and are never doubled")
    func sessionFields() async throws {
        let log = TransportLog()
        let session = log.session(SessionConfiguration { $0.headers = ["Accept": "a/b", "X-S": "1", "x-s": "2"] })
        let own: HTTPHeaders = ["accept": "c/d", "X-R": "3"]
        _ = try await session.request("http://h/", headers: own).serializingData().value
        let sent = try #require(log.requests.first)
        #expect(sent.fields.map(\.description) == ["accept: c/d", "X-R: 3", "X-S: 1", "x-s: 2"])
    }
}
