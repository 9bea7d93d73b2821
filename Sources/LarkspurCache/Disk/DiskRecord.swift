/// The head of an entry as it is in the file.
///
/// Values that may be secret are there only as SHA-256 hashes: the partition, which has the credentials of the request,
/// and the request fields by which the response was selected, for instance cookies.
struct DiskRecord: Equatable {
    let url: String
    /// The hash of the partition.
    let partition: [UInt8]
    let selection: DiskSelection
    let head: ResponseHead
    let requested: Double
    let received: Double
    let initialAge: Double
    /// The number of the body's bytes.
    let count: UInt64

    init(_ stored: StoredHead, partition: [UInt8], count: UInt64) {
        url = stored.url
        self.partition = partition
        selection = DiskSelection(stored.selection)
        head = stored.head
        requested = stored.requested
        received = stored.received
        initialAge = stored.initialAge
        self.count = count
    }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256 + url.utf8.count + head.rawFields.count)
        bytes.append(integer: count)
        for time in [requested, received, initialAge] { bytes.append(seconds: time) }
        bytes.append(counted: url.utf8)
        bytes.append(contentsOf: partition)
        bytes.append(integer: UInt16(clamping: head.status))
        bytes.append(head.bodyIsDecoded ? 1 : 0)
        bytes.append(counted: head.version.utf8)
        bytes.append(counted: head.rawFields)
        bytes.append(integer: UInt16(selection.names.count))
        for (name, hash) in zip(selection.names, selection.hashes) {
            bytes.append(counted: name.utf8)
            bytes.append(contentsOf: hash)
        }
        return bytes
    }

    /// Returns nil if the bytes are no record.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        guard let count = reader.integer(UInt64.self), let requested = reader.seconds(),
            let received = reader.seconds(), let initialAge = reader.seconds(), initialAge >= 0,
            let url = reader.text(), let partition = reader.bytes(DiskHash.size),
            let status = reader.integer(UInt16.self), (100...999).contains(status),
            let decoded = reader.integer(UInt8.self), decoded < 2,
            let version = reader.text(), let fields = reader.bytes(), let nameCount = reader.integer(UInt16.self)
        else { return nil }
        var (names, hashes): ([String], [[UInt8]]) = ([], [])
        for _ in 0..<nameCount {
            guard let name = reader.text(), let hash = reader.bytes(DiskHash.size) else { return nil }
            names.append(name)
            hashes.append(hash)
        }
        guard reader.isAtEnd else { return nil }
        self.url = url
        self.partition = partition
        selection = DiskSelection(names: names, hashes: hashes)
        head = ResponseHead(
            status: Int(status), version: version, rawFields: fields, bodyIsDecoded: decoded == 1)
        (self.requested, self.received, self.initialAge, self.count) = (requested, received, initialAge, count)
    }

    func stored(partition: String, _ selection: Selection) -> StoredHead {
        StoredHead(
            url: url, partition: partition, selection: selection, head: head, requested: requested, received: received,
            initialAge: initialAge)
    }
}

/// The request fields by which a response was selected: their names, and the hashes of their values.
struct DiskSelection: Equatable {
    let names: [String]
    let hashes: [[UInt8]]

    init(names: [String], hashes: [[UInt8]]) {
        self.names = names
        self.hashes = hashes
    }

    init(_ selection: Selection) {
        names = selection.names
        hashes = zip(selection.names, selection.values).map { name, value in
            // A missing field differs from an empty one.
            DiskHash.of(value.map { "\(name)=\($0)" } ?? name)
        }
    }

    /// Whether a search looks for the response without a file of `DiskVariants`.
    var isAlwaysTried: Bool {
        names.isEmpty || names == [Selection.cookie] && hashes != [DiskHash.ofNoCookies]
    }

    /// The part of the file's name that tells the variants of a URL apart.
    var tag: String {
        if names.isEmpty { return "0000000000000000" }
        let parts = zip(names, hashes).map { "\($0.utf8.count):\($0)\($1.hexadecimal)" }
        return DiskHash.of(parts.joined()).hexadecimal(8)
    }
}

enum DiskHash {
    static let size = 32

    static func of(_ text: String) -> [UInt8] {
        var text = text
        var hash = StreamingHash(.sha256)
        text.withUTF8 { hash.update(UnsafeRawBufferPointer($0)) }
        return hash.finalize()
    }

    /// The hash of the partition of requests without credentials.
    static let ofNothing = of("")
    /// The hash of the cookies of requests that have none.
    static let ofNoCookies = of(Selection.cookie)
}

