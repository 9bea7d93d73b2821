/// The latest removals, in order.
struct RemovalLog {
    private static let limit = 256

    /// The number of the latest removal.
    private(set) var last: UInt64 = 0
    /// The latest removals by URL.
    private var urls: [String: UInt64] = [:]
    /// The number of the latest removal that is not in `urls`, because it concerned all URLs or is forgotten.
    private var forgotten: UInt64 = 0

    mutating func add(_ url: String) {
        if urls.count >= Self.limit { addAll() }
        last += 1
        urls[url] = last
    }

    mutating func addAll() {
        last += 1
        (urls, forgotten) = ([:], last)
    }

    func isCurrent(_ url: String, since mark: UInt64) -> Bool {
        last <= mark || max(urls[url] ?? 0, forgotten) <= mark
    }
}
