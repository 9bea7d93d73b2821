/// The removals that are not in the second level yet.
///
/// Removals that fail are tried again with growing pauses. At the limit, they become one removal of all responses. It
/// is tried again only when a request needs the level. The process does not use the level before it has succeeded.
struct PendingRemovals: Sendable {
    static let firstPause = Duration.seconds(2)
    /// The maximum number of URLs. With more of them, all responses are removed.
    private static let maximumCount = 256
    private static let maximumPause = Duration.seconds(64)
    /// The maximum number of pauses, which together last 17 minutes.
    private static let maximumPauses = 20

    /// The removals by URL; nil stands for all URLs. The number tells two removals of a URL apart.
    private var numbers: [String?: UInt64] = [:]
    private var last: UInt64 = 0
    private var pauses = 0
    private var isRetrying = false
    private var hasGivenUp = false

    /// The URLs of all removals; nil stands for all URLs.
    var all: [String?] { Array(numbers.keys) }

    /// Returns those removals that concern a URL.
    func concerning(_ url: String) -> [String?] { [nil, url].filter { numbers[$0] != nil } }

    /// Returns the number of a removal; nil if the level has it.
    func number(of url: String?) -> UInt64? { numbers[url] }

    /// Adds a removal. Returns the URL of the removal that contains it.
    mutating func add(_ url: String?) -> String? {
        last += 1
        let isForAll = url == nil || numbers[nil] != nil || numbers.count >= Self.maximumCount
        if isForAll { numbers = [:] }
        let added = isForAll ? nil : url
        numbers.updateValue(last, forKey: added)
        return added
    }

    /// Notes that the level has a removal, unless there is a newer one of the URL.
    mutating func end(_ url: String?, _ number: UInt64) {
        if numbers[url] == number { numbers.removeValue(forKey: url) }
        if numbers.isEmpty { hasGivenUp = false }
    }

    /// Returns whether the caller has to try the removals again.
    mutating func beginRetrying() -> Bool {
        guard !numbers.isEmpty, !isRetrying, !hasGivenUp else { return false }
        (isRetrying, pauses) = (true, 0)
        return true
    }

    /// Returns the pause before the next try; nil if there is none.
    mutating func nextPause() -> Duration? {
        guard !numbers.isEmpty, pauses < Self.maximumPauses else {
            isRetrying = false
            if !numbers.isEmpty {
                _ = add(nil)
                hasGivenUp = true
            }
            return nil
        }
        defer { pauses += 1 }
        return min(Self.firstPause * (1 << min(pauses, 8)), Self.maximumPause)
    }
}
