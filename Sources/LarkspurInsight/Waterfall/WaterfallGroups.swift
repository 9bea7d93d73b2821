import Larkspur

/// The numbers of the requests to which entries belong, in the order of their start.
///
/// The archives of recorders name the request. In other archives, an entry follows a redirect if its URL is the target.
struct WaterfallGroups {
    private var count = 0
    private var named: [String: Int] = [:]
    /// The requests that wait for the hop to this URL.
    private var redirected: [String: Int] = [:]

    mutating func group(of entry: HARArchive.Entry) -> Int {
        if let name = entry.requestID {
            if let group = named[name] { return group }
            named[name] = next()
            return count - 1
        }
        let group = redirected.removeValue(forKey: Self.key(entry.request.url)) ?? next()
        if let target = Self.target(of: entry) { redirected[target] = group }
        return group
    }

    private mutating func next() -> Int {
        defer { count += 1 }
        return count
    }

    private static func target(of entry: HARArchive.Entry) -> String? {
        guard (300...399).contains(entry.response.status), !entry.response.redirectURL.isEmpty,
            let target = URL(string: entry.response.redirectURL, relativeTo: URL(string: entry.request.url))
        else { return nil }
        return key(target.absoluteString)
    }

    /// Returns the URL without its fragment, which some programs leave out.
    private static func key(_ url: String) -> String { String(url.prefix { $0 != "#" }) }
}
