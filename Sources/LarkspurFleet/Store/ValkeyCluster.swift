import Larkspur
internal import LarkspurAnnex

/// A server, with the commands for it and the thread that sends them.
final class ValkeyNode: Sendable {
    private let commands: ValkeyCommands
    private let worker: ValkeyWorker

    init(_ connector: ValkeyConnector) throws(StoreError) {
        commands = ValkeyCommands(patience: connector.patience)
        worker = try ValkeyWorker(commands, connector)
    }

    /// Ends the thread, which fails the commands that wait.
    func stop() { worker.stop() }

    /// Runs a script.
    ///
    /// - Parameters:
    ///   - asks: Whether the server takes over the slot of the keys, and accepts the command only when asked so.
    ///   - end: The time at which the command fails; nil for the patience from now.
    func run(
        _ script: ValkeyScript, _ keys: [[UInt8]], _ arguments: [[UInt8]], asks: Bool,
        until end: SuspendingClock.Instant?
    ) async throws(StoreError) -> ValkeyReply {
        let result = await withCheckedContinuation {
            (done: CheckedContinuation<Result<ValkeyReply, StoreError>, Never>) in
            let isFirst = commands.add(script, keys: keys, arguments: arguments, asks: asks, until: end) {
                done.resume(returning: $0)
            }
            if isFirst, !worker.wake() {
                commands.fail(StoreError(.unavailable, "the connection was given up, or its thread cannot be started"))
            }
        }
        return try result.get()
    }
}

/// A reply with which a node of a cluster names the node that has the keys.
struct ValkeyRedirect: Sendable, Equatable {
    let slot: UInt16
    /// The node; its name is empty if it is the same host.
    let host: ValkeyHost
    /// Whether the slot is on its way to the node, so that only this command is for it.
    let asks: Bool

    /// Returns whether the text of an error asks to send the command again later: some of its keys have been moved to
    /// another node, and some have not.
    static func isPostponed(_ text: String) -> Bool { text.hasPrefix("TRYAGAIN") }

    /// Reads the text of an error, such as `MOVED 3999 10.0.0.5:6381`. Returns nil for another error.
    init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count >= 3, words[0] == "MOVED" || words[0] == "ASK", let slot = UInt16(words[1]),
            slot < ValkeySlot.count, let colon = words[2].lastIndex(of: ":"),
            let host = ValkeyHost(announced: words[2][..<colon], port: words[2][words[2].index(after: colon)...])
        else { return nil }
        (self.slot, self.host, asks) = (slot, host, words[0] == "ASK")
    }
}

/// The slot of a key, by which a cluster chooses the node.
enum ValkeySlot {
    static let count: UInt16 = 16_384

    /// Returns the CRC-16 (XMODEM) of the key's hash tag, or of the key if it has none.
    static func of(_ key: [UInt8]) -> UInt16 {
        var tag = key[...]
        if let open = key.firstIndex(of: UInt8(ascii: "{")),
            let close = key[(open + 1)...].firstIndex(of: UInt8(ascii: "}")), close > open + 1
        {
            tag = key[(open + 1)..<close]
        }
        var crc: UInt16 = 0
        for byte in tag {
            crc ^= UInt16(byte) << 8
            for _ in 0..<8 { crc = crc & 0x8000 != 0 ? crc << 1 ^ 0x1021 : crc << 1 }
        }
        return crc % count
    }
}

/// The nodes of a cluster that are known so far. A server that is not part of a cluster is the only node.
final class ValkeyCluster: Sendable {
    private struct State {
        var nodes: [ValkeyHost: ValkeyNode] = [:]
        var slots: [UInt16: ValkeyHost] = [:]
    }

    /// The maximum number of redirects of one command. Two are usual while slots are moved.
    private static let maximumRedirects = 5
    /// The time until a command is sent again whose keys are on their way between two nodes.
    private static let pause = Duration.milliseconds(20)
    /// The maximum number of nodes with a connection. With a further one, the connections to all others are closed.
    private static let maximumNodes = 64

    private let home: ValkeyNode
    private let connector: ValkeyConnector
    private let state = Guarded(State())

    init(_ connector: ValkeyConnector) throws(StoreError) {
        self.connector = connector
        home = try ValkeyNode(connector)
    }

    func stop() {
        home.stop()
        for node in state.withLock({ $0.nodes }).values { node.stop() }
    }

    /// Runs a script where its keys are. All keys have one slot.
    func run(
        _ script: ValkeyScript, _ keys: [[UInt8]], _ arguments: [[UInt8]]
    ) async throws(StoreError) -> ValkeyReply {
        let hasSlots = state.withLock { !$0.slots.isEmpty }
        var slot = hasSlots ? ValkeySlot.of(keys[0]) : nil
        var host = slot.flatMap { slot in state.withLock { $0.slots[slot] } }
        var asks = false
        let end = SuspendingClock.now + connector.patience
        var redirects = 0
        while redirects <= Self.maximumRedirects {
            let reply: ValkeyReply
            do throws(StoreError) {
                reply = try await node(host).run(script, keys, arguments, asks: asks, until: end)
            } catch {
                // Another node may have the slot by now, or another server the address. The home node knows.
                if error.code == .unavailable || error.code == .denied, let slot {
                    state.withLock { _ = $0.slots.removeValue(forKey: slot) }
                }
                throw error
            }
            guard case .error(let text) = reply else { return reply }
            if ValkeyRedirect.isPostponed(text) {
                // The node that gives the slot away is asked again.
                guard SuspendingClock.now < end, (try? await Task.sleep(for: Self.pause)) != nil else {
                    throw StoreError(server: text)
                }
                (host, asks, redirects) = (slot.flatMap { slot in state.withLock { $0.slots[slot] } }, false, 0)
                continue
            }
            guard let redirect = ValkeyRedirect(text) else { throw StoreError(server: text) }
            var next = redirect.host
            if next.name.isEmpty { next.name = host?.name ?? connector.address.hosts[0].name }
            (host, asks, redirects) = (next, redirect.asks, redirects + 1)
            slot = redirect.slot
            if !asks { state.withLock { $0.slots[redirect.slot] = next } }
        }
        throw StoreError(.unavailable, "the nodes of the cluster redirect a command in circles; nothing was changed")
    }

    private func node(_ host: ValkeyHost?) throws(StoreError) -> ValkeyNode {
        guard let host else { return home }
        if let known = state.withLock({ $0.nodes[host] }) { return known }
        var other = connector
        (other.address.hosts, other.address.primary) = ([host], nil)
        let new = try ValkeyNode(other)
        let (node, superfluous) = state.withLock { state -> (ValkeyNode, [ValkeyNode]) in
            if let known = state.nodes[host] { return (known, [new]) }
            var old: [ValkeyNode] = []
            if state.nodes.count >= Self.maximumNodes { (old, state.nodes) = (Array(state.nodes.values), [:]) }
            state.nodes[host] = new
            return (new, old)
        }
        for node in superfluous { node.stop() }
        return node
    }
}
