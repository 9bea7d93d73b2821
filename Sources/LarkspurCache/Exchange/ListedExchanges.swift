/// The exchanges in flight that equal requests may join, and those that have ended just now.
///
/// A request looks in the store first, and then for an exchange. If an equal exchange stores its response and ends in
/// between, the request finds neither. So it compares marks: if such an exchange has ended since, it looks again.
struct ListedExchanges: Sendable {
    enum Listing: Sendable {
        case listed
        /// Another exchange was listed before.
        case other(SharedExchange)
        /// An equal exchange has ended since the mark, and has stored its response.
        case looksAgain
    }

    /// The number of ended exchanges that are kept.
    private static let recentCount = 16

    private(set) var listed: [CacheKey: SharedExchange] = [:]
    /// The number of exchanges that have ended and stored their responses.
    private(set) var ended: UInt64 = 0
    /// The hashes of the last keys of such exchanges.
    private var recent: [Int] = []

    mutating func list(_ exchange: SharedExchange, since mark: UInt64?) -> Listing {
        let key = exchange.owner.key
        if let mark, mark != ended, mayHaveEnded(key, since: mark) { return .looksAgain }
        func entry(_ entry: inout SharedExchange) -> SharedExchange { entry }
        let first = entry(&listed[key, default: exchange])
        return first === exchange ? .listed : .other(first)
    }

    /// Returns the exchange, to be released after unlocking.
    mutating func unlist(_ exchange: SharedExchange, isStored: Bool) -> SharedExchange? {
        let key = exchange.owner.key
        if isStored {
            if recent.count < Self.recentCount {
                recent.append(key.hashValue)
            } else {
                recent[Int(ended % UInt64(Self.recentCount))] = key.hashValue
            }
            ended += 1
        }
        guard let place = listed.index(forKey: key), listed[place].value === exchange else { return nil }
        return listed.remove(at: place).value
    }

    private func mayHaveEnded(_ key: CacheKey, since mark: UInt64) -> Bool {
        guard ended - mark <= UInt64(Self.recentCount) else { return true }
        let hash = key.hashValue
        return (mark..<ended).contains { recent[Int($0 % UInt64(Self.recentCount))] == hash }
    }
}
