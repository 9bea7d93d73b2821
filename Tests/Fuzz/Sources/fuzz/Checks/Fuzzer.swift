/// The fuzzers, and what each of them checks of one input: nothing traps, and the rules hold that hold for every input.
enum Fuzzer: String, CaseIterable, Sendable {
    case certificates, cookies, exchanges, frames, heads, json, multipart, requests, streams, urls, xml

    /// Whether an input goes over sockets, and so takes milliseconds.
    var usesSockets: Bool { self == .exchanges || self == .frames }

    func check(_ bytes: [UInt8]) throws {
        switch self {
        case .certificates: try checkCertificates(bytes)
        case .cookies: try checkCookies(bytes)
        case .exchanges: try checkExchanges(bytes)
        case .frames: try checkFrames(bytes)
        case .heads: try checkHeads(bytes)
        case .json: try checkJSON(bytes)
        case .multipart: try checkMultipart(bytes)
        case .requests: try checkRequests(bytes)
        case .streams: try checkStreams(bytes)
        case .urls: try checkURLs(bytes)
        case .xml: try checkXML(bytes)
        }
    }
}

/// A rule that an input broke.
struct Violation: Error { let rule: String }

func require(_ holds: @autoclosure () throws -> Bool, _ rule: String) throws {
    guard try holds() else { throw Violation(rule: rule) }
}

/// An input's bytes, for fuzzers that choose by the first ones what is done with the others.
struct FuzzInput {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    /// The next byte; zero at the end.
    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    /// The next bytes, whose number stands before them.
    mutating func piece() -> [UInt8] {
        let count = Int(byte())
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// The next bytes, whose number stands before them in two bytes.
    mutating func lengthPrefixed() -> [UInt8] {
        let count = Int(byte()) << 8 | Int(byte())
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func text() -> String { String(decoding: piece(), as: UTF8.self) }
}

extension Collection<UInt8> {
    /// The same bytes in pieces whose lengths follow from the seed; a seed of zero makes them single bytes.
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

    /// Whether a line of a protocol ends in it, or it has a NUL.
    var breaksLines: Bool { contains { $0 == 0x0D || $0 == 0x0A || $0 == 0 } }
}
