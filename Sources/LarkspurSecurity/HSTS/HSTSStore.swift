/// The hosts that must be reached over TLS (HTTP Strict Transport Security, RFC 6797).
///
/// A session with such a store changes `http` URLs of these hosts to `https` before it sends a request: of requests and
/// of redirects. A host enters the store when its response over TLS has a `Strict-Transport-Security` field. A program
/// can also add hosts itself.
///
///     let store = try HSTSStore(file: folder.appendingPathComponent("hosts.json"))
///     store.set(.init("example.com", includesSubdomains: true, expires: .distantFuture))
///     let session = Session(configuration: SessionConfiguration { $0.hsts = store })
///
/// IP addresses never enter the store. Nothing is learnt from a host whose certificate a ``DisabledTrustEvaluator``
/// accepts, or from the cache. Transfers in the background do not use the store.
public final class HSTSStore: Sendable {
    /// A host of the store.
    public struct Host: Sendable, Hashable, Codable {
        /// The name in lower case, without a dot at its end.
        public let name: String
        /// Whether the entry also applies to all subdomains.
        public let includesSubdomains: Bool
        /// The date until which the entry applies.
        public let expires: Date

        /// Creates an entry. The name is a host name such as `example.com`. An IP address or an invalid name has no
        /// effect in a store.
        public init(_ name: String, includesSubdomains: Bool = false, expires: Date) {
            self.name = ServerTrustManager.name(of: name)
            self.includesSubdomains = includesSubdomains
            self.expires = expires
        }
    }

    /// The maximum number of hosts. If there are more, hosts of the domain that has the most are removed, so that the
    /// many names of one domain do not displace other domains.
    static let limit = 10_000

    // Immutable
    private let clock: WallClock
    private let file: ListFile<Host>?

    // Mutable state, guarded by the lock of `Protected`
    private let box: Protected<[String: Host]>

    /// Creates a store in memory.
    ///
    /// - Parameters:
    ///   - hosts: The initial hosts. If two have the same name, the later one counts.
    ///   - clock: The clock by which hosts expire.
    public convenience init(_ hosts: [Host] = [], clock: WallClock = .system) {
        self.init(hosts, in: nil, clock)
    }

    /// Creates a store with the hosts of a file, and stores later changes in that file. Only the file's owner can read
    /// the file, because it tells which hosts were visited.
    ///
    /// If the file does not exist, the store is empty. If the file is damaged, the initializer throws
    /// `.invalidHSTSFile` and leaves the file unchanged. The store replaces the file atomically after changes. Call
    /// ``save()`` before the process ends, so that no change is lost.
    public convenience init(file: URL, clock: WallClock = .system) throws(RequestError) {
        let file = ListFile<Host>(try file.filePath)
        self.init(try file.read(), in: file, clock)
    }

    private init(_ hosts: [Host], in file: ListFile<Host>?, _ clock: WallClock) {
        self.clock = clock
        self.file = file
        box = Protected([:])
        let now = clock.now
        box.withLock { stored in
            for host in hosts { Self.set(host, in: &stored, at: now) }
        }
    }

    // MARK: Requests and responses

    /// Returns whether the host must be reached over TLS.
    public func requiresTLS(_ host: String) -> Bool {
        if box.withLock({ $0.isEmpty }) { return false }
        let (name, now) = (ServerTrustManager.name(of: host), clock.now)
        guard !Cookie.isAddress(name) else { return false }
        return box.withLock { hosts in
            if let own = hosts[name], own.expires > now { return true }
            return name.indices.contains { index in
                guard name[index] == ".", let parent = hosts[String(name[name.index(after: index)...])] else {
                    return false
                }
                return parent.includesSubdomains && parent.expires > now
            }
        }
    }

    /// Returns the URL to use: with `https` in place of `http` if the store has the host, otherwise unchanged. A port
    /// in the URL is kept. Throws `.invalidURL` if the URL is too long to be changed.
    public func secured(_ url: RequestURL) throws(RequestError) -> RequestURL {
        guard url.isHTTP, !url.isHTTPS, let host = url.host, requiresTLS(String(host)) else { return url }
        do { return try url.overTLS() } catch {
            throw RequestError(.invalidURL, "the URL is too long to be used over TLS", underlying: error)
        }
    }

    /// Stores or removes the host of a response, as its `Strict-Transport-Security` field says. Only the first field
    /// counts. Has no effect unless the URL's scheme is https.
    public func learn(from head: ResponseHead, of url: RequestURL) {
        guard url.isHTTPS, let value = head.values(for: Self.field).first, let header = HSTSHeader(value),
            let host = url.host
        else { return }
        let new = Host(
            String(host), includesSubdomains: header.includesSubdomains,
            expires: clock.now.addingTimeInterval(Double(header.maxAge)))
        // A host sends the field with each response. The entry, and the file, need not change each time.
        if header.maxAge > 0, let old = box.withLock({ $0[new.name] }),
            old.includesSubdomains == new.includesSubdomains,
            abs(new.expires.timeIntervalSince(old.expires)) < Double(header.maxAge) / 100
        {
            return
        }
        set(new)
    }

    static let field = "Strict-Transport-Security"

    // MARK: Reading and changing

    /// All hosts that have not expired, in the order of their names.
    public var all: [Host] {
        let now = clock.now
        return box.withLock { $0.values.filter { $0.expires > now } }.sorted { $0.name < $1.name }
    }

    /// Stores a host in place of the one with the same name. If the new one has expired, the old one is only removed.
    public func set(_ host: Host) {
        let now = clock.now
        guard box.withLock({ Self.set(host, in: &$0, at: now) }) else { return }
        file?.setNeedsWriting { [self] in all }
    }

    /// Removes the host with this name.
    public func remove(_ name: String) { set(Host(name, expires: .distantPast)) }

    /// Removes every host.
    public func removeAll() {
        let before = box.withLock { hosts in
            defer { hosts = [:] }
            return hosts
        }
        if !before.isEmpty { file?.setNeedsWriting { [self] in all } }
    }

    /// Returns whether the store has changed.
    @discardableResult
    private static func set(_ host: Host, in hosts: inout [String: Host], at now: Date) -> Bool {
        guard !host.name.isEmpty, !Cookie.isAddress(host.name) else { return false }
        let before = hosts[host.name]
        hosts[host.name] = host.expires > now ? host : nil
        if hosts.count > limit { removeExcess(of: &hosts) }
        return hosts[host.name] != before
    }

    /// Removes half of the hosts of the domain that has the most: those that expire first.
    private static func removeExcess(of hosts: inout [String: Host]) {
        let domains = Dictionary(grouping: hosts.values) {
            $0.name.split(separator: ".").suffix(2).joined(separator: ".")
        }
        guard let largest = domains.values.max(by: { $0.count < $1.count }) else { return }
        let leaving = largest.sorted { $0.expires < $1.expires }.prefix((largest.count + 1) / 2)
        for host in leaving { hosts[host.name] = nil }
    }

    // MARK: The file

    /// Writes the file now, and throws if the write fails. Has no effect on a store in memory.
    public func save() async throws { try await file?.write { all } }

    /// The error of the last write to the file; nil if that write succeeded.
    public var fileError: RequestError? { file?.failure }
}

extension HSTSStore.Host: ListFileElement {
    package static var listKey: String { "hosts" }
    package static var fileDescription: String { "the file of an HSTS store" }
    package static var invalidFile: RequestError.Code { .invalidHSTSFile }
}

extension HSTSStore: CustomStringConvertible {
    public var description: String { "HSTSStore(\(box.withLock { $0.count }) hosts)" }
}
