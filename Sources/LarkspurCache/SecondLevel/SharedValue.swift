internal import CLarkspur

/// The generations of a URL's responses and of all responses. A response of another generation was removed.
///
/// A generation is random, and is never used again. So if the level loses one, all responses before it stay removed.
struct SharedGenerations: Sendable, Equatable {
    static let size = 16

    let ofAll: [UInt8]
    let ofURL: [UInt8]

    init(ofAll: [UInt8], ofURL: [UInt8]) { (self.ofAll, self.ofURL) = (ofAll, ofURL) }

    init?(_ reader: inout ByteReader) {
        guard let ofAll = reader.bytes(Self.size), let ofURL = reader.bytes(Self.size) else { return nil }
        (self.ofAll, self.ofURL) = (ofAll, ofURL)
    }

    static func new() -> [UInt8] { (0..<size).map { _ in UInt8.random(in: 0...255) } }

    /// Returns the time for which a level keeps a generation.
    ///
    /// - Parameter name: The name of the generation.
    static func lifetime(of name: String, _ level: any SharedCacheLevel) -> Duration {
        // A response of an older generation ends before this value, also if it is still in flight now.
        let lifetime = level.maximumLifetime * 2
        // At the end of this generation, all responses end at once.
        return name == SharedName.all ? max(lifetime, .seconds(365 * 86_400)) : lifetime
    }
}

/// The names of the values of a second level. They hold hashes in place of URLs and credentials.
enum SharedName {
    static let all = "all"

    static func url(_ url: String) -> String { "url-" + DiskHash.of(url).hexadecimal(DiskHash.size) }

    /// The names of the response to the requests with a key, or of the list of fields by which it varies: first for the
    /// key's cookies alone, and then for everyone.
    static func responses(_ key: CacheKey) -> [String] {
        let common = name("response-", key, "")
        return key.cookies.map { [name("response-", key, "=" + $0), common] } ?? [common]
    }

    /// The name of a response with this selection, or of the list of its fields.
    static func response(_ key: CacheKey, _ selection: Selection) -> String {
        let names = responses(key)
        return selection.names.contains(Selection.cookie) ? names[0] : names[names.count - 1]
    }

    static func variant(_ key: CacheKey, _ selection: Selection) -> String {
        let hashed = DiskSelection(selection)
        let parts = zip(hashed.names, hashed.hashes).map { "\($0.utf8.count):\($0)\($1.hexadecimal(DiskHash.size))" }
        return name("variant-", key, parts.joined())
    }

    private static func name(_ kind: String, _ key: CacheKey, _ rest: String) -> String {
        // The lengths keep apart what the texts alone could mix up.
        let text = "\(key.url.utf8.count):\(key.url)\(key.partition.utf8.count):\(key.partition)\(rest)"
        return kind + DiskHash.of(text).hexadecimal(DiskHash.size)
    }
}

/// The list of the responses to the requests with a key.
///
/// A response that is not on the list was removed, or was replaced, or is beyond the limit.
struct SharedVariants: Sendable, Equatable {
    /// The names of the request fields that select a response.
    let fields: [String]
    /// The names of the responses, the newest first; at most `Selection.maximumCount`.
    private(set) var names: [String]

    init(fields: [String], names: [String] = []) { (self.fields, self.names) = (fields, names) }

    /// Adds a response. Returns the names of the responses that are no longer on the list.
    mutating func add(_ name: String) -> [String] {
        let all = [name] + names.filter { $0 != name }
        names = Array(all.prefix(Selection.maximumCount))
        return Array(all.dropFirst(Selection.maximumCount))
    }
}

/// A value of a second level.
///
///     mark · checksum of the rest · name · generations · kind · content
///
/// The name is that under which the value is stored, so no value can stand for another one.
struct SharedValue: Sendable {
    enum Content: Sendable {
        case response(DiskRecord, body: Data)
        /// The responses are selected by fields of the request, and have names of their own.
        case varies(SharedVariants)
        /// The server's response cannot be shared, so no process waits for it.
        case unshared
    }

    private static let mark: UInt32 = 0x3356_534C  // "LSV3"
    private static let headerSize = 12
    private static let maximumNames = 64

    let generations: SharedGenerations
    let content: Content

    init(_ content: Content, _ generations: SharedGenerations) {
        (self.content, self.generations) = (content, generations)
    }

    func bytes(for name: String) -> Data {
        var rest: [UInt8] = []
        if case .response(_, let body) = content { rest.reserveCapacity(body.count + 1024) }
        rest.append(counted: name.utf8)
        rest += generations.ofAll + generations.ofURL
        switch content {
        case .response(let record, let body):
            rest.append(1)
            rest.append(counted: record.bytes)
            rest += body
        case .varies(let variants):
            rest.append(2)
            for texts in [variants.fields, variants.names] {
                rest.append(integer: UInt16(clamping: texts.count))
                for text in texts { rest.append(counted: text.utf8) }
            }
        case .unshared: rest.append(3)
        }
        var header: [UInt8] = []
        header.append(integer: Self.mark)
        header.append(integer: rest.withUnsafeBytes { clarkspur_checksum(0, $0.baseAddress, $0.count) })
        return Data(header) + rest
    }

    /// Reads a value. Returns nil if the bytes are damaged, or are not the value of this name.
    init?(_ data: Data, for name: String) {
        guard let value = data.withUnsafeBytes({ SharedValue($0, for: name) }) else { return nil }
        self = value
    }

    private init?(_ bytes: UnsafeRawBufferPointer, for name: String) {
        guard bytes.count > Self.headerSize else { return nil }
        let rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(Self.headerSize))
        var header = ByteReader(bytes)
        guard header.integer(UInt32.self) == Self.mark,
            header.integer(UInt64.self) == clarkspur_checksum(0, rest.baseAddress, rest.count)
        else { return nil }
        var reader = ByteReader(rest)
        guard reader.text() == name, let generations = SharedGenerations(&reader),
            let kind = reader.integer(UInt8.self), let content = Self.content(kind, &reader)
        else { return nil }
        (self.generations, self.content) = (generations, content)
    }

    private static func content(_ kind: UInt8, _ reader: inout ByteReader) -> Content? {
        switch kind {
        case 1:
            guard let bytes = reader.bytes(), let record = bytes.withUnsafeBytes({ DiskRecord($0) }),
                let count = Int(exactly: record.count), let body = reader.bytes(count), reader.isAtEnd
            else { return nil }
            return .response(record, body: Data(body))
        case 2:
            guard let fields = texts(1...maximumNames, &reader),
                let names = texts(0...Selection.maximumCount, &reader), reader.isAtEnd
            else { return nil }
            return .varies(SharedVariants(fields: fields, names: names))
        case 3: return reader.isAtEnd ? .unshared : nil
        default: return nil
        }
    }

    private static func texts(_ counts: ClosedRange<Int>, _ reader: inout ByteReader) -> [String]? {
        guard let count = reader.integer(UInt16.self), counts.contains(Int(count)) else { return nil }
        var texts: [String] = []
        for _ in 0..<count {
            guard let text = reader.text() else { return nil }
            texts.append(text)
        }
        return texts
    }

    /// Returns whether the names of a selection can be stored.
    static func canHold(_ selection: Selection) -> Bool { selection.names.count <= maximumNames }
}
