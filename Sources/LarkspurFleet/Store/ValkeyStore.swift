import Larkspur

/// A store of a Valkey or Redis server, version 6 or later, for the processes of many machines.
///
///     let store = try ValkeyStore("redis://user:password@10.0.0.5:6379/0", prefix: "shop:")
///
/// The library libhiredis is found at run time. All times are those of the server's clock. A store has a connection for
/// commands, which all callers share, and another one for ``changes(of:)``. A connection that has ended is made again.
///
/// The URL of a cluster names one of its nodes. The store follows redirects to the others, with a connection for each
/// of them, and remembers the nodes of the slots. In a cluster, names must not begin with `}`.
///
/// Each operation ends within the `patience`. A change that was sent and not answered fails with `.unavailable`, and
/// its outcome is not known. A read is sent again.
///
/// The server keeps the fencing numbers of a lease, and of a value that was written under a lease, for seven days after
/// the last use. It must not evict keys: its `maxmemory-policy` is `noeviction`. A change that the server had
/// acknowledged can be lost if the server fails before it has saved the change or a replica has it.
public final class ValkeyStore: ValueStore {
    /// The time that the server remembers leases and fences, in milliseconds.
    private static let retention = String(7 * 24 * 3_600 * 1_000)

    private let address: ValkeyAddress
    private let prefix: [UInt8]
    private let now: @Sendable () -> Duration?
    private let notices: ValkeyNotices
    private let cluster: ValkeyCluster
    private let noticeWorker: ValkeyWorker

    /// Creates a store. It connects with the first operation.
    ///
    /// | URL | server |
    /// |---|---|
    /// | `redis://host:6379/0` | without TLS; `valkey` means the same |
    /// | `rediss://host:6379/0` | with TLS, which needs libhiredis 1.0 or later; `valkeys` means the same |
    /// | `redis+sentinel://host1:26379,host2:26379/name/0` | the primary that sentinels know by the name |
    /// | `rediss+sentinel://host1:26379,host2:26379/name/0` | the same; the sentinels too are asked over TLS |
    ///
    /// Credentials are `user:password@` or `:password@` before the host. Special characters are percent-encoded.
    ///
    /// - Parameters:
    ///   - url: The URL of the server.
    ///   - prefix: The beginning of all keys and channels. Stores with the same prefix are one store.
    ///   - patience: The maximum time of an operation, connecting included.
    ///   - authorities: A PEM file with the certificate authorities for TLS; nil for those of the system.
    ///   - sentinelUser: The user for the sentinels, if they have users. The URL has the user of the server.
    ///   - sentinelPassword: The password for the sentinels, if they require one. The URL has that of the server.
    /// - Throws: `StoreError` with the code `.invalidInput` if the URL is not valid, and with `.unavailable` if
    ///   libhiredis was not found.
    public convenience init(
        _ url: String, prefix: String = "larkspur:", patience: Duration = .seconds(5), authorities: URL? = nil,
        sentinelUser: String? = nil, sentinelPassword: String? = nil
    ) throws(StoreError) {
        var connector = ValkeyConnector(
            address: try ValkeyAddress(url), authorities: authorities?.path, patience: patience)
        connector.sentinelUser = sentinelUser
        connector.sentinelPassword = sentinelPassword
        guard authorities?.isFileURL ?? true else {
            throw StoreError(.invalidInput, "the URL of the certificate authorities is not a file URL")
        }
        try self.init(connector, prefix: prefix, now: { nil })
    }

    init(_ connector: ValkeyConnector, prefix: String, now: @escaping @Sendable () -> Duration?) throws(StoreError) {
        let (address, patience) = (connector.address, connector.patience)
        guard patience > .zero, patience <= .seconds(3_600) else {
            throw StoreError(.invalidInput, "the patience of a store is more than zero and at most an hour")
        }
        if connector.sentinelUser != nil || connector.sentinelPassword != nil {
            guard address.primary != nil, connector.sentinelPassword?.isEmpty == false else {
                throw StoreError(
                    .invalidInput, "a login for sentinels needs a redis+sentinel URL and a password")
            }
        }
        try ValkeyConnector.checkLibrary(for: address)
        self.address = address
        self.prefix = Array(prefix.utf8)
        self.now = now
        notices = ValkeyNotices(patience: patience)
        cluster = try ValkeyCluster(connector)
        var watching = connector
        watching.runsScripts = false
        noticeWorker = try ValkeyWorker(notices, watching)
    }

    deinit {
        cluster.stop()
        noticeWorker.stop()
    }

    // MARK: Commands

    /// The names of a record's keys have the same hash tag.
    private func key(_ kind: String, _ name: RecordName) -> [UInt8] {
        prefix + Array("\(kind):{".utf8) + name.bytes + [UInt8(ascii: "}")]
    }

    private func channel(_ name: RecordName) -> [UInt8] { prefix + Array("changes:".utf8) + name.bytes }

