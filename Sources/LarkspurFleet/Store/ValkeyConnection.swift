import CLarkspurFleet
import Larkspur

/// The failure of a connection.
struct ValkeyFailure: Error {
    let error: StoreError
    /// Whether another attempt would fail too.
    let isLasting: Bool

    init(_ error: StoreError, isLasting: Bool = false) { (self.error, self.isLasting) = (error, isLasting) }
}

/// A connection to the server. One thread at a time uses it, and its last user closes it.
struct ValkeyConnection: Sendable {
    /// The address of the C structure: pointers are not sendable, and a connection moves from the thread that has made
    /// it to the thread that uses it.
    private let address: UInt
    let host: ValkeyHost
    /// The hashes of the scripts that the server has loaded.
    var hashes: [ValkeyScript: [UInt8]] = [:]

    private var pointer: OpaquePointer? { OpaquePointer(bitPattern: address) }

    /// Connects, and waits for it.
    init(
        to host: ValkeyHost, isSecure: Bool, authorities: String?, patience: Duration
    ) throws(ValkeyFailure) {
        var problem = [CChar](repeating: 0, count: Int(clarkspur_valkey_problem_length))
        var isLasting = false
        let connection = Self.connect(host, isSecure, authorities, patience, &problem, &isLasting)
        guard let connection else {
            let text = String(decoding: problem.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let advice =
                isSecure
                ? "check the address and the certificate" : "start the server, or check the address of the store"
            throw ValkeyFailure(
                StoreError(
                    isLasting ? .denied : .unavailable, "no connection to the server at \(host): \(text); \(advice)"),
                isLasting: isLasting)
        }
        (address, self.host) = (UInt(bitPattern: connection), host)
    }

    private static func connect(
        _ host: ValkeyHost, _ isSecure: Bool, _ authorities: String?, _ patience: Duration, _ problem: inout [CChar],
        _ isLasting: inout Bool
    ) -> OpaquePointer? {
        func connect(_ authorities: UnsafePointer<CChar>?) -> OpaquePointer? {
            host.name.withCString { name in
                String(host.port).withCString { port in
                    var target = clarkspur_valkey_target(
                        host: name, port: port, uses_tls: isSecure, authorities: authorities,
                        milliseconds: Int32(clamping: patience.wholeMilliseconds))
                    return clarkspur_valkey_connect(&target, &problem, &isLasting)
                }
            }
        }
        guard let authorities else { return connect(nil) }
        return authorities.withCString { connect($0) }
    }

    func close() {
        if let pointer { clarkspur_valkey_close(pointer) }
    }

    var hasOutput: Bool { pointer.map { clarkspur_valkey_has_output($0) } ?? false }

    /// Adds a command to the output.
    func append(_ parts: [[UInt8]]) throws(ValkeyFailure) {
        guard let pointer, Self.append(parts, to: pointer) else {
            throw ValkeyFailure(StoreError(.unavailable, "no memory is left for a command"))
        }
    }

    private static func append(_ parts: [[UInt8]], to pointer: OpaquePointer) -> Bool {
        // The parts are joined, so that all pointers are valid at the same time.
        var joined: [UInt8] = []
        joined.reserveCapacity(parts.reduce(0) { $0 + $1.count })
        for part in parts { joined += part }
        let lengths = parts.map(\.count)
        return joined.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self) else { return false }
            var pointers: [UnsafePointer<CChar>?] = []
            var offset = 0
            for length in lengths {
                pointers.append(start + offset)
                offset += length
            }
            return clarkspur_valkey_append(pointer, Int32(parts.count), &pointers, lengths)
        }
    }

    /// Sends and receives what is possible, and waits at most for the time.
    func turn(wake: Int32, _ patience: Duration) throws(ValkeyFailure) {
        guard let pointer, clarkspur_valkey_turn(pointer, wake, Int32(clamping: patience.wholeMilliseconds)) else {
            throw failure
        }
    }

    /// Returns the next reply; nil if there is no complete one.
    func next() throws(ValkeyFailure) -> ValkeyReply? {
        var isValid = true
        let reply = pointer.flatMap { clarkspur_valkey_next($0, &isValid) }
        guard let reply else {
            if isValid { return nil }
            throw failure
        }
        defer { clarkspur_valkey_free(reply) }
        guard let copy = ValkeyReply(copying: reply) else { throw Self.isNoServer(host, "an unknown type of reply") }
        return copy
    }

    private var failure: ValkeyFailure {
        let problem = pointer.map { String(cString: clarkspur_valkey_problem($0)) } ?? ""
        if problem.hasPrefix("Protocol error") { return Self.isNoServer(host, problem) }
        return ValkeyFailure(StoreError(.unavailable, "the connection to the server at \(host) has ended: \(problem)"))
    }

    static func isNoServer(_ host: ValkeyHost, _ problem: String) -> ValkeyFailure {
        ValkeyFailure(
            StoreError(
                .unavailable,
                "the program at \(host) does not answer as Valkey or Redis do; check the address of the store: \(problem)"
            ))
    }

    /// Sends commands and waits for their replies.
    func exchange(_ commands: [[[UInt8]]], within patience: Duration) throws(ValkeyFailure) -> [ValkeyReply] {
        for command in commands { try append(command) }
        let end = SuspendingClock.now + patience
        var replies: [ValkeyReply] = []
        while replies.count < commands.count {
            if let reply = try next() {
                replies.append(reply)
                continue
            }
            let left = end - SuspendingClock.now
            guard left > .zero else {
                throw ValkeyFailure(StoreError(.unavailable, "the server at \(host) does not answer"))
            }
            try turn(wake: -1, left)
        }
        return replies
    }
}

extension Duration {
    /// The duration in milliseconds, rounded up.
    var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let whole = seconds &* 1_000
        return seconds > 1 << 40 ? .max : whole + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }

    /// The duration in microseconds, rounded up. A store's durations are at most a hundred years.
    var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000 + (attoseconds + 999_999_999_999) / 1_000_000_000_000
    }
}
