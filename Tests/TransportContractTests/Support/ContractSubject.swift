import CTestWidth
import Larkspur
import LarkspurInsight
import LarkspurTesting
import Testing

@testable import LarkspurURLSession

/// A transport under test: its name, its abilities, and a way to make it together with its peer.
///
/// To test another transport, write a `ContractPeer` for it and add a line to `all`.
struct ContractSubject: Sendable, CustomTestStringConvertible {
    /// An ability that not every pair of transport and peer has.
    enum Ability: Sendable {
        /// The transport pulls streamed bodies itself, also streams that return pending.
        case pullsBodies
        /// The transport enforces timeouts, and a test can move its clock.
        case keepsTime
    }

    let name: String
    let abilities: Set<Ability>
    /// The maximum number of body bytes in one event: "one buffer" in the contract.
    let buffer: Int
    /// The sentences that the transport keeps although not every engine can.
    let capabilities: TransportCapabilities
    /// Makes a peer whose transport measures its timeouts with the clock; nil stands for the system's clock.
    let makePeer: @Sendable (EngineClock?) async throws -> any ContractPeer

    var testDescription: String { name }

    /// All transports; in a process that is started for one engine, only that engine.
    static let all =
        EngineProcess.isEngine ? [urlSession] : [stub] + decorators + engines

    private static let stub = ContractSubject(
        name: "stub", abilities: [], buffer: StubPeer.buffer, capabilities: .all
    ) { _ in StubPeer() }

    /// A transport with a cache around the stub. Each page of the peer has a URL of its own, so the cache stores
    /// responses but serves none.
    private static let cached = ContractSubject(
        name: "cache over the stub", abilities: [], buffer: StubPeer.buffer, capabilities: .all
    ) { _ in CachedPeer(StubPeer()) }

    private static let cachedOnDisk = ContractSubject(
        name: "cache on disk over the stub", abilities: [], buffer: StubPeer.buffer, capabilities: .all
    ) { _ in CachedPeer(onDisk: StubPeer()) }

    private static let limited = ContractSubject(
        name: "admissions over the stub", abilities: [], buffer: StubPeer.buffer, capabilities: .all
    ) { _ in WrappedPeer(StubPeer()) { AdmittingTransport($0, [LateAdmission(), Limiter(RequestLimits(total: 100))]) } }

    /// Each page of the peer has a URL of its own, so no request joins another.
    private static let coalescing = ContractSubject(
        name: "coalescing over the stub", abilities: [], buffer: StubPeer.buffer, capabilities: .all
    ) { _ in WrappedPeer(StubPeer()) { DataHops(CoalescingTransport($0, .identicalReads)) } }

    /// The delay is so long that no request is sent twice.
    private static let hedging = ContractSubject(
        name: "hedging over the stub", abilities: [], buffer: StubPeer.buffer, capabilities: .all
    ) { _ in WrappedPeer(StubPeer()) { HedgingTransport($0, after: .duration(.seconds(3_600)), atMost: 1) } }

    /// The cassette has no entries, so it passes all requests on.
    private static let recording = ContractSubject(
        name: "cassette over the stub", abilities: [], buffer: StubPeer.buffer, capabilities: .all
    ) { _ in WrappedPeer(StubPeer()) { Cassette(HARArchive(), unknown: .record(from: $0)) } }

    /// The peer's host has a transport of its own.
    private static let routing = ContractSubject(
        name: "routing over the stub", abilities: [], buffer: StubPeer.buffer, capabilities: .all
    ) { _ in
        WrappedPeer(StubPeer()) { RoutingTransport(["**.unknown": StubTransport { _ in .text("") }], otherwise: $0) }
    }

    private static let faults = ContractSubject(
        name: "no faults over the stub", abilities: [], buffer: StubPeer.buffer, capabilities: .all
    ) { _ in WrappedPeer(StubPeer()) { FaultTransport($0, seed: 1) { _ in } } }

    private static let decorators = [cached, cachedOnDisk, limited, coalescing, hedging, recording, routing, faults]

    private static let urlSession = ContractSubject(
        name: "URLSession", abilities: [.pullsBodies, .keepsTime], buffer: ServerPeer.buffer,
        capabilities: URLSessionTransport().capabilities
    ) { try ServerPeer(URLSessionTransport(clock: $0)) }

