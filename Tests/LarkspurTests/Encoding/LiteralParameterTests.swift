import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Parameters written as literals", .limited)
struct LiteralParameterTests {
    private let log = TransportLog()

    @Test("A nil literal means no parameters, for every kind of request, and a null inside a literal is encoded")
    func literalNil() async throws {
        let session = log.session()
        _ = try await session.request("http://h/", method: .post, parameters: nil).serializingData().value
        _ = try await session.request("http://h/", method: .post, parameters: nil, encoder: .json).serializingData()
            .value
        let download = await session.download("http://h/", method: .post, parameters: nil, encoder: .json)
        try FileManager.default.removeItem(at: await download.serializingFile().value)
        let stream = await session.streamRequest("http://h/", method: .post, parameters: nil, encoder: .json)
        #expect(await stream.completion.error == nil)
        #expect(log.requests.map(\.text) == ["", "", "", ""])
        #expect(log.requests.allSatisfy { $0["Content-Type"] == nil })
        for parameters in [JSON.null, ["a": nil, "b": [1, "x"]]] {
            _ = try await session.request("http://h/", method: .post, parameters: parameters, encoder: .json)
                .serializingData().value
        }
        _ = try await session.request(
            "http://h/", method: .post, parameters: ["a": nil, "b": true], encoder: JSONParameterEncoder.sortedKeys
        ).serializingData().value
        #expect(
            log.requests.suffix(3).map(\.text) == ["null", #"{"a":null,"b":[1,"x"]}"#, #"{"a":null,"b":true}"#])
    }

    private struct Point: Encodable {
        let xValue = 1
    }

    @Test("A literal of variables with different types is encoded member by member, with the encoder's strategies")
    func mixedLiterals() async throws {
        let session = log.session()
        let (name, age, tags) = ("Ada", 36, ["x", "y"])
        let (nick, mail): (String?, String?) = (nil, "a@b")
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        encoder.dateEncodingStrategy = .secondsSince1970
        encoder.keyEncodingStrategy = .convertToSnakeCase
        _ = try await session.request(
            "http://h/", method: .post,
            parameters: [
                "userName": name, "age": age, "tags": tags, "nick": nick, "mail": mail, "all": true, "none": JSON.null,
                "born": Date(timeIntervalSince1970: 7), "point": Point(),
                "in": ["a": age, "b": name] as MixedParameters,
            ], encoder: .json(encoder: encoder)
        ).serializingData().value
        #expect(
            log.requests.last?.text
                == #"{"age":36,"all":true,"born":7,"in":{"a":36,"b":"Ada"},"mail":"a@b","nick":null,"#
                + #""none":null,"point":{"x_value":1},"tags":["x","y"],"userName":"Ada"}"#)
        _ = try await session.request("http://h/", parameters: ["z": name, "nick": nick, "a": age, "tags": tags])
            .serializingData().value
        #expect(log.requests.last?.url.query == "z=Ada&a=36&tags%5B%5D=x&tags%5B%5D=y")
        let download = await session.download("http://h/", parameters: ["name": name, "age": age])
        try FileManager.default.removeItem(at: await download.serializingFile().value)
        let stream = await session.streamRequest("http://h/", parameters: ["name": name, "age": age])
        #expect(await stream.completion.error == nil)
        #expect(log.requests.suffix(2).map(\.url.query) == ["name=Ada&age=36", "name=Ada&age=36"])
    }

    @Test("Content of different types can be JSON and forms, like content of one type")
    func mixedContents() async throws {
        let session = log.session()
        let (name, age) = ("Ada", 36)
        for body in [RequestContent.form(["name": name, "age": age]), .json(["name": name]), .form(["age": age])] {
            _ = try await session.send(Endpoint<Data>(.post, "http://h/", body: body))
        }
        let query = ["age": age, "name": name] as MixedParameters
        _ = try await session.send(
            Endpoint<Data>(.post, "http://h/", query: query, body: .json(["age": age, "name": name])))
        #expect(log.requests.map(\.text).prefix(3) == ["name=Ada&age=36", #"{"name":"Ada"}"#, "age=36"])
        #expect(log.requests.last?.url.query == "age=36&name=Ada")
        let body = try JSON(text: try #require(log.requests.last?.text))
        #expect(body["age"] == 36 && body["name"] == "Ada")
    }
}
