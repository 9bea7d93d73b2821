import LarkspurCache
import TestSupport
import Testing

@Suite("The store in memory", .limited)
struct MemoryStoreTests {
    private static let limit: UInt64 = 100_000
    private let store = MemoryStore(limit: limit, maximumEntrySize: 50_000)

    private func head(_ url: String, _ partition: String = "", _ language: String? = nil) -> StoredHead {
        StoredHead(
            url: url, partition: partition,
            selection: language.map { Selection(names: ["accept-language"], values: [$0]) }
                ?? Selection(names: [], values: []),
            head: ResponseHead(status: 200), requested: 0, received: 0)
    }

    private func add(_ head: StoredHead, _ size: Int) {
        guard let writer = store.begin(head, length: UInt64(size)) else { return }
        writer.append(Data(count: size))
        writer.commit(head: nil, body: nil)
    }

    private func found(_ url: String, _ partition: String = "", _ fields: [HTTPHeader] = []) -> StoredResponse? {
        let box = Protected<StoredResponse?>(nil)
        store.find(CacheKey(url: url, partition: partition), for: fields) { found in box.withLock { $0 = found } }
        return box.withLock { $0 }
    }

    @Test("If the store is full, the entry that was not used for the longest time is removed")
    func eviction() {
        for url in ["a", "b", "c"] { add(head(url), 30_000) }
        #expect(found("a")?.body.count == 30_000)
        add(head("d"), 30_000)
        #expect(found("b") == nil && found("a") != nil && found("c") != nil && found("d") != nil)
        #expect(store.usage.evicted == 1 && store.usage.entries == 3 && store.usage.bytes <= Self.limit)
    }

    @Test("An entry that is too large is not stored, whether its length is known or not, and removes nothing")
    func tooLarge() {
        add(head("a"), 30_000)
        #expect(store.begin(head("b"), length: 50_001) == nil)
        #expect(store.begin(head("b"), length: .max) == nil, "no sum of sizes overflows")
        let writer = store.begin(head("b"), length: nil)
        for _ in 0..<6 { writer?.append(Data(count: 10_000)) }
        writer?.commit(head: nil, body: nil)
        #expect(found("b") == nil && found("a") != nil)
    }

    @Test("A response that is too large with its head or with a handler's body removes its predecessor")
    func tooLargeWithHead() throws {
        for (received, replacement) in [(49_900, nil), (10, 50_001)] as [(Int, Int?)] {
            add(head("a"), 30_000)
            add(head("b"), 10)
            let writer = try #require(store.begin(head("a"), length: nil))
            writer.append(Data(count: received))
            writer.commit(head: nil, body: replacement.map { Data(count: $0) })
            #expect(found("a") == nil && found("b") != nil && store.usage.entries == 1)
        }
    }

    @Test("Responses that are being received together take no more than the limit, and give it back")
    func reserved() {
        let writers = (0..<4).map { store.begin(head("\($0)"), length: 30_000) }
        #expect(writers.count { $0 != nil } == 3)
        writers[0]?.drop()
        let next = store.begin(head("n"), length: 30_000)
        #expect(next != nil)
        for writer in writers { writer?.drop() }
        next?.drop()
        #expect((0..<3).allSatisfy { store.begin(head("\($0)"), length: 30_000) != nil })
    }

    @Test("A response takes the place of one with the same selection, and no other's")
    func replacing() {
        add(head("a", "", "en"), 1)
        add(head("a", "", "de"), 2)
        add(head("a", "other", "en"), 3)
        add(head("a", "", "en"), 4)
        let english = [HTTPHeader(name: "Accept-Language", value: "en")]
        #expect(found("a", "", english)?.body.count == 4)
        #expect(found("a", "", [HTTPHeader(name: "accept-language", value: "de")])?.body.count == 2)
        #expect(found("a", "other", english)?.body.count == 3)
        #expect(found("a") == nil && store.usage.entries == 3)
        store.remove(url: "a")
        #expect(found("a", "other", english) == nil && store.usage.entries == 0 && store.usage.bytes == 0)
    }

    @Test("A URL has at most 32 variants for each party, and the least recently used one goes first")
    func variants() {
        func language(_ number: Int) -> [HTTPHeader] { [HTTPHeader(name: "Accept-Language", value: "l\(number)")] }
        for number in 0..<32 {
            add(head("a", "", "l\(number)"), 1)
            add(head("a", "party \(number)", "en"), 1)
        }
        add(head("b"), 1)
        #expect(store.usage.entries == 65 && store.usage.evicted == 0)
        #expect(found("a", "", language(0)) != nil)
        for number in 32..<40 { add(head("a", "", "l\(number)"), 1) }
        #expect(store.usage.entries == 65 && store.usage.evicted == 8)
        let left = (0..<40).filter { found("a", "", language($0)) != nil }
        #expect(left == [0] + Array(9..<40))
        // A variant that takes the place of another one removes no third one.
        add(head("a", "", "l39"), 2)
        #expect(store.usage.evicted == 8 && found("a", "", language(39))?.body.count == 2)
        store.remove(url: "a")
        #expect(store.usage.entries == 1 && found("b") != nil)
    }

