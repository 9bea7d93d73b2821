import Larkspur

/// The state of a ``SharedCircuitBreaker``: the circuits as the store has them, the changes that this process has to
/// store, and its probes. It has no side effects. Times count from an arbitrary start of this process.
///
/// A list in the store has an entry for each circuit that has opened or closed lately. An entry has no time, because
/// machines do not agree on it: a process that learns of an open circuit opens its own one for a pause.
struct SharedCircuits: Sendable {
    /// The last change of a circuit. Each change has a new random number.
    struct Entry: Codable, Sendable, Hashable {
        var origin: String
        var isOpen: Bool
        var number: UInt64
    }

    /// The right of this process to send probes to an origin.
    private struct Turn {
        /// Nil until the store has answered, or if it could not be asked.
        var lease: StoreLease?
        /// Whether probes may be sent. All probes of the turn wait for it.
        let answer: Task<Bool, Never>
        let begin: Duration
        var probes: Set<RequestID>
    }

    /// The maximum number of entries. The oldest ones are removed first.
    static let limit = 256

    /// The entries of the store, and the times at which this process has first seen them.
    private(set) var known: [String: (entry: Entry, since: Duration)] = [:]
    /// The changes to store, and the numbers of the entries that they follow.
    private(set) var pending: [String: (entry: Entry, basis: UInt64?)] = [:]
    /// The open entries whose circuits are closed in this process.
    private var closedHere: Set<String> = []
    private var turns: [RequestURL.Origin: Turn] = [:]

    /// Whether no probe of this process is in flight.
    var isIdle: Bool { turns.isEmpty }

    // MARK: Requests

    /// Notes a probe. Returns whether it may be sent, as soon as it is known.
    ///
    /// - Parameter ask: Asks the store for a lease, or for the renewal of an earlier one. It is called for the first
    ///   probe of a turn.
    mutating func beginProbe(
        _ id: RequestID, to origin: RequestURL.Origin, at now: Duration, pause: Duration,
        asking ask: (_ earlier: StoreLease?) -> Task<Bool, Never>
    ) -> Task<Bool, Never> {
        let earlier = turns[origin]
        if let earlier, now - earlier.begin < pause {
            turns[origin]?.probes.insert(id)
            return earlier.answer
        }
        let answer = ask(earlier?.lease)
        turns[origin] = Turn(answer: answer, begin: now, probes: (earlier?.probes ?? []).union([id]))
        return answer
    }

    /// Notes the lease of a turn. Without a lease, the turn is over.
    mutating func endAsking(_ lease: StoreLease?, for origin: RequestURL.Origin) {
        if lease == nil { turns[origin] = nil } else { turns[origin]?.lease = lease }
    }

    /// Notes the end of a request, and the state of its circuit then. Returns whether there is a change to store, and
    /// the lease that is no longer needed. After a probe that fails, other processes need a pause too: its lease ends
    /// by itself.
    mutating func endRequest(
        _ id: RequestID, to origin: RequestURL.Origin, _ circuit: CircuitBreaker.State, isRefused: Bool
    ) -> (hasChange: Bool, lease: StoreLease?) {
        turns[origin]?.probes.remove(id)
        let turn = turns[origin]
        if circuit == .halfOpen {
            guard let turn, turn.probes.isEmpty else { return (false, nil) }
            turns[origin] = nil
            return (false, turn.lease)
        }
        turns[origin] = nil
        let (name, isOpen) = ("\(origin)", circuit != .closed)
        let entry = known[name]?.entry
        let isChange = turn != nil || isOpen && !isRefused && (entry?.isOpen != true || closedHere.contains(name))
        if isOpen { closedHere.remove(name) }
        if isChange, pending.count < Self.limit || pending[name] != nil {
            pending[name] = (Entry(origin: name, isOpen: isOpen, number: .random(in: 0...(.max))), entry?.number)
        }
        return (isChange, isOpen ? nil : turn?.lease)
    }

    /// Notes that a circuit is closed in this process, though its entry may say that it is open: it was closed by
    /// hand, or its entry is old.
    mutating func noteClosed(_ origin: RequestURL.Origin) {
        guard !known.isEmpty else { return }
        let name = "\(origin)"
        if known[name]?.entry.isOpen == true { closedHere.insert(name) }
    }

    // MARK: The store

    /// Returns the entries that this process does not know. The turns for their origins are over: another process has
    /// had the lease, and outcomes of this one come too late.
    mutating func news(in entries: [Entry]) -> [Entry] {
        let news = entries.filter { known[$0.origin]?.entry != $0 }
        let origins = Set(news.map(\.origin))
        if !origins.isEmpty { turns = turns.filter { !origins.contains("\($0.key)") } }
        return news
    }

    /// Notes the entries of the store. Returns the entries to store in their place; nil if there is no change to store.
    ///
    /// - Parameter age: The time after which entries without a change are removed.
    mutating func receive(_ entries: [Entry], at now: Duration, keeping age: Duration) -> [Entry]? {
        let before = known
        known = [:]
        for entry in entries {
            let earlier = before[entry.origin]
            known[entry.origin] = (entry, earlier?.entry == entry ? earlier?.since ?? now : now)
        }
        closedHere = closedHere.filter { known[$0] != nil && known[$0]?.entry == before[$0]?.entry }
        // If the entry has changed since then, it is newer than the change of this process.
        pending = pending.filter { name, change in known[name].map { $0.entry.number == change.basis } ?? true }
        guard !pending.isEmpty else { return nil }
        let kept = entries.filter { entry in
            pending[entry.origin] == nil && now - (known[entry.origin]?.since ?? now) < age
        }
        return Array((kept + pending.values.map(\.entry)).suffix(Self.limit))
    }

    /// Notes that this process has stored these entries. Its later changes follow them.
    mutating func didStore(_ entries: [Entry]) {
        for entry in entries where known[entry.origin]?.entry != entry {
            if pending[entry.origin]?.entry == entry { pending[entry.origin] = nil }
            pending[entry.origin]?.basis = entry.number
        }
    }

    /// Forgets those of the given changes that were not stored.
    mutating func drop(_ changes: [String: Entry]) {
        pending = pending.filter { name, change in changes[name] != change.entry }
    }
}
