import Larkspur

/// Host and port of a server.
struct ValkeyHost: Sendable, Hashable, CustomStringConvertible {
    var name: String
    var port: UInt16

    var description: String { name.contains(":") ? "[\(name)]:\(port)" : "\(name):\(port)" }

    init(name: String, port: UInt16) { (self.name, self.port) = (name, port) }

    /// Creates a host from a server's reply. The name may be empty. Returns nil if it has spaces or control characters,
    /// or is too long: it would be part of messages.
    init?(announced name: some StringProtocol, port: some StringProtocol) {
        guard name.utf8.count <= 255, name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), let port = UInt16(port),
            port > 0
        else { return nil }
        self.init(name: String(name), port: port)
    }
}

/// The parts of a store's URL.
///
///     redis://user:password@host:port/database
///     redis+sentinel://user:password@host1:port1,host2:port2/name/database
///
/// With TLS, `rediss` takes the place of `redis`; the sentinels are then asked over TLS too.
struct ValkeyAddress: Sendable, Hashable {
    private enum Scheme {
        static let plain: Set = ["redis", "valkey"]
        static let secure: Set = ["rediss", "valkeys"]
        static let suffix = "+sentinel"
    }

    var isSecure = false
    /// The servers, or the sentinels.
    var hosts: [ValkeyHost] = []
    /// The name of the primary that sentinels know; nil for a server without sentinels.
    var primary: String?
    var user: String?
    var password: String?
    var database = 0

    init(_ text: String) throws(StoreError) {
        guard let colon = text.firstRange(of: "://") else { throw Self.invalid("the scheme is missing") }
        var scheme = text[..<colon.lowerBound].lowercased()
        let isSentinel = scheme.hasSuffix(Scheme.suffix)
        if isSentinel { scheme.removeLast(Scheme.suffix.count) }
        isSecure = Scheme.secure.contains(scheme)
        guard isSecure || Scheme.plain.contains(scheme) else {
            throw Self.invalid(
                "the scheme is none of redis, rediss, valkey and valkeys, nor one of these with +sentinel")
        }
        var rest = text[colon.upperBound...]
        guard !rest.contains(where: { $0 == "?" || $0 == "#" }) else {
            throw Self.invalid(
                "a query or a fragment is not supported; such characters in a password are percent-encoded")
        }
        var path: [Substring] = []
        if let slash = rest.firstIndex(of: "/") {
            path = rest[rest.index(after: slash)...].split(separator: "/", omittingEmptySubsequences: false)
            rest = rest[..<slash]
        }
        if let at = rest.lastIndex(of: "@") {
            try setCredentials(rest[..<at])
            rest = rest[rest.index(after: at)...]
        }
        if isSentinel {
            guard let name = path.first.flatMap({ Self.decoded($0) }), !name.isEmpty else {
                throw Self.invalid("the name of the primary is missing, as in redis+sentinel://host:26379/name")
            }
            primary = name
            path.removeFirst()
        }
        try setHosts(rest, defaultPort: isSentinel ? 26_379 : 6_379)
        try setDatabase(path)
    }

    private mutating func setCredentials(_ text: Substring) throws(StoreError) {
        guard let colon = text.firstIndex(of: ":") else {
            throw Self.invalid("the password is missing; without a user, it is written redis://:password@host")
        }
        guard let user = Self.decoded(text[..<colon]), let password = Self.decoded(text[text.index(after: colon)...]),
            !password.isEmpty
        else { throw Self.invalid("the user or the password is empty or not percent-encoded") }
        self.user = user.isEmpty ? nil : user
        self.password = password
    }

    private mutating func setHosts(_ text: Substring, defaultPort: UInt16) throws(StoreError) {
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            hosts.append(try Self.host(part, defaultPort: defaultPort))
        }
        guard hosts.count == 1 || primary != nil else {
            throw Self.invalid("several hosts are supported with redis+sentinel only")
        }
    }

    private static func host(_ text: Substring, defaultPort: UInt16) throws(StoreError) -> ValkeyHost {
        var (name, rest) = (text, Substring())
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            (name, rest) = (text[text.index(after: text.startIndex)..<end], text[text.index(after: end)...])
        } else if let colon = text.firstIndex(of: ":") {
            (name, rest) = (text[..<colon], text[colon...])
        }
        let isPlain = name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"[]@%\\".utf8.contains($0) }
        guard !name.isEmpty, name.utf8.count <= 255, isPlain else { throw invalid("the host is empty or invalid") }
        guard !rest.isEmpty else { return ValkeyHost(name: String(name), port: defaultPort) }
        guard rest.hasPrefix(":"), let port = number(rest.dropFirst()).flatMap({ UInt16(exactly: $0) }), port > 0 else {
            throw invalid("the port is not a number from 1 to 65535")
        }
        return ValkeyHost(name: String(name), port: port)
    }

    private mutating func setDatabase(_ path: [Substring]) throws(StoreError) {
        guard let first = path.first, path != [""] else { return }
        guard path.count == 1, let number = Self.number(first) else {
            throw Self.invalid("the path is not the number of a database")
        }
        database = number
    }

    private static func number(_ text: Substring) -> Int? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } && text.utf8.count <= 9 ? Int(text) : nil
    }

    private static func decoded(_ text: Substring) -> String? {
        var (bytes, rest) = ([UInt8](), text.utf8)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        // Bytes that are not UTF-8 become other ones.
        let text = String(decoding: bytes, as: UTF8.self)
        return text.utf8.elementsEqual(bytes) ? text : nil
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }

    /// The text of the URL is not part of the message, because it may have a password.
    private static func invalid(_ problem: String) -> StoreError {
        StoreError(.invalidInput, "the URL of the store is invalid: \(problem)")
    }

    /// The address without credentials.
    var publicText: String {
        let scheme = (isSecure ? "rediss" : "redis") + (primary == nil ? "" : Scheme.suffix)
        let path = primary.map { "\($0)/" } ?? ""
        return "\(scheme)://\(hosts.map(\.description).joined(separator: ","))/\(path)\(database)"
    }
}
