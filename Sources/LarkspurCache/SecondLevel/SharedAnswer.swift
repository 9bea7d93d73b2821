/// The state of a response in the second level.
struct SharedFound: Sendable {
    /// The name of the right to ask for the response.
    var name: String
    var generations: SharedGenerations
    /// Those of the generations that the level does not have, by their names.
    let missing: [String: [UInt8]]
    var response: StoredResponse?
    /// Whether the server's response is not shared.
    var isUnshared = false

    init(_ name: String, _ generations: SharedGenerations, missing: [String: [UInt8]] = [:]) {
        (self.name, self.generations, self.missing) = (name, generations, missing)
    }

    /// Returns whether the response can be served to the reader without a request.
    func isServed(_ reader: any SecondLevelReader, _ now: Double) -> Bool {
        response.map { reader.serves($0.head, at: now) } ?? false
    }

    /// Returns whether each request has to validate the response, so that no process need wait for another one to
    /// validate it.
    func isAlwaysValidated(_ rules: CacheRules) -> Bool {
        guard let head = response?.head else { return false }
        return head.control.noCache || rules.lifetime(of: head) <= 0
    }
}

/// The right to store the response of an exchange in the second level.
struct SharedTicket: Sendable {
    let name: String
    /// The generations before the request was sent.
    let generations: SharedGenerations
    /// The right to ask, which other processes wait for; nil if the process asks without it.
    let turn: SharedCacheTurn?
}

/// The result of a lookup in the second level.
struct SharedAnswer: Sendable {
    /// The response, if it is served.
    let served: StoredResponse?
    /// The right to store the server's response; nil if the level does not have the generations.
    let ticket: SharedTicket?

    init(_ found: SharedFound, _ turn: SharedCacheTurn?, isServed: Bool = false, isKnown: Bool) {
        served = isServed ? found.response : nil
        ticket = isKnown ? SharedTicket(name: found.name, generations: found.generations, turn: turn) : nil
    }
}

/// A response that is being stored in both levels.
final class SharedWriter: CacheWriter {
    private let base: any CacheWriter
    private let head: StoredHead
    private let key: CacheKey
    private let ticket: SharedTicket
    private let second: SecondLevel
    /// The body; nil if it is too large, or after the end.
    private let body = Protected<Data?>(Data())
    private let hasEnded = Protected(false)

    init(
        _ base: any CacheWriter, _ head: StoredHead, _ key: CacheKey, _ ticket: SharedTicket, _ second: SecondLevel
    ) {
        (self.base, self.head, self.key, self.ticket, self.second) = (base, head, key, ticket, second)
    }

    func append(_ bytes: Data) {
        base.append(bytes)
        _ = body.withLock { received -> Data? in
            guard let count = received?.count else { return nil }
            guard count + bytes.count <= second.maximumSize else { return received.take() }
            received?.append(bytes)
            return nil
        }
    }

    func isBehind(_ caughtUp: @escaping @Sendable () -> Void) -> Bool { base.isBehind(caughtUp) }

    func read(at position: UInt64, _ done: @escaping @Sendable (Result<Data, TransportError>) -> Void) {
        base.read(at: position, done)
    }

    var isOpen: Bool { base.isOpen }
    var servesReadersOnly: Bool { base.servesReadersOnly }
    var firstKept: UInt64 { base.firstKept }

    func release(before position: UInt64, orBefore limit: UInt64) {
        base.release(before: position, orBefore: limit)
    }

    func commit(head: StoredHead?, body: Data?) {
        base.commit(head: head, body: body)
        guard end() else { return }
        let received = self.body.withLock { $0.take() }
        second.store(head ?? self.head, body ?? received, key, ticket)
    }

    func drop() {
        base.drop()
        _ = body.withLock { $0.take() }
        if end() { second.end(ticket.turn) }
    }

    private func end() -> Bool {
        hasEnded.withLock { ended in
            defer { ended = true }
            return !ended
        }
    }
}
