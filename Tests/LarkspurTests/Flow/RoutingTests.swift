import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Transports by host pattern", .limited)
struct RoutingTests {
    private func stub(_ name: String) -> StubTransport { StubTransport { _ in .text(name) } }

    private func session(_ patterns: [String]) -> Session {
        let routes = Dictionary(
            patterns.map { ($0, stub($0) as any Transport) }, uniquingKeysWith: { first, _ in first })
        return Session(transport: .routing(routes, otherwise: stub("otherwise")))
    }

    @Test(
        "The most specific pattern decides",
        arguments: [
            ("a.example.com", "a.example.com"), ("A.Example.com.", "a.example.com"), ("b.example.com", "*.example.com"),
            ("example.com", "**.example.com"), ("c.b.example.com", "**.example.com"), ("example.org", "otherwise"),
            ("notexample.com", "otherwise"), ("[::1]", "[::1]"),
        ])
    func patterns(host: String, expected: String) async throws {
        let session = session(["a.example.com", "*.example.com", "**.example.com", "[::1]"])
        let values = [
            try await session.request("http://\(host)/").serializingString().value,
            try await session.request("https://\(host):8443/").serializingString().value,
        ]
        #expect(values == [expected, expected])
    }

    @Test("A redirect to another host takes that host's transport")
    func redirect() async throws {
        let first = StubTransport { _ in .redirect(to: "http://b/") }
        let session = Session(transport: .routing(["a": first], otherwise: stub("b")))
        #expect(try await session.request("http://a/").serializingString().value == "b")
    }

    @Test(
        "With an invalid or duplicate pattern, no request is sent", arguments: [["http://a"], ["***.a"], ["a", "A"]])
    func invalid(patterns: [String]) async {
        let error = await session(patterns).request("http://other/").serializingData().response.error
        #expect(error?.code == .transportUnavailable && error?.message.contains("pattern") == true)
    }

    @Test("Capabilities are those that all have; the partition differs with the routes; the end is passed on")
    func identity() async {
        let limited = LimitedTransport([.sendsOnce, .keepsRequest])
        let (one, two) = (stub("1"), stub("2"))
        let routed = RoutingTransport(["a": limited], otherwise: one)
        #expect(routed.capabilities == [.sendsOnce, .keepsRequest])
        let plain = RoutingTransport(["a": one], otherwise: two)
        #expect(plain.partition == RoutingTransport(["a": two], otherwise: one).partition)
        #expect(plain.partition != RoutingTransport(["b": one], otherwise: two).partition)
        #expect(plain.partition != two.partition)
        #expect(routed.partition != RoutingTransport(["a": limited], otherwise: one).partition)
        plain.invalidate()
        let error = await Session(transport: one).request("http://a/").serializingData().response.error
        #expect(error?.code == .sessionInvalidated)
    }
}

/// A transport that cannot do everything, and states no partition.
private final class LimitedTransport: Transport {
    let capabilities: TransportCapabilities
    private let stub = StubTransport { _ in .text("") }

    init(_ capabilities: TransportCapabilities) { self.capabilities = capabilities }

    func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask {
        stub.task(for: request, id: id, delegate: delegate)
    }

    func invalidate() {}
}
