import Foundation
import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("The size of bodies", .limited)
struct BodySizeTests {
    private let server: MockServer
    private let session: Session

    init() throws {
        server = try MockServer()
        session = Session(configuration: SessionConfiguration { $0.options.maximumBodySize = 1_000 })
    }

    @Test(
        "A body may be as large as its limit, and not a byte larger",
        arguments: [MockResponse.Framing.chunked, .untilClose, .automatic])
    func exact(_ framing: MockResponse.Framing) async throws {
        for count in [999, 1_000, 1_001] {
            server.on("GET", "/", .response(chunks: [Data(count: 500), Data(count: count - 500)], framing: framing))
            let response = await session.request(server.url).serializingData().response
            #expect(response.value?.count == (count <= 1_000 ? count : nil))
            #expect(response.error?.code == (count <= 1_000 ? nil : .contentTooLarge))
            #expect(response.error?.stage == (count <= 1_000 ? nil : .sending))
            #expect(response.error?.statusCode == (count <= 1_000 ? nil : 200))
        }
    }

    @Test("A declared length that is too large ends the hop before the body comes")
    func declared() async throws {
        let head = ResponseHead(status: 200, fields: [HTTPHeader(name: "Content-Length", value: "1001")])
        server.on("GET", "/", MockResponse([.head(head), .stall]))
        let error = try #require(await session.request(server.url).serializingData().response.error)
        #expect(error.code == .contentTooLarge)
        #expect(error.responseData == nil)
        try await server.wait { $0.connectionCount == 0 }
    }

    @Test("An endless body ends with the byte that is too many")
    func endless() async throws {
        let endless = MockResponse.Step.generated(count: nil) { MockResponse.pattern(from: $0, count: 60_000) }
        server.on("GET", "/", MockResponse([.head(ResponseHead(status: 200)), endless]))
        #expect(await session.request(server.url).serializingData().response.error?.code == .contentTooLarge)
        try await server.wait { $0.connectionCount == 0 }
    }

    @Test("A length without a body, of a HEAD or a 304, does not count; nor does the body of a redirect")
    func bodiless() async throws {
        let length = HTTPHeader(name: "Content-Length", value: "5000")
        server.on("HEAD", "/", MockResponse([.head(ResponseHead(status: 200, fields: [length]))]))
        server.on("GET", "/", MockResponse([.head(ResponseHead(status: 304, fields: [length]))]))
        server.on(
            "GET", "/moved", .response(302, headers: ["Location": "/there"], chunks: [Data(count: 5_000)]))
        server.on("GET", "/there", .text("here"))
        #expect(try await session.request(server.url, method: .head).serializingData().value == Data())
        #expect(try await session.request(server.url).serializingData().value == Data())
        #expect(try await session.request(server.url + "/moved").serializingString().value == "here")
    }

    @Test("The limit is on what is sent; what becomes of it has limits of its own")
    func encoded() async throws {
        let coded = Data(try Bomb.zeros(100_000))
        server.on("GET", "/", .response(headers: ["Content-Encoding": "gzip"], chunks: [coded]))
        #expect(try await session.request(server.url).serializingData().value.count == 100_000)
    }
}