    private func run(
        _ script: ValkeyScript, _ keys: [[UInt8]], _ arguments: [String], bytes: [[UInt8]] = []
    ) async throws(StoreError) -> ValkeyReply {
        let time = now().map { String($0.wholeMicroseconds) } ?? ""
        let all = ([time] + arguments).map { Array($0.utf8) } + bytes
        defer { withExtendedLifetime(self) {} }
        return try await cluster.run(script, keys, all)
    }

    private static func unexpected(_ reply: ValkeyReply) -> StoreError {
        StoreError(
            .damaged, "the server has sent an unexpected reply to a script: \(String(describing: reply).prefix(100))")
    }

    // MARK: Values

    public func value(for key: String) async throws(StoreError) -> StoredValue? {
        let name = try RecordName(.value, key)
        let reply = try await run(.get, [self.key("value", name)], [])
        switch reply {
        case .none: return nil
        case .array(let parts) where parts.count == 2:
            guard case .bytes(let data) = parts[0], let version = parts[1].text.flatMap({ UInt64($0) }) else {
                throw Self.unexpected(reply)
            }
            return StoredValue(data, version: StoreVersion(number: version))
        default: throw Self.unexpected(reply)
        }
    }

    func change(
        _ key: String, to new: NewValue?, if condition: StoreCondition, under lease: StoreLease?
    ) async throws(StoreError) -> Bool {
        let name = try RecordName(.value, key)
        let expected =
            switch condition {
            case .always: ""
            case .isAbsent: "absent"
            case .isVersion(let version): String(version.number)
            }
        let arguments = [
            expected, lease.map { String($0.number) } ?? "", new.map { String($0.version.number) } ?? "",
            new?.lifetime.map { String($0.wholeMicroseconds) } ?? "", Self.retention,
        ]
        let reply = try await run(
            .set, [self.key("value", name), self.key("fence", name)], arguments,
            bytes: [channel(name), new.map { Array($0.data) } ?? []])
        switch reply {
        case .integer(let number): return number == 1
        case .bytes: throw StoreRecord.staleLease(lease?.name ?? "")
        default: throw Self.unexpected(reply)
        }
    }

    /// Returns a sequence of a value's changes. It also has an element after each new connection to the server, because
    /// a change before it may have been missed. The end of a lifetime is not an element.
    public func changes(of key: String) -> AsyncStream<Void> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            continuation.yield()
            guard let name = try? RecordName(.value, key) else { return }
            let channel = channel(name)
            let number = notices.add(continuation, to: channel)
            // The sequence keeps the store.
            continuation.onTermination = { _ in
                self.notices.remove(number, from: channel)
                _ = self.noticeWorker.wake()
            }
            _ = noticeWorker.wake()
        }
    }

    // MARK: Counters and leases

    public func add(_ amount: Int64, to counter: String, window: Duration) async throws(StoreError) -> StoreCount {
        try StoreRecord.check(window)
        let name = try RecordName(.counter, counter)
        let reply = try await run(.add, [key("counter", name)], [String(amount), String(window.wholeMicroseconds)])
        guard case .array(let parts) = reply, parts.count == 2, let value = parts[0].text.flatMap({ Int64($0) }),
            let remaining = parts[1].text.flatMap({ Int64($0) })
        else { throw Self.unexpected(reply) }
        return StoreCount(value: value, remaining: .microseconds(remaining))
    }

    public func takeLease(_ name: String, for duration: Duration) async throws(StoreError) -> StoreLease? {
        try StoreRecord.check(duration)
        let holder = UInt64.random(in: 1...(.max))
        let reply = try await run(
            .take, [key("lease", try RecordName(.lease, name))],
            [String(duration.wholeMicroseconds), String(holder), Self.retention])
        if reply == .none { return nil }
        guard let number = reply.text.flatMap({ UInt64($0) }) else { throw Self.unexpected(reply) }
        return StoreLease(name: name, number: number, holder: holder)
    }

    public func renew(_ lease: StoreLease, for duration: Duration) async throws(StoreError) -> Bool {
        try StoreRecord.check(duration)
        let reply = try await run(
            .renew, [key("lease", try RecordName(.lease, lease.name))],
            [String(duration.wholeMicroseconds), String(lease.holder), String(lease.number), Self.retention])
        guard case .integer(let number) = reply else { throw Self.unexpected(reply) }
        return number == 1
    }

    public func release(_ lease: StoreLease) async throws(StoreError) {
        let reply = try await run(
            .release, [key("lease", try RecordName(.lease, lease.name))], [String(lease.holder), String(lease.number)])
        guard case .integer = reply else { throw Self.unexpected(reply) }
    }
}

extension ValkeyStore: CustomStringConvertible, CustomReflectable {
    /// The address of the store, without user and password.
    public var description: String { "ValkeyStore(\(address.publicText))" }

    /// A mirror without children, so that `dump` shows no password.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
