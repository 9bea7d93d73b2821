import Larkspur
import TestSupport
import Testing

@Suite("MultipartFormData", .limited)
struct MultipartFormDataTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// The text of a form with the boundary `b`.
    private func text(_ make: (inout MultipartFormData) throws -> Void) async throws -> String {
        var form = MultipartFormData(boundary: "b")
        try make(&form)
        let data = try await form.encode()
        if let length = form.contentLength { #expect(length == UInt64(data.count)) }
        return String(decoding: data, as: UTF8.self)
    }

    /// The error that a form's body throws.
    private func failure(_ make: (inout MultipartFormData) throws -> Void) throws -> RequestError? {
        var form = MultipartFormData()
        try make(&form)
        return #expect(throws: RequestError.self) { try form.body() }
    }

    // MARK: Framing

    @Test("The delimiters between parts are exact to the byte; a form without parts is valid too")
    func framing() async throws {
        #expect(try await text { _ in } == "--b--\r\n")
        let part = "--b\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\nv"
        #expect(try await text { $0.append("v", name: "n") } == part + "\r\n--b--\r\n")
        let two = try await text {
            $0.append("v", name: "n")
            $0.append(Data("\r\nw\n".utf8), name: "", mimeType: "text/x")
        }
        #expect(
            two == part + "\r\n--b\r\nContent-Disposition: form-data; name=\"\"\r\n"
                + "Content-Type: text/x\r\n\r\n\r\nw\n\r\n--b--\r\n")
    }

    @Test("Further header fields follow the library's, or replace them")
    func fields() async throws {
        let text = try await text {
            $0.append(
                .data(Data([0x31])), name: "n", fileName: "f", mimeType: "a/b", headers: ["X-A": "1", "X-B": "ü"])
            $0.append(.none, headers: ["Content-ID": "<7>"])
            $0.append(.none, headers: [:])
        }
        #expect(
            text == "--b\r\nContent-Disposition: form-data; name=\"n\"; filename=\"f\"\r\nContent-Type: a/b\r\n"
                + "X-A: 1\r\nX-B: ü\r\n\r\n1\r\n--b\r\nContent-ID: <7>\r\n\r\n\r\n--b\r\n\r\n\r\n--b--\r\n")
    }

    @Test("Texts keep their line breaks and bytes")
    func texts() async throws {
        let value = "a\rb\nc\r\nd\0ä"
        #expect(try await text { $0.append(value, name: "n") }.contains("\r\n\r\n\(value)\r\n--b--"))
    }

    @Test(
        "Names are escaped as in browsers: quotes and line breaks only",
        arguments: [
            ("a\"b", "a%22b"), ("a\r\nb", "a%0D%0Ab"), ("a\\b", "a\\b"),
            ("a;b=c", "a;b=c"), ("%22", "%22"), (" ä 👩‍👩‍👧 שלום ", " ä 👩‍👩‍👧 שלום "), ("e\u{301}", "e\u{301}"), ("", ""),
        ])
    func escaping(name: String, written: String) async throws {
        let text = try await text { $0.append(Data(), name: name, fileName: name, mimeType: "a/b") }
        #expect(text.contains("Content-Disposition: form-data; name=\"\(written)\"; filename=\"\(written)\"\r\n"))
    }

    @Test(
        "Any line break in a field's name is sent as %0D%0A; a file name keeps its own",
        arguments: [
            ("a\nb", "a%0D%0Ab", "a%0Ab"), ("a\rb", "a%0D%0Ab", "a%0Db"),
            ("\n\r\r\n\r", "%0D%0A%0D%0A%0D%0A%0D%0A", nil),
            ("\n", "%0D%0A", "%0A"), ("\r", "%0D%0A", "%0D"),
        ] as [(String, String, String?)])
    func lineEnds(name: String, written: String, ofFile: String?) async throws {
        let text = try await text { $0.append(Data(), name: name, fileName: name, mimeType: "a/b") }
        #expect(text.contains("Content-Disposition: form-data; name=\"\(written)\"; filename="))
        if let ofFile { #expect(text.contains("; filename=\"\(ofFile)\"\r\n")) }
    }

    @Test("With the option, file names that are not ASCII are also sent as filename*")
    func extendedNames() async throws {
        let text = try await text {
            $0.append(Data(), name: "a", fileName: "ä")
            $0.addsExtendedFileNames = true
            $0.append(Data(), name: "b", fileName: "ä b\"%~")
            $0.append(Data(), name: "c", fileName: "plain \"name\"")
        }
        #expect(text.contains("name=\"a\"; filename=\"ä\"\r\n"))
        #expect(text.contains("name=\"b\"; filename=\"ä b%22%~\"; filename*=UTF-8''%C3%A4%20b%22%25~\r\n"))
        #expect(text.contains("name=\"c\"; filename=\"plain %22name%22\"\r\n"))
    }

    // MARK: Boundary, type, length

    @Test("A boundary is random, or a valid one by RFC 2046")
    func boundary() async throws {
        let random = Set((0..<100).map { _ in MultipartFormData().boundary })
        #expect(random.count == 100)
        for boundary in random {
            #expect(MultipartFormData(boundary: boundary).boundary == boundary)
            #expect(MultipartFormData(boundary: boundary).contentType == "multipart/form-data; boundary=\(boundary)")
        }
        let longest = String(repeating: "x", count: 70)
        for boundary in ["0", longest, "a b", "'()+_,-./:=?"] {
            #expect(MultipartFormData(boundary: boundary).boundary == boundary)
            #expect(throws: Never.self) { try MultipartFormData(boundary: boundary).body() }
        }
        #expect(MultipartFormData(boundary: "a b").contentType == "multipart/form-data; boundary=\"a b\"")
        for boundary in ["", longest + "x", "a ", "ä", "a\r\nb", "a\"b", "a;b", "a\0", "a\u{301}"] {
            let form = MultipartFormData(boundary: boundary)
            #expect(throws: RequestError.self) { try form.body() }
            #expect(!form.contentType.contains { $0.isNewline })
        }
    }

    @Test("The length is that of the whole body, and unknown if a part's length is")
    func lengths() async throws {
        var form = MultipartFormData(boundary: "b")
        form.append("v", name: "n")
        form.append(try folder.write([UInt8].pattern(100_000)), name: "file")
        form.append(.sequence(length: 5) { Pieces(elements: [[UInt8].pattern(5)]) }, name: "stream")
        #expect(form.contentLength == UInt64(try await form.encode().count))
        #expect(try form.body().length == form.contentLength)
        form.append(.sequence { Pieces(elements: [[UInt8].pattern(5)]) }, name: "unknown")
        #expect(form.contentLength == nil)
        #expect(try form.body().length == nil)
    }

    // MARK: Parts

    @Test("The name and the type of a file come from its URL by default")
    func files() async throws {
        let url = try folder.write(Data("{}".utf8), to: "a b.json")
        let text = try await text {
            $0.append(url, name: "u")
            $0.append(url, name: "u", fileName: "x.y", mimeType: "z/z")
            $0.append(url, name: "u", fileName: "x.y")
        }
        #expect(text.contains("filename=\"a b.json\"\r\nContent-Type: application/json\r\n\r\n{}\r\n"))
        #expect(text.contains("filename=\"x.y\"\r\nContent-Type: z/z\r\n\r\n{}\r\n"))
        #expect(text.contains("filename=\"x.y\"\r\nContent-Type: application/json\r\n\r\n{}\r\n"))
    }

    @Test("Data without a file name has no type; with a file name it has one")
    func types() async throws {
        let text = try await text {
            $0.append(Data("%PDF-1.7".utf8), name: "a")
            $0.append(Data("%PDF-1.7".utf8), name: "b", fileName: "c.png")
            $0.append(Data("%PDF-1.7".utf8), name: "c", fileName: "c")
        }
        #expect(text.contains("name=\"a\"\r\n\r\n"))
        #expect(text.contains("filename=\"c.png\"\r\nContent-Type: image/png\r\n"))
        #expect(text.contains("filename=\"c\"\r\nContent-Type: application/pdf\r\n"))
    }

    @Test("Values are encoded as JSON or by a given encoder")
    func values() async throws {
        let text = try await text {
            $0.append(encoding: ["a": [1, 2]], name: "json", fileName: "a.json")
            $0.append(encoding: ["a": "b c"], name: "form", encoder: .urlEncodedForm)
        }
        #expect(
            text.contains(
                "name=\"json\"; filename=\"a.json\"\r\nContent-Type: application/json\r\n\r\n{\"a\":[1,2]}\r\n"))
        #expect(text.contains("name=\"form\"\r\nContent-Type: application/x-www-form-urlencoded"))
        #expect(text.contains("\r\n\r\na=b%20c\r\n--b--") || text.contains("\r\n\r\na=b+c\r\n--b--"))
    }

    @Test("The fields of a value become separate parts with the names of forms")
    func fieldsOfValue() async throws {
        struct User: Encodable, Sendable {
            var name = "Ada & \"Co\" +1"
            var tags = ["a=b", ""]
            var home: [String: String?] = ["city": "Zürich", "zip": nil]
        }
        let fields = try await text { $0.append(fieldsOf: User()) }
        let plain = try await text {
            $0.append("Ada & \"Co\" +1", name: "name")
            $0.append("a=b", name: "tags[]")
            $0.append("", name: "tags[]")
            $0.append("Zürich", name: "home[city]")
        }
        #expect(fields == plain)
        #expect(try await text { $0.append(fieldsOf: User(), encoder: .webForm) } == plain)
        var failing = MultipartFormData()
        failing.append(fieldsOf: [1, 2])
        #expect(throws: RequestError.self) { try failing.body() }
    }

    @Test("A form is a value: a change of a copy does not affect the original")
    func copies() async throws {
        var form = MultipartFormData(boundary: "b")
        form.append("1", name: "n")
        var copy = form
        copy.append(folder["missing"], name: "n")
        #expect(throws: RequestError.self) { try copy.body() }
        #expect(try await form.encode().count == 59)
    }

    // MARK: Errors

    @Test("The body throws the error of the first invalid part")
    func errors() throws {
        let rows: [((inout MultipartFormData) -> Void, RequestError.Code)] = [
            ({ $0.append(folder["missing"], name: "n") }, .fileMissing),
            ({ $0.append(folder.url, name: "n") }, .fileIsDirectory),
            ({ $0.append(URL(fileURLWithPath: "/dev/null"), name: "n") }, .fileNotRegular),
            ({ $0.append(encoding: Double.nan, name: "n") }, .encodingFailed),
            ({ $0.append(.none, headers: ["X": "a\r\nY: b"]) }, .invalidRequest),
            ({ $0.append(.none, headers: ["X": "a\nb"]) }, .invalidRequest),
            ({ $0.append(.none, headers: ["X": "a\0b"]) }, .invalidRequest),
            ({ $0.append(.none, headers: ["X\r\nY": "a"]) }, .invalidRequest),
            ({ $0.append(.none, headers: ["X:": "a"]) }, .invalidRequest),
            ({ $0.append(.none, headers: ["": "a"]) }, .invalidRequest),
            ({ $0.append(.none, headers: ["Ä": "a"]) }, .invalidRequest),
            ({ $0.append(Data(), name: "n", mimeType: "a/b\r\nX: y") }, .invalidRequest),
            ({ $0.append("", name: "a\0b") }, .invalidRequest),
        ]
        for (index, (append, code)) in rows.enumerated() {
            let error = try failure {
                $0.append("fine", name: "n")
                append(&$0)
                rows[(index + 1) % rows.count].0(&$0)
                $0.append("fine", name: "n")
            }
            #expect(error?.code == code, "row \(index): \(String(describing: error))")
        }
    }

    // MARK: Memory and files

    @Test("A form can be written to a new file only")
    func written() async throws {
        var form = MultipartFormData(boundary: "b")
        form.append(try folder.write([UInt8].pattern(200_000), to: "part"), name: "n")
        try await form.write(to: folder["form"])
        #expect(try Data(contentsOf: folder["form"]) == (try await form.encode()))
        let existing = try folder.write([1, 2, 3], to: "existing")
        let rows: [(URL, RequestError.Code)] = [
            (existing, .fileExists), (folder.url, .fileExists), (folder["missing/form"], .fileUnwritable),
            (try #require(URL(string: "http://example.com/form")), .invalidFileURL),
        ]
        for (url, code) in rows {
            let error = await #expect(throws: RequestError.self) { try await form.write(to: url) }
            #expect(error?.code == code)
        }
        #expect(try Data(contentsOf: existing) == Data([1, 2, 3]))
        #expect(try folder.contents == ["existing", "form", "part"])
    }

    @Test("The incomplete file of a failed form is removed")
    func removed() async throws {
        var form = MultipartFormData(boundary: "b")
        form.append(.sequence { Pieces(elements: [[UInt8].pattern(500_000)], error: ForeignError()) }, name: "n")
        let error = await #expect(throws: RequestError.self) { try await form.write(to: folder["form"]) }
        #expect(error?.code == .bodyFailed)
        #expect(try folder.contents == [])
        await #expect(throws: RequestError.self) { try await form.encode() }
    }

    @Test("Cancelling the write ends it, and leaves no file", arguments: [true, false])
    func cancelled(toFile: Bool) async throws {
        let reached = Gate()
        let (pieces, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        var form = MultipartFormData(boundary: "b")
        form.append(
            .sequence {
                reached.open()
                return pieces
            }, name: "n")
        let task = Task { [form, folder] in
            if toFile { try await form.write(to: folder["form"]) } else { _ = try await form.encode() }
        }
        await reached.pass()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try folder.contents == [])
        continuation.finish()
    }
}
