internal import CLarkspur

/// The names of the request fields by which the responses of a URL are selected.
///
/// Most URLs have responses without `Vary`, and no such file. With it, a search knows which hashes to look for. A
/// search with cookies also looks for a response that they alone select. The entries themselves say by which fields
/// they were selected, so a wrong or missing list only leads to misses.
struct DiskVariants: Equatable {
    /// The lists of names, the newest first.
    private(set) var lists: [[String]]

    private static let mark: UInt64 = 0x3130_4548_4341_564C  // "LVACHE01"
    private static let limit = 8
    static let maximumSize = 16 << 10

    init(_ lists: [[String]] = [[]]) { self.lists = lists }

    /// Adds a list. Returns false if it is there already.
    mutating func add(_ names: [String]) -> Bool {
        if lists.contains(names) { return false }
        lists.insert(names, at: 0)
        if lists.count > Self.limit { lists.removeLast() }
        return true
    }

    /// Returns the lists of names with which a request with these fields looks for a response.
    func lists(for fields: [HTTPHeader]) -> [[String]] {
        let cookies = [Selection.cookie]
        return fields.contains(where: \.isCookie) && !lists.contains(cookies) ? [cookies] + lists : lists
    }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(integer: Self.mark)
        bytes.append(integer: UInt32(lists.count))
        for names in lists {
            bytes.append(integer: UInt32(names.count))
            for name in names { bytes.append(counted: name.utf8) }
        }
        bytes.append(integer: bytes.withUnsafeBytes { clarkspur_checksum(Self.mark, $0.baseAddress, $0.count) })
        return bytes
    }

    /// Returns nil if the bytes are damaged.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 8 else { return nil }
        let content = UnsafeRawBufferPointer(rebasing: bytes.dropLast(8))
        var sum = ByteReader(UnsafeRawBufferPointer(rebasing: bytes.suffix(8)))
        var reader = ByteReader(content)
        guard sum.integer(UInt64.self) == clarkspur_checksum(Self.mark, content.baseAddress, content.count),
            reader.integer(UInt64.self) == Self.mark, let count = reader.integer(UInt32.self), count <= Self.limit
        else { return nil }
        lists = []
        for _ in 0..<count {
            guard let nameCount = reader.integer(UInt32.self), nameCount <= Self.maximumSize else { return nil }
            var names: [String] = []
            for _ in 0..<nameCount {
                guard let name = reader.text() else { return nil }
                names.append(name)
            }
            lists.append(names)
        }
        guard reader.isAtEnd else { return nil }
    }
}

extension DiskFolder {
    /// Returns the lists for a URL, and nil if there is no file for them.
    func variants(of name: DiskName) -> DiskVariants? {
        guard case .file(let file, let status) = open(name.variants), status.st_size > 0,
            status.st_size <= off_t(2 * DiskVariants.maximumSize), let bytes = file.read(at: 0, Int(status.st_size))
        else { return nil }
        return bytes.withUnsafeBytes { DiskVariants($0) }
    }

    /// Makes a selection known before its first entry gets its name. Returns whether the URL may have other selections.
    func note(_ selection: DiskSelection, of name: DiskName) throws(DiskFailure) -> Bool {
        let known = variants(of: name)
        if known == nil, selection.isAlwaysTried { return true }
        var variants = known ?? DiskVariants()
        guard variants.add(selection.names) else { return true }
        let (file, path) = try create(in: name.shard)
        do throws(DiskFailure) {
            try file.write(variants.bytes, at: 0)
            try rename(path, to: name.variants)
        } catch {
            remove(path)
            throw error
        }
        return known != nil
    }
}

extension DiskStore {
    /// Removes the least recently used responses that differ from a new one only in their selections, if there are too
    /// many.
    ///
    /// - Parameter path: The path of the new response.
    func limitVariants(of name: DiskName, keeping path: String) {
        let names = folder.names(in: name.shard, beginningWith: name.entryPrefix)
        let paths = names.filter { DiskName.kind(of: $0) == .entry }.map { "\(name.shard)/\($0)" }
        guard paths.count > Selection.maximumCount else { return }
        let others = paths.filter { $0 != path }.compactMap { path in folder.status(of: path).map { (path, $0) } }
        let oldest = others.sorted { $0.1.modified < $1.1.modified }
        for (path, status) in oldest.dropLast(Selection.maximumCount - 1) where remove(path, ifSameAs: status) {
            box.withLock { $0.evicted += 1 }
        }
    }
}
