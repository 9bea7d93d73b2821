import Foundation
import Larkspur
import TestSupport
import Testing

@Suite("Bodies of JSON arrays", .limited)
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

    @Test("The error of an element has its index and path, but not its contents")
    func privacy() async {
        struct Account: Encodable, Sendable {
            let secret: String
            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                try container.encode(1)
                let context = EncodingError.Context(codingPath: container.codingPath, debugDescription: "no rate")
                if secret != "a" { throw EncodingError.invalidValue(self, context) }
            }
        }
        let elements = ["a", "hunter2"].map { ["account": Account(secret: $0)] }
        let body = TransportBody.jsonArray { Pieces(elements: elements) }
        let error = await #expect(throws: TransportError.self) { try await body.pulled() }
        let shown = error.map { "\($0) \(String(reflecting: $0))" } ?? ""
        #expect(shown.contains(#"element 1 cannot be encoded at "/account": no rate"#))
        #expect(!shown.contains("hunter2"))
    }

    @Test("An array whose task is cancelled fails, and does not look complete", arguments: [0, 1, 3])
    func cancellation(count: Int) async {
        let body = TransportBody.jsonArray {
            Pieces(elements: Array(0..<count), onNext: { withUnsafeCurrentTask { $0?.cancel() } })
        }
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
