import Larkspur
import LarkspurTesting
import TestSupport
import Testing

extension RequestContent {
    /// A member that returns content, for chains that begin with an implicit member.
    fileprivate func unchanged() -> RequestContent { self }
}

@Suite("Targets and contents of requests", .limited)
struct RequestTargetTests {
    private let log = TransportLog()

    private var sent: [String] { log.requests.map { "\($0.method) \($0.url.text) \($0.text ?? "")" } }

    private func lines() -> AsyncStream<Data> {
        AsyncStream {
            $0.yield(Data("a\n".utf8))
            $0.yield(Data("b\n".utf8))
            $0.finish()
        }
    }

    /// A router that is also a URL.
    private struct Router: URLConvertible, URLRequestConvertible {
        func asRequestURL() throws -> RequestURL { try RequestURL("http://h/url") }

        func asURLRequest() throws -> URLRequest {
            var request = URLRequest(url: try #require(URL(string: "http://h/request")))
            request.httpMethod = "DELETE"
            return request
        }
    }

    @Test("URLs in any form and complete requests are targets, and a method replaces a complete request's own")
    func targets() async throws {
        let session = log.session()
        let url = try #require(URL(string: "http://h/url"))
        let own = OutgoingRequest(method: .put, url: try RequestURL("http://h/own"), body: .data(Data("x".utf8)))
        let targets: [any RequestTarget] = [
            "http://h/text", url, try #require(URLComponents(string: "http://h/parts")), try RequestURL("http://h/u"),
            URLRequest(url: url), own, Router(),
        ]
        for target in targets {
            _ = try await session.request(target).serializingData().value
            _ = try await session.request(target, method: .post).serializingData().value
        }
        #expect(
            sent == [
                "GET http://h/text ", "POST http://h/text ", "GET http://h/url ", "POST http://h/url ",
                "GET http://h/parts ", "POST http://h/parts ", "GET http://h/u ", "POST http://h/u ",
                "GET http://h/url ", "POST http://h/url ", "PUT http://h/own x", "POST http://h/own x",
                "DELETE http://h/request ", "POST http://h/request ",
            ])
    }

    @Test("The complete request of a type that is also a URL is used")
    func both() async throws {
        struct Both: URLConvertible, OutgoingRequestConvertible {
            func asRequestURL() throws -> RequestURL { try RequestURL("http://h/url") }

            func asOutgoingRequest() throws -> OutgoingRequest {
                OutgoingRequest(method: .put, url: try RequestURL("http://h/own"), body: .data(Data("x".utf8)))
            }
        }
        _ = try await log.session().request(Both()).serializingData().value
        #expect(sent == ["PUT http://h/own x"])
    }

    @Test("JSON content takes nested literals of constants, and literals of variables")
    func literals() async throws {
        let (name, age) = ("Ada", 36)
        for body in [
            RequestContent.json(["a": 1, "list": [1, "x"]]), .json([1, "x"]), .json(["n": name, "a": age]),
        ] {
            _ = try await log.session().request("http://h/", method: .put, body: body).serializingData().value
        }
        let values = try log.requests.map { try JSON(data: Data(($0.text ?? "").utf8)) }
        #expect(values == [["a": 1, "list": [1, "x"]], [1, "x"], ["n": "Ada", "a": 36]])
    }

    @Test("A type that is a target alone fails its request")
    func neither() async throws {
        struct Neither: RequestTarget {}
        let error = await log.session().request(Neither()).serializingData().response.error
        #expect(error?.code == .requestCreationFailed && error?.stage == .building)
    }

    @Test("A content of your own is converted when the request is built, not when it is created")
    func ownContent() async throws {
        struct Own: RequestContentConvertible {
            let calls: Journal
            func asRequestContent() -> RequestContent {
                calls.note("convert")
                return .data(Data("x".utf8))
            }
        }
        let calls = Journal()
        let upload = await log.session().upload(Own(calls: calls), to: "http://h/own")
        #expect(calls.lines.isEmpty)
        _ = try await upload.serializingData().value
        #expect(calls.lines == ["convert"] && sent == ["POST http://h/own x"])
    }

    @Test("Fields of the call replace a complete request's fields of the same name, repeated ones too")
    func fields() async throws {
        let own = OutgoingRequest(
            url: try RequestURL("http://h/"), headers: ["A": "own", "B": "own", "a": "second", "C": "own"])
        let headers = HTTPHeaders([("a", "1"), ("D", "2"), ("A", "3")].map { HTTPHeader(name: $0.0, value: $0.1) })
        _ = try await log.session().request(own, headers: headers).serializingData().value
        let request = try #require(log.requests.last)
        let fields = request.fields.filter { $0.name.count == 1 }
        #expect(fields.map { "\($0.name): \($0.value)" } == ["a: 1", "B: own", "C: own", "D: 2", "A: 3"])
    }

