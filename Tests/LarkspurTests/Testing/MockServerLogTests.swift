import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurTesting

@Suite("MockServer: its log and its routes", .limited)
struct MockServerLogTests {
    @Test("The log keeps the latest requests up to its limit, and counts all", arguments: [0, 1, 20])
    func limit(limit: Int) async throws {
        let server = try MockServer(requestLimit: limit) { _ in .text("ok") }
        let session = Session()
        for number in 1...50 {
            _ = try await session.request(server.url + "/\(number)").serializingString().value
            #expect(server.log.requestCount == number)
            #expect(server.requests.map(\.path) == (1...number).suffix(limit).map { "/\($0)" })
        }
    }

    @Test("The memory of the log stays near the limit, for any number of requests")
    func bounded() {
        var log = MockServer.Log(requestLimit: 100)
        for _ in 0..<10_000 { log.add(MockRequest(method: "GET", target: "/", version: "HTTP/1.1", headers: [:])) }
        #expect(log.requests.count == 100 && log.requestCount == 10_000)
        #expect(log.keptCount <= 120)
    }

    @Test("A request without a route gets a 404 that lists the routes")
    func missing() async throws {
        let server = try MockServer()
        let session = Session()
        let first = await session.request(server.url + "/a").serializingString().response
        #expect(first.head?.status == 404)
        #expect(first.value == "No route answers GET /a. The server has no routes.\n")
        server.on("POST", "/b") { _ in .text("ok") }
        server.on("GET", "/b") { _ in .text("ok") }
        server.on(nil, "/a", .text("ok"))
        let second = await session.request(server.url + "/b?x=1", method: .delete).serializingString().response
        #expect(second.head?.status == 404)
        #expect(second.value == "No route answers DELETE /b. The routes are:\nany method /a\nGET /b\nPOST /b\n")
        #expect(try await session.request(server.url + "/a").serializingString().value == "ok")
    }
}