    #if os(Linux)
        private static let twoLoops = CurlTransport.Configuration { $0.loops = 2 }
        private static let engines = [
            ContractSubject(
                name: "libcurl", abilities: [.pullsBodies, .keepsTime], buffer: ServerPeer.buffer,
                capabilities: CurlTransport().capabilities
            ) { try ServerPeer(CurlTransport(clock: $0)) },
            ContractSubject(
                name: "libcurl with two loops", abilities: [.pullsBodies, .keepsTime], buffer: ServerPeer.buffer,
                capabilities: CurlTransport().capabilities
            ) { try ServerPeer(CurlTransport(configuration: twoLoops, clock: $0)) },
            ContractSubject(
                name: "cache over libcurl", abilities: [.pullsBodies, .keepsTime], buffer: ServerPeer.buffer,
                capabilities: CurlTransport().capabilities
            ) { CachedPeer(try ServerPeer(CurlTransport(clock: $0))) },
            ContractSubject(
                name: "hedging over libcurl", abilities: [.pullsBodies, .keepsTime], buffer: ServerPeer.buffer,
                capabilities: CurlTransport().capabilities
            ) {
                WrappedPeer(try ServerPeer(CurlTransport(clock: $0))) {
                    HedgingTransport($0, after: .duration(.seconds(3_600)), atMost: 1)
                }
            },
            ContractSubject(
                name: "cassette over libcurl", abilities: [.pullsBodies, .keepsTime], buffer: ServerPeer.buffer,
                capabilities: CurlTransport().capabilities
            ) {
                WrappedPeer(try ServerPeer(CurlTransport(clock: $0))) {
                    Cassette(HARArchive(), unknown: .record(from: $0))
                }
            },
            ContractSubject(
                name: "limits over libcurl", abilities: [.pullsBodies, .keepsTime], buffer: ServerPeer.buffer,
                capabilities: CurlTransport().capabilities
            ) {
                WrappedPeer(try ServerPeer(CurlTransport(clock: $0))) {
                    AdmittingTransport($0, [Limiter(RequestLimits(total: 100))])
                }
            },
        ]
    #else
        private static let engines = [urlSession]
    #endif

    /// Returns the transports that state these capabilities.
    static func all(stating capabilities: TransportCapabilities) -> [ContractSubject] {
        all.filter { $0.capabilities.isSuperset(of: capabilities) }
    }

    static func all(with ability: Ability) -> [ContractSubject] {
        all.filter { $0.abilities.contains(ability) }
    }
}

/// The server of the contract tests: plays scripts for the requests of its transport and records the requests.
protocol ContractPeer: Sendable {
    var transport: any Transport { get }

    /// Returns the URL at which these steps are played.
    func url(playing script: [PeerStep]) throws -> RequestURL

    /// Returns the requests that have arrived at this URL, in order.
    func requests(at url: RequestURL) -> [ReceivedRequest]
}

/// A request as it arrived, with the header fields in order and the whole body.
struct ReceivedRequest: Sendable {
    var method: String
    var target: String
    var fields: [HTTPHeader]
    var body: [UInt8]
    /// The fields after the body.
    var trailers: [HTTPHeader] = []
}

/// An action of a peer that every transport's peer supports. At the end of a script the response ends.
enum PeerStep: Sendable {
    /// Sends an interim response such as 103, before the head.
    case interim(Int, [HTTPHeader])
    case head(PeerHead)
    case bytes([UInt8])
    /// Sends fields after a body without a declared length.
    case trailers([HTTPHeader])
    /// Waits for the test's signal.
    case wait(Gate)
    /// Does nothing until the connection is closed.
    case stall
    /// Closes the connection normally, even if the response is incomplete.
    case close
    /// Resets the connection.
    case reset
    /// Makes the hop send its request again after the body was read once, by closing a reused connection then.
    case needBodyAgain

    /// Returns a head with these fields. Without a length, none is declared.
    static func head(
        _ status: Int = 200, _ fields: [HTTPHeader] = [], length: Int? = nil
    ) -> PeerStep {
        .head(
            PeerHead(status: status, rawFields: ResponseHead(status: status, fields: fields).rawFields, length: length))
    }
}

struct PeerHead: Sendable {
    var status: Int
    /// The field lines, sent byte for byte. The declaration of the body's length follows them.
    var rawFields: [UInt8]
    /// The declared length; nil if chunks or the end of the connection end the body.
    var length: Int?
}

extension [PeerStep] {
    /// Returns a complete response.
    static func response(_ status: Int = 200, _ fields: [HTTPHeader] = [], body: [UInt8] = []) -> [PeerStep] {
        [.head(status, fields, length: body.count), .bytes(body)]
    }

    /// Returns a response whose head comes at once and whose body comes after the gate is opened.
    static func response(_ body: [UInt8], after gate: Gate) -> [PeerStep] {
        [.head(length: body.count), .wait(gate), .bytes(body)]
    }
}

extension [UInt8] {
    /// Returns bytes that depend on their position, so that a lost, repeated or swapped piece is visible.
    static func pattern(_ count: Int) -> [UInt8] {
        // With no capacity the initialiser writes to the storage that all empty arrays share: a data race for the sanitizer.
        if count == 0 { return [] }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            if let start = buffer.baseAddress { test_fill_pattern(start, count) }
            initialized = count
        }
    }

    /// Compares as memory: an unoptimised build compares arrays element by element.
    static func == (left: [UInt8], right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return left.withUnsafeBytes { left in
            right.withUnsafeBytes { right in
                guard let first = left.baseAddress, let second = right.baseAddress else { return true }
                return memcmp(first, second, left.count) == 0
            }
        }
    }
}
