import CLarkspurFleet
import Larkspur

/// A reply of the server.
enum ValkeyReply: Sendable, Hashable {
    case status(String)
    case error(String)
    case integer(Int64)
    case bytes(Data)
    case array([ValkeyReply])
    case none

    /// The maximum number of arrays in each other. Servers nest three for a script.
    private static let maximumDepth = 32

    /// Copies a reply of libhiredis. Returns nil for a type that servers do not send without a request for it, and for
    /// arrays that are nested too deeply.
    init?(copying reply: UnsafeRawPointer, in depth: Int = 0) {
        guard depth <= Self.maximumDepth else { return nil }
        let content = clarkspur_valkey_read(reply)
        let bytes = UnsafeRawBufferPointer(start: content.text, count: content.length)
        switch content.type {
        case Int32(clarkspur_reply_string): self = .bytes(Data(bytes))
        case Int32(clarkspur_reply_status): self = .status(String(decoding: bytes, as: UTF8.self))
        case Int32(clarkspur_reply_error): self = .error(String(decoding: bytes, as: UTF8.self))
        case Int32(clarkspur_reply_integer): self = .integer(content.integer)
        case Int32(clarkspur_reply_nil): self = .none
        case Int32(clarkspur_reply_array):
            var elements: [ValkeyReply] = []
            for index in 0..<content.count {
                guard let element = clarkspur_valkey_element(reply, index),
                    let copy = ValkeyReply(copying: element, in: depth + 1)
                else { return nil }
                elements.append(copy)
            }
            self = .array(elements)
        default: return nil
        }
    }

    /// The text of bytes or of a status.
    var text: String? {
        switch self {
        case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
        case .status(let text): text
        default: nil
        }
    }
}

extension StoreError {
    private static let codes: [(word: String, code: Code, advice: String)] = [
        ("OOM", .full, "the server has no memory left; raise its maxmemory or remove keys"),
        ("READONLY", .denied, "the server is a read-only replica; use the address of the primary"),
        ("MISCONF", .denied, "the server refuses writes because it cannot save its data; look at its log and its disk"),
        (
            "NOPERM", .denied,
            "the user may not run this command, or not use this key; extend the user's ACL on the server"
        ),
        ("NOAUTH", .denied, "the server requires a password; add it to the URL of the store"),
        ("WRONGPASS", .denied, "the server does not accept the user or the password in the URL of the store"),
        ("NOREPLICAS", .unavailable, "the server has too few replicas to accept writes"),
        ("BUSY", .busy, "a script of another client blocks the server"),
        ("WRONGTYPE", .damaged, "a key of the store has a value of another program; use a prefix of your own"),
        ("MOVED", .unavailable, "a node of a cluster names no valid address for another one"),
        ("ASK", .unavailable, "a node of a cluster names no valid address for another one"),
        ("CROSSSLOT", .denied, "a cluster keeps the keys of one name apart; in a cluster, no name begins with }"),
        ("CLUSTERDOWN", .unavailable, "the cluster has no node for the slot of the key"),
        ("TRYAGAIN", .unavailable, "the cluster moves the slot of the keys"),
        ("LOADING", .unavailable, "the server loads its data from disk"),
        ("MASTERDOWN", .unavailable, "the server is a replica that has lost its primary"),
    ]

    /// The texts of Redis 7 and of Valkey if the user of a script may not run a command, or not use a key or channel.
    private static let refusals = [
        "can't run this command", "can't access at least one of the", "ACL failure in script",
    ]

    /// Makes an error of the server's text. Inside a script, Redis 6 has the code in the middle of the text, and later
    /// servers have none if the user's rights are missing.
    init(server text: String) {
        let words = text.split { !$0.isLetter || !$0.isASCII }
        let isOfScript = text.contains("script")
        let isForbidden = isOfScript && Self.refusals.contains { text.contains($0) }
        let known = Self.codes.first { entry in
            words.first.map { $0 == entry.word } ?? false || isOfScript && words.contains { $0 == entry.word }
                || isForbidden && entry.word == "NOPERM"
        }
        let excerpt = text.unicodeScalars.prefix(200).map { $0.value < 0x20 ? " " : String($0) }.joined()
        self.init(known?.code ?? .unavailable, "\(known?.advice ?? "the server has failed"): \(excerpt)")
    }
}