extension [UInt8] {
    /// The first bytes as lower-case hexadecimal digits.
    func hexadecimal(_ count: Int) -> String {
        String(unsafeUninitializedCapacity: 2 * count) { digits in
            for (index, byte) in prefix(count).enumerated() {
                digits[2 * index] = Self.digit(byte >> 4)
                digits[2 * index + 1] = Self.digit(byte & 15)
            }
            return 2 * Swift.min(count, self.count)
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }
}

/// The name of an entry's file. It follows from the URL and the request, so nothing has to be searched for an answer.
///
/// The form is `ab/URL-PARTITION-SELECTION`, where `ab` are the first two digits of the hash of the URL. So all entries
/// of a URL are in one subfolder and begin alike.
struct DiskName: Hashable {
    let shard: String
    /// The path up to the hash of the selection.
    private let base: String

    init(url: String, partition: [UInt8]) {
        let hash = DiskHash.of(url)
        shard = hash.hexadecimal(1)
        base = "\(shard)/\(hash.hexadecimal(16))-\(partition.hexadecimal(8))"
    }

    static func partitionHash(_ partition: String) -> [UInt8] {
        partition.isEmpty ? DiskHash.ofNothing : DiskHash.of(partition)
    }

    /// The beginning of the names of all files of the URL.
    static func prefix(ofURL url: String) -> (shard: String, prefix: String) {
        let hash = DiskHash.of(url)
        return (hash.hexadecimal(1), hash.hexadecimal(16) + "-")
    }

    func entry(_ selection: DiskSelection) -> String { "\(base)-\(selection.tag)" }

    /// The beginning of the names of all entries that differ only in their selections.
    var entryPrefix: String { "\(base.dropFirst(shard.utf8.count + 1))-" }

    /// The path of the file with the names of the fields by which the responses of the URL are selected.
    var variants: String { base + Self.variantsSuffix }

    /// The path of a new temporary file in the same subfolder.
    static func temporary(in shard: String, _ number: UInt64) -> String { "\(shard)/\(temporaryPrefix)\(number)" }

    static let variantsSuffix = "-variants"
    static let temporaryPrefix = "new-"
    static let shards = (0..<256).map { [UInt8($0)].hexadecimal(1) }

    enum Kind { case entry, variants, temporary, foreign }

    /// Returns the kind of a file in a subfolder. Foreign files are never touched.
    static func kind(of name: String) -> Kind {
        let bytes = Array(name.utf8)
        func isHexadecimal(_ range: Range<Int>) -> Bool {
            range.upperBound <= bytes.count
                && bytes[range].allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        }
        if name.hasPrefix(temporaryPrefix) {
            let digits = bytes.dropFirst(temporaryPrefix.utf8.count)
            return !digits.isEmpty && digits.allSatisfy { (0x30...0x39).contains($0) } ? .temporary : .foreign
        }
        guard isHexadecimal(0..<32), isHexadecimal(33..<49), bytes[32] == UInt8(ascii: "-") else { return .foreign }
        if name.dropFirst(49) == variantsSuffix { return .variants }
        return bytes.count == 66 && bytes[49] == UInt8(ascii: "-") && isHexadecimal(50..<66) ? .entry : .foreign
    }
}

/// The names that were used last. The hash of a URL takes longer than a search here.
struct DiskNames {
    private static let limit = 256

    private struct Known {
        let name: DiskName
        let partition: [UInt8]
        /// Whether the last search has found no file of `DiskVariants`, and no response was stored since.
        var hasNoVariants = false
    }

    private var names: [String: Known] = [:]

    func find(_ url: String, _ partition: [UInt8]) -> DiskName? {
        names[url].flatMap { $0.partition == partition ? $0.name : nil }
    }

    mutating func add(_ name: DiskName, _ url: String, _ partition: [UInt8]) {
        if names.count >= Self.limit { names.removeAll(keepingCapacity: true) }
        names[url] = Known(name: name, partition: partition)
    }

    mutating func noteMissingVariants(of name: DiskName, _ url: String) {
        if names[url]?.name == name { names[url]?.hasNoVariants = true }
    }

    /// Returns whether the last search has found no file of `DiskVariants`, and forgets that.
    mutating func takeMissingVariants(of name: DiskName, _ url: String) -> Bool {
        guard names[url]?.name == name else { return false }
        defer { names[url]?.hasNoVariants = false }
        return names[url]?.hasNoVariants == true
    }
}
