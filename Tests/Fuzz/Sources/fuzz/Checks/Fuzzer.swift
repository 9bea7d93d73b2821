/// The fuzzers and their checks: no input makes the code trap or break one of the rules.
enum Fuzzer: String, CaseIterable, Sendable {
    case archives, cachecontrol, certificates, cookies, entries, exchanges, frames, heads, images, json, multipart
    case requests, streams, urls, websocket, xml

    /// Whether an input is sent over sockets, which takes milliseconds.
    var usesSockets: Bool { self == .exchanges || self == .frames }

    func check(_ bytes: [UInt8]) throws {
        switch self {
        case .archives: try checkArchive(bytes)
        case .cachecontrol: try checkCacheControl(bytes)
        case .certificates: try checkCertificates(bytes)
        case .cookies: try checkCookies(bytes)
        case .entries: try checkEntries(bytes)
        case .exchanges: try checkExchanges(bytes)
        case .frames: try checkFrames(bytes)
        case .heads: try checkHeads(bytes)
        case .images: try checkImages(bytes)
        case .json: try checkJSON(bytes)
        case .multipart: try checkMultipart(bytes)
        case .requests: try checkRequests(bytes)
        case .streams: try checkStreams(bytes)
        case .urls: try checkURLs(bytes)
        case .websocket: try checkWebSocket(bytes)
        case .xml: try checkXML(bytes)
        }
    }
}

/// A rule that an input broke.
struct Violation: Error { let rule: String }

func require(_ holds: @autoclosure () throws -> Bool, _ rule: String) throws {
    guard try holds() else { throw Violation(rule: rule) }
}

/// The bytes of an input, for fuzzers whose first bytes select how the others are used.
struct FuzzInput {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    /// Returns the next byte, or zero at the end.
    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    /// Returns the next bytes, whose count precedes them in one byte.
    mutating func piece() -> [UInt8] {
        let count = Int(byte())
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// Returns the next bytes, whose count precedes them in two bytes.
    mutating func lengthPrefixed() -> [UInt8] {
        let count = Int(byte()) << 8 | Int(byte())
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func text() -> String { String(decoding: piece(), as: UTF8.self) }
}

extension Collection<UInt8> {
    /// Returns the same bytes in pieces whose lengths depend on the seed. A seed of zero gives single bytes.
    func pieces(by seed: UInt8) -> [SubSequence] {
        var state = UInt64(seed)
        var pieces: [SubSequence] = []
        var rest = self[...]
        while !rest.isEmpty {
            state = state &* 6_364_136_223_846_793_005
            let piece = rest.prefix(1 + Int(state >> 33) % 40)
            pieces.append(piece)
            rest = rest.dropFirst(piece.count)
        }
        return pieces
    }

    /// Whether the bytes contain a line end or a NUL.
    var breaksLines: Bool { contains { $0 == 0x0D || $0 == 0x0A || $0 == 0 } }
}
