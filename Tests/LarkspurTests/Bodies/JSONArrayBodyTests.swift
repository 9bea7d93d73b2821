import Foundation
import Larkspur
import Testing

@Suite("Bodies of JSON arrays", .timeLimit(.minutes(3)))
struct JSONArrayBodyTests {
    private func decoded(_ body: TransportBody) async throws -> [String] {
        try JSON.Decoder().decode([String].self, from: Data(try await body.pulled(by: 10_000)))
    }

    @Test("Elements of any size arrive in order, for none and for many", arguments: [0, 1, 2, 1_000, 20_000])
    func elements(count: Int) async throws {
        let elements = (0..<count).map { "\($0)" + String(repeating: "é/", count: $0 % 1_000 == 7 ? 30_000 : 3) }
        let body = TransportBody.jsonArray { Pieces(elements: elements) }
        #expect(body.length == nil && body.isReplayable)
        for _ in 0..<2 { #expect(try await decoded(body) == elements) }
    }

    @Test("The encoder's options apply to each element")
    func options() async throws {
        let encoder = JSON.Encoder { $0.outputFormatting = [.sortedKeys, .withoutEscapingSlashes] }
        let body = TransportBody.jsonArray(encoder: encoder) { Pieces(elements: [["b": "/", "a": "1"], [:]]) }
        #expect(try await body.pulled() == Array(#"[{"a":"1","b":"/"},{}]"#.utf8))
    }

    @Test("An element that cannot be encoded fails the body")
    func failure() async {
        let body = TransportBody.jsonArray { Pieces(elements: [1, .nan, 2]) }
        let error = await #expect(throws: TransportError.self) { try await body.pulled() }
        #expect(error?.code == .bodyFailed)
    }

    @Test("The content type is JSON, unless the request has another")
    func contentType() async throws {
        let log = TransportLog()
        let session = log.session { _, _ in .json("{}") }
        for headers in [[:], ["Content-Type": "application/vnd.a+json"]] as [HTTPHeaders] {
            let content = RequestContent.jsonArray { Pieces(elements: [1, 2]) }
            let upload = await session.upload(content, to: "https://a.example/b", headers: headers)
            _ = try await upload.serializingData().value
        }
        let types = log.requests.map { $0.fields.map(\.line).filter { $0.lowercased().hasPrefix("content-type") } }
        #expect(types == [["Content-Type: application/json"], ["Content-Type: application/vnd.a+json"]])
    }
}