    @Test("The newest variant is found among those with other names, and a response with too many names is not stored")
    func namesOfVariants() {
        func varying(_ values: [String: String?]) -> StoredHead {
            let names = values.keys.sorted()
            return StoredHead(
                url: "a", partition: "", selection: Selection(names: names, values: names.map { values[$0] ?? nil }),
                head: ResponseHead(status: 200), requested: 0, received: 0)
        }
        let fields = [HTTPHeader(name: "A", value: "1"), HTTPHeader(name: "B", value: "2")]
        let fitting: [[String: String?]] = [["a": "1"], ["b": "2"], ["a": "1", "b": "2"], ["a": "1", "c": nil], [:]]
        for (size, values) in fitting.enumerated() {
            add(varying(values), size)
            add(varying(values.mapValues { _ in "other" }.merging(["d": "x"]) { old, _ in old }), 100)
            #expect(found("a", "", fields)?.body.count == UInt64(size))
        }
        add(varying(["a": "1"]), 9)
        #expect(found("a", "", fields)?.body.count == 9)
        #expect(store.begin(varying(["*": nil]), length: 1) != nil)
        let many = (0..<400).map { ("x-\($0)", Optional("")) }
        #expect(store.begin(varying(Dictionary(uniqueKeysWithValues: many)), length: 1) == nil)
    }

    @Test("A validation changes the head, unless the response was replaced or removed meanwhile")
    func updating() throws {
        add(head("a"), 1)
        let old = try #require(found("a"))
        let new = StoredHead(
            url: "a", partition: "", selection: Selection(names: [], values: []),
            head: ResponseHead(status: 200, fields: [HTTPHeader(name: "A", value: "2")]), requested: 5, received: 5)
        store.update(old, to: new)
        #expect(found("a")?.head.head["A"] == "2" && found("a")?.body.count == 1)
        add(head("a"), 2)
        store.update(old, to: new)
        store.remove(old)
        #expect(found("a")?.head.head["A"] == nil && found("a")?.body.count == 2)
        store.removeAll()
        #expect(found("a") == nil && store.usage.bytes == 0)
    }

    @Test("A response that was being received when its URL, or everything, was removed is not stored")
    func removedWhileReceiving() throws {
        for url in ["http://h/a", nil] {
            let writer = try #require(store.begin(head("http://h/a"), length: 3))
            writer.append(Data("old".utf8))
            url.map(store.remove(url:)) ?? store.removeAll()
            let other = try #require(store.begin(head("http://h/b"), length: 3))
            writer.commit(head: nil, body: nil)
            #expect(found("http://h/a") == nil)
            other.commit(head: nil, body: Data("new".utf8))
            #expect(found("http://h/b") != nil)
        }
    }

    @Test("A large body is read in buffers, and each position is read right")
    func reading() throws {
        let bytes = Data((0..<40_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
        let big = MemoryStore(limit: 1 << 20, maximumEntrySize: 1 << 20)
        let writer = try #require(big.begin(head("a"), length: nil))
        for _ in 0..<4 { writer.append(bytes) }
        writer.commit(head: nil, body: nil)
        let result = Protected(Data())
        big.find(CacheKey(url: "a", partition: ""), for: []) { stored in
            guard let body = stored?.body else { return }
            while result.withLock({ $0.count }) < body.count {
                body.read(at: result.withLock { UInt64($0.count) }) { piece in
                    result.withLock { $0 += (try? piece.get()) ?? Data() }
                }
            }
        }
        #expect(result.withLock { $0 } == bytes + bytes + bytes + bytes)
    }

    @Test(
        "The bytes of a response can be read while it is stored, and after the commit, but not after they were dropped")
    func readingWhileStoring() throws {
        func read(_ writer: any CacheWriter, _ position: UInt64) -> Data? {
            let box = Protected<Data?>(nil)
            writer.read(at: position) { result in box.withLock { $0 = try? result.get() } }
            return box.withLock { $0 }
        }
        let bytes = Data((0..<90).map { UInt8($0) })
        let writer = try #require(store.begin(head("a"), length: nil))
        for start in stride(from: 0, to: 90, by: 30) { writer.append(bytes.subdata(in: start..<start + 30)) }
        writer.append(Data())
        for position in 0..<90 {
            let piece = try #require(read(writer, UInt64(position)))
            #expect(!piece.isEmpty && piece == bytes[position..<position + piece.count])
        }
        writer.commit(head: nil, body: Data("changed".utf8))
        writer.drop()
        #expect(read(writer, 40) == bytes[40...] && found("a")?.body.count == 7)
        let dropped = try #require(store.begin(head("b"), length: nil))
        dropped.append(bytes)
        dropped.drop()
        #expect(read(dropped, 0) == nil)
    }

    @Test("A body that a handler has cut out of a larger one does not keep the larger one in memory")
    func slicedBody() throws {
        let large = Data(count: 1 << 20)
        let slice = large[100_000..<110_000]
        let writer = try #require(store.begin(head("a"), length: nil))
        writer.commit(head: nil, body: slice)
        let stored = try #require(found("a"))
        let box = Protected<Data?>(nil)
        stored.body.read(at: 0) { result in box.withLock { $0 = try? result.get() } }
        let body = try #require(box.withLock { $0 })
        #expect(body == slice)
        func address(_ data: Data) -> UnsafeRawPointer? {
            data.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) in bytes.baseAddress }
        }
        #expect(address(body) != address(slice))
    }

    @Test("Many threads at once keep the limit and lose no byte of the account")
    func threads() async {
        await withTaskGroup(of: Void.self) { group in
            for seed in 0..<8 {
                group.addTask {
                    for round in 0..<300 {
                        let url = "\((seed * 31 + round * 7) % 20)"
                        switch (seed + round) % 5 {
                        case 0: store.remove(url: url)
                        case 1: if let stored = found(url) { store.update(stored, to: stored.head) }
                        case 2: if let stored = found(url) { store.remove(stored) }
                        default: add(head(url), 1_000 * (round % 20))
                        }
                    }
                }
            }
        }
        #expect(store.usage.bytes <= Self.limit)
        for url in 0..<20 { store.remove(url: "\(url)") }
        #expect(store.usage.entries == 0 && store.usage.bytes == 0)
        #expect(store.begin(head("a"), length: 49_000) != nil, "nothing is reserved any more")
    }
}