    @Test("Requests, streams, downloads and uploads carry content of every kind")
    func contents() async throws {
        let server = try MockServer()
        let session = Session()
        let folder = try TemporaryFolder()
        let file = try folder.write(Data("file".utf8), to: "a.txt")
        let form = MultipartFormData(boundary: "b")
        let (name, age) = ("Ada", 36)
        let contents: [(RequestContent, String, String?)] = [
            (.data(Data("d".utf8), type: "a/b"), "d", "a/b"), (.file(file), "file", "text/plain"),
            (.json(["name": name]), #"{"name":"Ada"}"#, "application/json"),
            (.form(["name": name, "age": age]), "name=Ada&age=36", "application/x-www-form-urlencoded; charset=utf-8"),
            (.multipart(form), "--b--\r\n", "multipart/form-data; boundary=b"),
            (.sequence { lines() }, "a\nb\n", nil), (.sequence(length: 4) { lines() }, "a\nb\n", nil),
            (.inputStream { InputStream(data: Data("in".utf8)) }, "in", nil),
            (.joined([.data(Data("1".utf8)), .sequence { lines() }]), "1a\nb\n", nil),
        ]
        for (content, text, type) in contents {
            let url = server.url
            _ = try await session.request(url, method: .put, body: content).serializingData().value
            let stream = await session.streamRequest(url, method: .put, body: content)
            #expect(await stream.completion.error == nil)
            let download = await session.download(url, method: .put, body: content)
            try FileManager.default.removeItem(at: await download.serializingFile().value)
            _ = try await session.upload(content, to: url, method: .put).serializingData().value
            let requests = server.requests.suffix(4)
            #expect(requests.map { String(decoding: $0.body, as: UTF8.self) } == Array(repeating: text, count: 4))
            #expect(requests.allSatisfy { $0.method == "PUT" && $0.headers["Content-Type"] == type })
        }
    }

    @Test("A sequence that can be read once is content, and a chain of members begins with a content")
    func onceAndChains() async throws {
        let server = try MockServer()
        let session = Session()
        let stream = await session.streamRequest(server.url, method: .post, body: .sequence(lines()))
        #expect(await stream.completion.error == nil)
        _ = try await session.upload(.sequence { lines() }.unchanged(), to: server.url).serializingData().value
        _ = try await session.request(server.url, method: .put, body: .data(Data("x".utf8)).unchanged())
            .serializingData().value
        _ = try await session.upload(.inputStream(InputStream(data: Data("in".utf8))), to: server.url)
            .serializingData().value
        #expect(server.requests.map(\.method) == ["POST", "POST", "PUT", "POST"])
        #expect(
            server.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["a\nb\n", "a\nb\n", "x", "in"])
    }

    @Test("Data, files, forms and bodies are uploaded without a name for their kind")
    func uploads() async throws {
        let server = try MockServer()
        let session = Session()
        let folder = try TemporaryFolder()
        let file = try folder.write(Data("file".utf8), to: "a.txt")
        let body = TransportBody.data(Data("body".utf8))
        let contents: [any RequestContentConvertible] = [
            Data("data".utf8), file, MultipartFormData(boundary: "b"), body, RequestContent.form(["a": 1]),
        ]
        for content in contents {
            _ = try await session.upload(content, to: server.url).serializingData().value
        }
        #expect(
            server.requests.map { String(decoding: $0.body, as: UTF8.self) }
                == ["data", "file", "--b--\r\n", "body", "a=1"])
        #expect(server.requests.allSatisfy { $0.method == "POST" })
    }

    @Test("Parameters beside a body go into the query", arguments: [false, true])
    func parametersBesideBody(isOwn: Bool) async throws {
        let session = log.session()
        let own = OutgoingRequest(url: try RequestURL("http://h/?a=1"), body: .data(Data("own".utf8)))
        let target: any RequestTarget = isOwn ? own : "http://h/?a=1"
        let body: RequestContent? = isOwn ? nil : .data(Data("own".utf8), type: "a/b")
        let name = "Ada"
        _ = try await session.request(target, method: .post, parameters: ["b": 2], body: body).serializingData().value
        _ = try await session.request(target, method: .post, parameters: ["b": [1, "x"]], body: body)
            .serializingData().value
        _ = try await session.request(target, method: .post, parameters: ["n": name, "b": 2], body: body)
            .serializingData().value
        #expect(
            sent == [
                "POST http://h/?a=1&b=2 own", "POST http://h/?a=1&b%5B%5D=1&b%5B%5D=x own",
                "POST http://h/?a=1&n=Ada&b=2 own",
            ])
        #expect(log.requests.allSatisfy { $0["Content-Type"] == (isOwn ? nil : "a/b") })
        let encoders: [any ParameterEncoder] = [.json, .urlEncodedForm(destination: .httpBody), .propertyList]
        for encoder in encoders {
            let request = await session.request(
                target, method: .post, parameters: ["b": 2], encoder: encoder, body: body)
            let error = try #require(await request.serializingData().response.error)
            #expect(error.code == .invalidRequest && error.stage == .building)
        }
        #expect(log.count == 3)
    }

    @Test("Optional parameters that are nil send none, and a null inside a literal of variables is encoded")
    func optionals() async throws {
        let session = log.session()
        let (none, some): ([String: Int]?, [String: Int]?) = (nil, ["a": 1])
        let name = "Ada"
        for parameters in [none, some] {
            _ = try await session.request("http://h/", method: .post, parameters: parameters, encoder: .json)
                .serializingData().value
        }
        let stream = await session.streamRequest(
            "http://h/", method: .post, parameters: ["a": name, "b": nil],
            encoder: JSONParameterEncoder.sortedKeys)
        #expect(await stream.completion.error == nil)
        #expect(log.requests.map(\.text) == ["", #"{"a":1}"#, #"{"a":"Ada","b":null}"#])
    }
}
