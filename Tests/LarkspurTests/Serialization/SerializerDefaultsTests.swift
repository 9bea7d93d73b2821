import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("A session's settings for serializers", .limited)
struct SerializerDefaultsTests {
    private struct User: Decodable, Equatable, Sendable {
        var name = "none"
        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: Keys.self)
            if values.contains(.name) { name = try values.decode(String.self, forKey: .name) }
        }
        enum Keys: CodingKey { case name }
    }

    private let log = TransportLog()

    private func session(
        _ answer: StubAnswer, _ change: (inout SerializerDefaults) -> Void
    ) -> Session {
        var configuration = SessionConfiguration.bare
        change(&configuration.serializers)
        return log.session(configuration) { _, _ in answer }
    }

    @Test("Null members are removed for all requests of the session, and not where a request says otherwise")
    func nulls() async throws {
        let session = session(.json(#"{"name":null,"a":1}"#)) { $0.preprocessor = .removingNulls }
        #expect(try await session.request("http://h/").serializingJSON().value == ["a": 1])
        #expect(try await session.request("http://h/").serializingDecodable(User.self).value.name == "none")
        let endpoint = Endpoint<User>(.get, "http://h/")
        #expect(try await session.send(endpoint).name == "none")
        let whole = try await session.request("http://h/").serializingJSON(preprocessor: .passthrough).value
        #expect(whole == ["name": nil, "a": 1])
        let text = try await session.request("http://h/").serializingString().value
        #expect(text == #"{"name":null,"a":1}"#)
    }

    @Test("Closures have the session's settings, too, and so have the requests of an extended session")
    func closures() async throws {
        let session = session(.json(")]}',\n[1]")) { $0.preprocessor = .googleXSSI }.extending { _ in }
        let (values, place) = AsyncStream.makeStream(of: JSON?.self)
        await session.request("http://h/").responseJSON { place.yield($0.value) }
            .responseDecodable(of: [Int].self) { response in
                place.yield(response.value.map { JSON($0.count) })
                place.finish()
            }
        var seen: [JSON?] = []
        for await value in values { seen.append(value) }
        #expect(seen == [[1], 1])
    }

    @Test("An empty body is allowed by the session's statuses and methods")
    func empty() async throws {
        let session = session(.response(200)) { $0.emptyResponseCodes.insert(200) }
        #expect(try await session.request("http://h/").serializingJSON().value == .null)
        #expect(try await session.request("http://h/").serializingDecodable(Empty.self).value == .value)
        let strict = await session.request("http://h/").serializingJSON(emptyResponseCodes: []).response
        #expect(strict.error?.code == .emptyBody)
        let byMethod = self.session(.response(200)) { $0.emptyRequestMethods = [.post] }
        #expect(try await byMethod.request("http://h/", method: .post).serializingJSON().value == .null)
        #expect(await byMethod.request("http://h/").serializingJSON().response.error?.code == .emptyBody)
    }

    @Test("A body of another content type is not serialized, although no validator checks the type")
    func types() async throws {
        let session = session(.text("[1]", contentType: "text/html")) {
            $0.acceptableContentTypes = ["application/json"]
        }
        for error in [
            await session.request("http://h/").serializingJSON().response.error,
            await session.request("http://h/").serializingDecodable([Int].self).response.error,
        ] {
            #expect(error?.code == .unacceptableContentType && error?.stage == .serializing)
        }
        #expect(try await session.request("http://h/").serializingString().value == "[1]")
        let json = self.session(.json("[1]")) { $0.acceptableContentTypes = ["application/json"] }
        #expect(try await json.request("http://h/").serializingJSON().value == [1])
    }

    @Test("A property list is not preprocessed as JSON")
    func propertyList() async throws {
        let data = try PropertyListEncoder().encode(["name": "Ada"])
        let session = session(.response(chunks: [data])) { $0.preprocessor = .removingNulls }
        let value = try await session.request("http://h/").serializingPropertyList([String: String].self).value
        #expect(value == ["name": "Ada"])
    }
}
