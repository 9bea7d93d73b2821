import Foundation
import Larkspur
import LarkspurTesting
import TestSupport
import Testing

// The code of the guide to decoding JSON, word for word.

@Suite("The guide to decoding JSON", .limited)
struct JSONExamples {
    private struct User: Decodable {
        let firstName: String
        let joined: Date
    }

    @Test("A session decodes with other strategies")
    func decoder() async throws {
        let server = try MockServer()
        server.on("GET", "/users/7") { _ in
            .json(#"{"first_name": "Ada", "joined": "1970-01-01T00:01:00Z"}"#)
        }
        let url = server.url + "/users/7"
        let session = Session(
            configuration: SessionConfiguration {
                $0.decoder = JSON.Decoder {
                    $0.keyDecodingStrategy = .convertFromSnakeCase
                    $0.dateDecodingStrategy = .iso8601
                }
            })
        let user = try await session.request(url)
            .serializingDecodable(User.self).value
        #expect(user.firstName == "Ada")
        #expect(user.joined == Date(timeIntervalSince1970: 60))
    }

    @Test("A document gives the values that are asked for")
    func document() throws {
        let body = Data(#"{"items": [{"name": "a"}, {"size": 1}, {"name": "b"}]}"#.utf8)
        let document = try JSON.Document(data: body)
        let names = document["items"].elements.compactMap { $0["name"].string }
        #expect(names == ["a", "b"])
    }

    @Sendable private static func records() -> AsyncStream<[String: Int]> {
        AsyncStream { records in
            for number in 1...3 { records.yield(["number": number]) }
            records.finish()
        }
    }

    @Test("Many values are encoded while they are sent")
    func array() async throws {
        let server = try MockServer()
        server.on("POST", "/records") { request in .json(String(decoding: request.body, as: UTF8.self)) }
        let (session, url, records) = (Session(), server.url + "/records", Self.records)
        let upload = await session.upload(.jsonArray { records() }, to: url)
        let reply = try await upload.serializingJSON().value
        #expect(reply == [["number": 1], ["number": 2], ["number": 3]])
    }
}
