import Larkspur
import LarkspurInsight
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurFlow

/// The transports between a cache and the network, and the stored responses that they may share.
@Suite("A cache over several transports", .limited)
struct CacheTransportTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    enum Place: CaseIterable {
        case memory, disk
    }

    /// The ways in which something stands between a session's cache and its engine.
    enum Wrapping: CaseIterable {
        case nothing, hedged, coalesced, limited, rated, admitted, recorded, passedOn, forwarded, unknown, all

        /// Returns the transport of a session over the engine.
        func transport(_ engine: any Transport) -> any Transport {
            switch self {
            case .recorded: Cassette(HARArchive(), unknown: .record(from: engine))
            case .passedOn: Cassette(HARArchive(), unknown: .passOn(to: engine))
            case .hedged: HedgingTransport(engine, after: .duration(.seconds(3_600)))
            case .forwarded: Forwarding(engine)
            case .unknown: Unknown(engine)
            case .all: HedgingTransport(Forwarding(Self.recorded.transport(engine)), after: .duration(.seconds(3_600)))
            case .nothing, .coalesced, .limited, .rated, .admitted: engine
            }
        }

        func configure(_ configuration: inout SessionConfiguration) {
            if [.coalesced, .all].contains(self) { configuration.coalescing = .identicalReads }
            if [.limited, .all].contains(self) { configuration.limits = RequestLimits(total: 4) }
            if [.rated, .all].contains(self) { configuration.rateLimit = RateLimiter(.perHost, 100, per: .seconds(1)) }
            if [.admitted, .all].contains(self) { configuration.admissions = [Open()] }
        }
    }

    private func cache(_ place: Place) -> HTTPCache {
        switch place {
        case .memory: .inMemory()
        case .disk: .onDisk(at: folder.url)
        }
    }

    private func get(_ transport: any Transport, _ cache: HTTPCache, _ wrapping: Wrapping) async -> String? {
        let configuration = SessionConfiguration {
            $0.cache = cache
            wrapping.configure(&$0)
        }
        let session = Session(configuration: configuration, transport: transport)
        return await session.request("http://h/").serializingString().response.value
    }

    @Test(
        "Engines with other settings share no response, whatever stands between them and the cache",
        arguments: Wrapping.allCases, Place.allCases)
    func settings(wrapping: Wrapping, place: Place) async {
        let cache = cache(place)
        let base = TransportLog().transport { _, number in .fresh("\(number)") }
        let partitions: [TransportPartition] = [.common, .named("a"), .unique(), .named("b")]
        let transports = partitions.map { wrapping.transport(NamedTransport(base, $0)) }
        for (index, transport) in transports.enumerated() {
            #expect(await get(transport, cache, wrapping) == "\(index + 1)")
        }
        for (index, transport) in transports.enumerated() {
            #expect(await get(transport, cache, wrapping) == "\(index + 1)", "the same object finds its response")
        }
    }

    @Test(
        "Wrappers of users that pass nothing on share no response with any other transport", arguments: Place.allCases)
    func unknown(place: Place) async {
        let cache = cache(place)
        let base = TransportLog().transport { _, number in .fresh("\(number)") }
        let first = Unknown(base)
        #expect(await get(base, cache, .nothing) == "1")
        #expect(await get(first, cache, .nothing) == "2")
        #expect(await get(Unknown(base), cache, .nothing) == "3")
        #expect(await get(Unknown(first), cache, .nothing) == "4")
        #expect(await get(Forwarding(first), cache, .limited) == "2")
        let session = Session(configuration: SessionConfiguration { $0.cache = cache }, transport: first)
        let child = session.extending { $0.headers["Accept"] = "text/plain" }
        #expect(await child.request("http://h/").serializingString().response.value == "2")
        #expect(await get(base, cache, .nothing) == "1")
    }

    @Test("On disk, another process finds the responses of named partitions and of those with default settings")
    func restart() async {
        let base = TransportLog().transport { _, number in .fresh("\(number)") }
        var values: [String?] = []
        for _ in 0..<2 {
            // As in a new process: a new cache, and new transports with equal settings
            let cache = cache(.disk)
            values.append(await get(NamedTransport(base, .common), cache, .limited))
            values.append(await get(NamedTransport(base, .named("a")), cache, .limited))
            values.append(await get(Forwarding(NamedTransport(base, .named("a"))), cache, .hedged))
            values.append(await get(NamedTransport(base, .unique()), cache, .limited))
            values.append(await get(Unknown(base), cache, .nothing))
        }
        #expect(values == ["1", "2", "2", "3", "4", "1", "2", "2", "5", "6"])
    }

    #if os(Linux)
        @Test(
            "Each server's responses are served only over the transport that reaches the server",
            arguments: Wrapping.allCases, Place.allCases)
        func servers(wrapping: Wrapping, place: Place) async throws {
            let cache = cache(place)
            let servers = try (1...2).map { number in
                try MockServer { _ in
                    .response(200, headers: ["Cache-Control": "max-age=60"], chunks: [Data("\(number)".utf8)])
                }
            }
            // As a proxy, each server answers for all hosts.
            let transports = try servers.map { server in
                let proxies = try Proxies(Proxy(server.url))
                return CurlTransport(configuration: .init { $0.proxies = proxies })
            }
            for number in [1, 2, 1, 2] {
                let transport = wrapping.transport(transports[number - 1])
                #expect(await get(transport, cache, wrapping) == "\(number)")
            }
            for server in servers { await server.stop() }
        }
    #endif

    @Test("Requests learn the generation of the verdicts about their host, so that new connections are judged again")
    func forgottenTrust() async throws {
        let log = TransportLog()
        var configuration = SessionConfiguration.bare
        configuration.serverTrust = ServerTrustManager(evaluators: ["a": .default, "b": .default])
        configuration.limits = RequestLimits(total: 4)
        let transport = Forwarding(Cassette(HARArchive(), unknown: .passOn(to: log.transport())))
        let session = Session(configuration: configuration, transport: transport)
        func generation(_ host: String) async throws -> UInt64 {
            _ = try await session.request("https://\(host)/").serializingString().value
            return try #require(log.requests.last).trustGeneration
        }
        var last = (a: try await generation("a"), b: try await generation("b"))
        session.forgetTrustVerdicts(for: "A.")
        #expect(try await generation("a") > last.a)
        #expect(try await generation("b") == last.b)
        last = (try await generation("a"), last.b)
        session.forgetTrustVerdicts()
        #expect(try await generation("a") > last.a)
        #expect(try await generation("b") > last.b)
        last = (try await generation("a"), try await generation("b"))
        // The number of hosts that are told apart is limited, and no generation falls.
        for number in 0..<1_100 { session.forgetTrustVerdicts(for: "h\(number)") }
        #expect(try await generation("a") >= last.a)
        #expect(try await generation("b") >= last.b)
    }
}

private struct Open: HopAdmission {
    func admit(_ hop: PendingHop) { hop.admit() }
}

/// An engine with settings of its own.
final class NamedTransport: TransportWrapper {
    let base: any Transport
    let partition: TransportPartition

    init(_ base: any Transport, _ partition: TransportPartition) { (self.base, self.partition) = (base, partition) }

    func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask { base.task(for: request, id: id, delegate: delegate) }
}

/// A user's wrapper that states its base.
private final class Forwarding: TransportWrapper {
    let base: any Transport

    init(_ base: any Transport) { self.base = base }

    func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask { base.task(for: request, id: id, delegate: delegate) }
}

/// A user's wrapper that states nothing.
private final class Unknown: Transport {
    private let inner: any Transport

    init(_ inner: any Transport) { self.inner = inner }

    func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask { inner.task(for: request, id: id, delegate: delegate) }

    func invalidate() { inner.invalidate() }
}
