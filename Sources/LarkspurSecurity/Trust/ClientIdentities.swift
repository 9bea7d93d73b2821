/// The client identities of a session, by host.
///
///     $0.clientIdentities = ClientIdentities(["*.example.com": identity])
///
/// A pattern is a host, a suffix or `*`, as in ``ServerTrustManager``. A closure can choose instead, for example from a
/// keychain:
///
///     $0.clientIdentities = ClientIdentities { host in try vault.identity(of: host) }
///
/// A host without an identity of its own gets that of the transport, if the transport's configuration has one.
/// Connections are never shared between identities. Cached responses are not shared between two values of this type,
/// and a cache on disk does not find them after a restart.
public struct ClientIdentities: Sendable {
    private let table: HostTable<ClientIdentity>?
    private let choose: (@Sendable (String) throws -> ClientIdentity?)?
    private let chosen = ChosenIdentities()
    /// The partition of the responses that the clients get.
    let partition = UUID().uuidString

    /// Creates identities by the patterns of their hosts. With an invalid or duplicate pattern, each request over TLS
    /// fails with `.invalidIdentity`.
    public init(_ identities: [String: ClientIdentity]) {
        (table, choose) = (HostTable(identities), nil)
    }

    /// Creates identities that a closure chooses.
    ///
    /// - Parameter choose: Returns the identity for a host, in lower case and without a port; nil if the host has none.
    ///   An error fails the request. The closure is called in the request's task or on the thread that starts the
    ///   request, and must not wait. Its identity of a host is kept until ``renew(_:)``.
    public init(_ choose: @escaping @Sendable (String) throws -> ClientIdentity?) {
        (table, self.choose) = (nil, choose)
    }

    /// Lets the closure choose again for the next request to a host, because an identity was renewed or revoked.
    /// Requests in flight keep their connections. URLSession may use them for later requests, too.
    ///
    /// - Parameter host: The host, written as in a URL; nil means all hosts.
    public func renew(_ host: String? = nil) {
        chosen.renew(host.map { HostTable<ClientIdentity>.name(of: $0) })
    }

    /// Finds the identity of a host, so that ``known(_:)`` returns it on a thread that must not run user code. Returns
    /// whether the host has one.
    func find(_ host: String) throws -> Bool {
        if let table {
            if let problem = table.problem { throw RequestError(.invalidIdentity, problem) }
            return table[host] != nil
        }
        let name = HostTable<ClientIdentity>.name(of: host)
        if chosen.isCurrent(name) { return true }
        let identity = try choose?(name)
        chosen.store(identity, of: name)
        return identity != nil
    }

    /// Returns the identity of a host that was found before; nil if the host has none.
    func known(_ host: String) -> ClientIdentity? {
        if let table { return table[host] }
        return chosen.identity(of: HostTable<ClientIdentity>.name(of: host))
    }
}

extension ClientIdentities: CustomStringConvertible, CustomReflectable {
    public var description: String { "ClientIdentities" }
    /// Keeps `dump` from showing the hosts and their identities.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

/// The identities that a closure has chosen. A renewed one is kept until the closure has chosen again, because a hop
/// may be about to connect with it.
private final class ChosenIdentities: Sendable {
    private struct Choice {
        let identity: ClientIdentity
        var isCurrent = true
    }

    private let choices = Protected<[String: Choice]>([:])

    func isCurrent(_ name: String) -> Bool { choices.withLock { $0[name]?.isCurrent == true } }

    func identity(of name: String) -> ClientIdentity? { choices.withLock { $0[name]?.identity } }

    func store(_ identity: ClientIdentity?, of name: String) {
        choices.withLock { $0[name] = identity.map { Choice(identity: $0) } }
    }

    func renew(_ name: String?) {
        choices.withLock { choices in
            for key in choices.keys where name == nil || key == name { choices[key]?.isCurrent = false }
        }
    }
}
