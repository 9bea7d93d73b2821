import CLarkspurFleet
import Larkspur

/// Makes connections: finds the server, and logs in.
struct ValkeyConnector: Sendable {
    var address: ValkeyAddress
    let authorities: String?
    let patience: Duration
    /// The user and the password for the sentinels.
    var sentinelUser: String?
    var sentinelPassword: String?
    /// Whether the connection is for scripts. Otherwise it is for notices.
    var runsScripts = true

    /// Throws if the system lacks the library.
    static func checkLibrary(for address: ValkeyAddress) throws(StoreError) {
        switch clarkspur_hiredis() {
        case clarkspur_hiredis_missing:
            throw StoreError(
                .unavailable,
                "libhiredis was not found; on Debian 12 and Ubuntu it is in the package libhiredis0.14 or libhiredis1.1.0"
            )
        case clarkspur_hiredis_unknown:
            throw StoreError(.unavailable, "this version of libhiredis is not supported; install 0.14 or 1.x")
        default: break
        }
        guard !address.isSecure || clarkspur_hiredis_has_tls() else {
            throw StoreError(
                .unavailable,
                "TLS needs libhiredis 1.0 or later with libhiredis_ssl, for example the package libhiredis1.1.0")
        }
    }

    /// Connects and logs in, and waits for it. Only a thread of the store's own may call it.
    func connect() throws(ValkeyFailure) -> ValkeyConnection {
        guard let primary = address.primary else { return try connect(to: address.hosts[0]) }
        return try connect(to: try find(primary))
    }

    /// Asks the sentinels, one after the other, for the primary.
    private func find(_ name: String) throws(ValkeyFailure) -> ValkeyHost {
        var last = ValkeyFailure(StoreError(.unavailable, "no sentinel answers"))
        let share = patience / address.hosts.count
        for sentinel in address.hosts {
            do throws(ValkeyFailure) {
                let connection = try ValkeyConnection(
                    to: sentinel, isSecure: address.isSecure, authorities: authorities, patience: share)
                defer { connection.close() }
                let commands =
                    Self.login(sentinelUser, sentinelPassword) + [["SENTINEL", "get-master-addr-by-name", name]]
                let replies = try connection.exchange(
                    commands.map { $0.map { Array($0.utf8) } }, within: share)
                for (command, reply) in zip(commands, replies) {
                    try Self.checkSentinel(reply, to: command[0], sentinel)
                }
                if case .array(let parts) = replies[replies.count - 1], parts.count == 2, let host = parts[0].text,
                    let port = parts[1].text, let primary = ValkeyHost(announced: host, port: port),
                    !primary.name.isEmpty
                {
                    return primary
                }
                throw ValkeyFailure(
                    StoreError(.unavailable, "the sentinel at \(sentinel) does not know a primary named \(name)"))
            } catch {
                // Keep the refusal of a password: it explains more than a sentinel that cannot be reached.
                if !last.isLasting || error.isLasting { last = error }
            }
        }
        throw last
    }

    private static func login(_ user: String?, _ password: String?) -> [[String]] {
        password.map { [["AUTH"] + (user.map { [$0] } ?? []) + [$0]] } ?? []
    }

    private func connect(to host: ValkeyHost) throws(ValkeyFailure) -> ValkeyConnection {
        var connection = try ValkeyConnection(
            to: host, isSecure: address.isSecure, authorities: authorities, patience: patience)
        do throws(ValkeyFailure) {
            try logIn(&connection)
        } catch {
            connection.close()
            throw error
        }
        return connection
    }

    private func logIn(_ connection: inout ValkeyConnection) throws(ValkeyFailure) {
        var commands = Self.login(address.user, address.password)
        if address.database != 0 { commands.append(["SELECT", String(address.database)]) }
        commands.append(["PING"])
        if address.primary != nil { commands.append(["ROLE"]) }
        let scripts = runsScripts ? ValkeyScript.allCases : []
        let replies = try connection.exchange(
            commands.map { $0.map { Array($0.utf8) } }
                + scripts.map { [Array("SCRIPT".utf8), Array("LOAD".utf8), Array($0.text.utf8)] },
            within: patience)
        for (command, reply) in zip(commands, replies) { try Self.check(reply, to: command[0], connection.host) }
        for (script, reply) in zip(scripts, replies.dropFirst(commands.count)) {
            // A server that does not load scripts in advance is sent their text.
            if case .bytes(let hash) = reply { connection.hashes[script] = Array(hash) }
        }
    }

    /// The texts of servers are about the URL of the store, which has the login of the primary alone.
    private static func checkSentinel(
        _ reply: ValkeyReply, to command: String, _ host: ValkeyHost
    ) throws(ValkeyFailure) {
        do throws(ValkeyFailure) { try check(reply, to: command, host) } catch {
            guard error.isLasting else { throw error }
            throw ValkeyFailure(
                StoreError(
                    .denied,
                    "the sentinel at \(host) refuses \(command); correct sentinelPassword and sentinelUser, which need the right to ask for the primary"
                ), isLasting: true)
        }
    }

    private static func check(_ reply: ValkeyReply, to command: String, _ host: ValkeyHost) throws(ValkeyFailure) {
        switch (command, reply) {
        case (_, .error(let reply)):
            // A server repeats the arguments of a command that it does not know, here the password.
            let text = command == "AUTH" ? String(reply.prefix { $0 != " " }) : reply
            let error = StoreError(server: text)
            // The server refuses the credentials, or has no such database.
            guard error.code == .unavailable, text.hasPrefix("ERR"), command == "AUTH" || command == "SELECT" else {
                throw ValkeyFailure(error, isLasting: error.code == .denied)
            }
            throw ValkeyFailure(
                StoreError(.denied, "the server refuses \(command); correct the URL of the store: \(text.prefix(200))"),
                isLasting: true)
        case ("PING", .status("PONG")), ("AUTH", .status("OK")), ("SELECT", .status("OK")), ("SENTINEL", _): break
        case ("ROLE", .array(let parts)):
            if parts.first?.text == "master" { break }
            throw ValkeyFailure(
                StoreError(.unavailable, "the sentinels name \(host) as the primary, which it is not yet"))
        default: throw ValkeyConnection.isNoServer(host, "another reply to \(command)")
        }
    }
}
