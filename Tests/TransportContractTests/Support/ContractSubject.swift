import Larkspur
import Testing

/// A transport under test: its name, what can be asked of it, and a way to make it together with its peer.
///
/// To put a further transport under the contract, write a `ContractPeer` for it and add a line to `all`.
struct ContractSubject: Sendable, CustomTestStringConvertible {
    /// What not every pair of transport and peer can play.
    enum Ability: Sendable {
        /// The transport pulls streamed bodies itself, also those that pend.
        case pullsBodies
        /// The transport keeps timeouts, by a clock that runs.
        case keepsTime
    }

    let name: String
    let abilities: Set<Ability>
    /// The most body bytes that one event carries: what "one buffer" means in the contract.
    let buffer: Int
    let makePeer: @Sendable () async throws -> any ContractPeer

    var testDescription: String { name }

    static let all = [stub] + engines

    private static let stub = ContractSubject(name: "stub", abilities: [], buffer: StubPeer.buffer) { StubPeer() }

    #if os(Linux)
        private static let engines = [
            ContractSubject(name: "libcurl", abilities: [.pullsBodies, .keepsTime], buffer: CurlPeer.buffer) {
                try CurlPeer()
            }
        ]
    #else
        private static let engines: [ContractSubject] = []
    #endif

    static func all(with ability: Ability) -> [ContractSubject] {
        all.filter { $0.abilities.contains(ability) }
    }
}

/// The other end: plays scripts to the requests of the transport that it was made for, and remembers the requests.
protocol ContractPeer: Sendable {
    var transport: any Transport { get }

    /// Gives the URL at which these steps are played.
    func url(playing script: [PeerStep]) throws -> RequestURL

    /// What has arrived at this URL, in order.
    func requests(at url: RequestURL) -> [ReceivedRequest]
}

/// A request as it arrived, header fields in their order, the body whole.
struct ReceivedRequest: Sendable {
    var method: String
    var target: String
    var fields: [HeaderField]
    var body: [UInt8]
}

/// What a peer does next, in words that every transport's peer understands. At a script's end the response ends.
enum PeerStep: Sendable {
    /// An interim response such as 103, before the head.
    case interim(Int, [HeaderField])
    case head(PeerHead)
    case bytes([UInt8])
    /// Waits for the test's signal.
    case wait(Gate)
    /// Does nothing more until the connection is gone.
    case stall
    /// Ends the connection in order, though more may have been promised.
    case close
    /// Ends the connection with a reset.
    case reset
    /// Makes the hop send its request again after the body was read once: a kept connection dies at that point.
    case needBodyAgain

    /// A head with these fields; a length that is not given is not declared.
    static func head(
        _ status: Int = 200, _ fields: [HeaderField] = [], length: Int? = nil
    ) -> PeerStep {
        .head(
            PeerHead(status: status, rawFields: ResponseHead(status: status, fields: fields).rawFields, length: length))
    }
}

struct PeerHead: Sendable {
    var status: Int
    /// Sent byte for byte; what declares the body's length comes after them.
    var rawFields: [UInt8]
    /// Nil: the body's end is told in another way (chunks, or the end of the connection).
    var length: Int?
}

extension [PeerStep] {
    /// A whole response.
    static func response(_ status: Int = 200, _ fields: [HeaderField] = [], body: [UInt8] = []) -> [PeerStep] {
        [.head(status, fields, length: body.count), .bytes(body)]
    }

    /// A response whose head comes at once, and whose body at the signal.
    static func response(_ body: [UInt8], after gate: Gate) -> [PeerStep] {
        [.head(length: body.count), .wait(gate), .bytes(body)]
    }
}

extension [UInt8] {
    /// Bytes that tell where they stand: a loss, a repeat or a swap of any piece shows.
    static func pattern(_ count: Int) -> [UInt8] {
        count <= table.count ? Array(table[..<count]) : computed(count)
    }

    /// Computed once: unoptimised and watched by a sanitizer, a byte costs a thousand times its copy.
    private static let table = computed(4 << 20)

    private static func computed(_ count: Int) -> [UInt8] {
        (0..<UInt64(count)).map { UInt8(truncatingIfNeeded: ($0 &* 0x9E37_79B9_7F4A_7C15) >> 37) }
    }
}
