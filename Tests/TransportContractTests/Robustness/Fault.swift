import Larkspur
import LarkspurTesting
import Testing

/// A fault of a broken or hostile peer, and the outcome that a transport must report: a row of the tables.
struct Fault: Sendable, CustomTestStringConvertible {
    enum Outcome: Sendable {
        /// A success with exactly this response; or this failure, if the outcome depends on the network's timing.
        case response(String, status: Int = 200, fields: [String]? = nil, or: TransportError.Code? = nil)
        /// A failure with one of these codes.
        case failure(Set<TransportError.Code>)

        static func failure(_ code: TransportError.Code) -> Outcome { .failure([code]) }
    }

    let name: String
    var response: MockResponse
    var outcome: Outcome
    var method = "GET"
    var body = TransportBody.none
    /// How much of the request's body the peer reads.
    var reading = MockBodyReading.kept
    var timeouts = TransportTimeouts.long

    var testDescription: String { name }

    /// Whether the peer never ends the hop, so that a time limit has to end it.
    var lastsForever: Bool {
        if case .failure([.timedOut]) = outcome { true } else { false }
    }

    init(_ name: String, _ response: MockResponse, _ outcome: Outcome) {
        self.name = name
        self.response = response
        self.outcome = outcome
    }

    /// Creates a fault whose peer sends these bytes and closes the connection.
    init(_ name: String, raw: String, _ outcome: Outcome) {
        self.init(name, .raw(raw), outcome)
    }

    /// Creates a fault whose peer sends these bytes and performs the steps. The connection stays open unless a step
    /// closes it.
    init(_ name: String, raw: String, then steps: MockResponse.Step..., outcome: Outcome) {
        self.init(name, MockResponse([.raw(Data(raw.utf8))] + steps), outcome)
    }

    func method(_ method: String, _ body: TransportBody = .none, reading: MockBodyReading = .kept) -> Fault {
        var fault = self
        (fault.method, fault.body, fault.reading) = (method, body, reading)
        return fault
    }

    /// Returns this fault with a day as its only time limit.
    func within(_ limit: WritableKeyPath<TransportTimeouts, Duration?> & Sendable) -> Fault {
        var fault = self
        fault.timeouts = .only { $0[keyPath: limit] = .days(1) }
        return fault
    }
}

extension MockResponse.Step {
    /// Returns a step that repeats these bytes as long as the peer accepts them.
    static func endless(_ text: String) -> MockResponse.Step {
        let piece = Data(String(repeating: text, count: max(1, 4_096 / text.utf8.count)).utf8)
        return .generated(count: nil) { _ in piece }
    }
}
