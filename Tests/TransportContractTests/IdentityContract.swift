import Larkspur
import LarkspurInsight
import LarkspurTesting
import TestSupport
import Testing

extension TransportContractTests {
    @Suite("Identity", .limited)
    struct Identity {}
}

extension TransportContractTests.Identity {
    /// A way to wrap a transport.
    struct Wrapping: Sendable, CustomTestStringConvertible {
        let name: String
        let wrap: @Sendable (any Transport) -> any Transport

        var testDescription: String { name }

        static let all =
            single + [
                Wrapping(name: "all of them") { base in single.reduce(base) { $1.wrap($0) } }
            ]

        private static let single = [
            Wrapping(name: "cache") { CachingTransport($0, cache: .inMemory()) },
            Wrapping(name: "admissions") { AdmittingTransport($0, [LateAdmission()]) },
            Wrapping(name: "coalescing") { DataHops(CoalescingTransport($0, .identicalReads)) },
            Wrapping(name: "hedging") { HedgingTransport($0, after: .duration(.seconds(3_600)), atMost: 1) },
            Wrapping(name: "cassette") { Cassette(HARArchive(), unknown: .passOn(to: $0)) },
            Wrapping(name: "recording cassette") { Cassette(HARArchive(), unknown: .record(from: $0)) },
            Wrapping(name: "wrapper of a user") { DataHops($0) },
        ]
    }

    /// A transport with odd properties, which keeps the requests that it gets.
    private final class Odd: Transport {
        let capabilities: TransportCapabilities = [.sendsOnce, .asksForTrust]
        let partition: TransportPartition
        let requests = Protected<[TransportRequest]>([])
        let invalidations = Protected(0)
        private let stub = StubTransport { _ in .text("ok") }

        init(_ partition: TransportPartition = .unique()) { self.partition = partition }

        func task(
            for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
        ) -> any TransportTask {
            requests.withLock { $0.append(request) }
            return stub.task(for: request, id: id, delegate: delegate)
        }

        func invalidate() { invalidations.withLock { $0 += 1 } }
    }

    @Test("T31: a partition never changes", arguments: ContractSubject.all)
    func constant(subject: ContractSubject) async throws {
        let transport = try await subject.makePeer(nil).transport
        let partition = transport.partition
        #expect(transport.partition == partition)
    }

    @Test("T32: a wrapper has the partition of its base", arguments: Wrapping.all)
    func partition(wrapping: Wrapping) {
        for partition in [.common, .named("a"), .unique()] as [TransportPartition] {
            #expect(wrapping.wrap(Odd(partition)).partition == partition)
        }
    }

    @Test("T32: a wrapper has the capabilities of its base", arguments: Wrapping.all)
    func capabilities(wrapping: Wrapping) {
        #expect(wrapping.wrap(Odd()).capabilities == [.sendsOnce, .asksForTrust])
    }

    @Test("T32: a wrapper invalidates its base", arguments: Wrapping.all)
    func invalidation(wrapping: Wrapping) {
        let base = Odd()
        wrapping.wrap(base).invalidate()
        #expect(base.invalidations.withLock { $0 } == 1)
    }

    @Test("T32: a wrapper keeps the members of a request that tell how the peer is judged", arguments: Wrapping.all)
    func requests(wrapping: Wrapping) async throws {
        let base = Odd()
        var request = TransportRequest(url: try RequestURL("https://h/"))
        (request.asksForTrust, request.trustGeneration) = (true, 7)
        let delegate = RecordingDelegate(answering: { question in
            if case .serverTrust(_, let reply) = question { reply(.trusted) }
        })
        wrapping.wrap(base).task(for: request, id: TransportTaskID(1), delegate: delegate).resume()
        try await delegate.wait { !$0.completions.isEmpty }
        let sent = base.requests.withLock { $0 }
        #expect(sent.map(\.trustGeneration) == [7] && sent.map(\.asksForTrust) == [true])
    }

    // MARK: Partitions

    @Test("T31: a transport that states no partition has one of its own for as long as it lives")
    func ownPartitions() {
        func make() -> Silent { Silent() }
        let (first, second) = (make(), make())
        #expect(first.partition == first.partition && first.partition.isOfProcess)
        #expect(first.partition != second.partition && first.partition != .common)
        // The memory of a released object may be used again, and its partition must not.
        var seen: Set<TransportPartition> = [first.partition, second.partition]
        for _ in 0..<500 { #expect(seen.insert(make().partition).inserted) }
        #expect(seen.contains(first.partition) && seen.contains(second.partition))
    }

    @Test("T31: partitions with different names or parts differ, and those of equal names are equal")
    func names() {
        let all: [TransportPartition] = [
            .common, .named(""), .named("a"), .named("1:a"), .named("a").adding("b"), .named("ab"),
            .named("b").adding("a"),
            .unique(), .unique(),
        ]
        #expect(Set(all).count == all.count)
        #expect(TransportPartition.named("a").adding("b") == .common.adding("a").adding("b"))
        let own = TransportPartition.unique()
        #expect(own.adding("a") == own.adding("a") && own.adding("a") != own && own.adding("a").isOfProcess)
        #expect(!TransportPartition.named("a").isOfProcess && !TransportPartition.common.isOfProcess)
    }

    #if os(Linux)
        @Test("T31: libcurl with a setting that decides about responses has a partition of its own")
        func settings() throws {
            let identity = ClientIdentity(certificateChain: [1], privateKey: [2])
            let proxies = try Proxies(Proxy("http://p:1"))
            let changes: [(inout CurlTransport.Configuration) -> Void] = [
                { $0.identity = identity }, { $0.hosts = ["h": .addresses(["127.0.0.2"])] },
                { $0.localAddress = "127.0.0.2" }, { $0.revocationList = "/none" },
                { $0.requiresStapledStatus = true }, { $0.certificateAuthorities = .file(path: "/none") },
                { $0.ciphers = "A" }, { $0.minimumTLSVersion = .tls1_3 }, { $0.proxies = proxies },
            ]
            for change in changes {
                let configuration = CurlTransport.Configuration(change)
                let first = CurlTransport(configuration: configuration)
                let second = CurlTransport(configuration: configuration)
                #expect(first.partition.isOfProcess && first.partition != second.partition)
                for wrapping in Wrapping.all { #expect(wrapping.wrap(first).partition == first.partition) }
            }
            #expect(CurlTransport(configuration: .init { $0.maximumIdleConnections = 1 }).partition == .common)
        }
    #endif
}

/// A transport that states nothing.
private final class Silent: Transport {
    func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask { StubTransport { _ in .text("") }.task(for: request, id: id, delegate: delegate) }

    func invalidate() {}
}
