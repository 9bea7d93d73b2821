import Foundation
import TestSupport
import Testing

@testable import LarkspurCache

@Suite("The store on disk", .limited)
struct DiskStoreTests {
    private let stage = DiskStage()

    private func bytes(_ count: Int, _ seed: Int = 1) -> Data {
        Data((0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 31 &+ seed) >> 2) })
    }

    @Test("Bodies of all sizes around a block are read as they were written, also by another process")
    func bodies() async throws {
        for size in [0, 1, 13, 16_000, 17_000, 65_535, 65_536, 65_537, 131_072, 300_000] {
            let body = bytes(size, size)
            stage.add(stage.head("http://h/\(size)"), body)
            let stored = try #require(await stage.find("http://h/\(size)"))
            #expect(await stage.body(of: stored) == body && stored.head.head["Content-Type"] == "text/plain")
            let again = try #require(await stage.find("http://h/\(size)", in: stage.other()))
            #expect(await stage.body(of: again) == body)
            for position in Set([0, 1, size / 2, size - 1]) where position >= 0 && position < size {
                let piece = await answer { stored.body.read(at: UInt64(position), $0) }
                let read = try piece.get()
                #expect(!read.isEmpty && body[position...].starts(with: read))
            }
        }
        await stage.store.settle()
        #expect(stage.store.usage.entries == 10)
    }

    @Test("A scan reads a subfolder again whose entries change meanwhile, so that each is counted once")
    func changeDuringScan() async throws {
        stage.add(stage.head("http://h/a"), bytes(100))
        await stage.store.settle()
        let file = try #require(stage.files.first)
        let shard = URL(fileURLWithPath: file).deletingLastPathComponent().lastPathComponent
        let position = try #require(DiskName.shards.firstIndex(of: shard))
        stage.store.box.withLock { $0.changes.begin(shard) }
        stage.store.scan()
        // Two rounds through all threads after the scan has come to the subfolder.
        await poll { stage.store.box.withLock { $0.scan?.position ?? .max } >= position }
        for _ in 0..<2 {
            for thread in FileThread.all { await withCheckedContinuation { done in thread.perform { done.resume() } } }
        }
        #expect(stage.store.box.withLock { $0.scan?.position } == position)
        try FileManager.default.removeItem(atPath: file)
        stage.store.endChange(of: shard, (-1, -4_096))
        await stage.store.settle()
        #expect(stage.store.usage.entries == 0 && stage.store.usage.bytes == 0)
    }

    @Test("The folder is private, and so are its files")
    func permissions() async throws {
        stage.add(stage.head("http://h/a", "", ["a": "b"]), bytes(100_000))
        await stage.store.settle()
        func mode(_ path: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(try mode(stage.root) == 0o700 && mode(stage.folder.path + "/cache") == 0o700)
        for path in stage.files {
            #expect(
                try mode(path) == 0o600 && mode(URL(fileURLWithPath: path).deletingLastPathComponent().path) == 0o700)
        }
        #expect(stage.files.count == 2)
        // A folder that others may enter is made private before it is used.
        chmod(stage.root, 0o755)
        #expect(await stage.find("http://h/a", "", ["a": "b"], in: stage.other()) != nil)
        #expect(try mode(stage.root) == 0o700)
    }

    @Test("Variants of a URL and partitions are kept apart, and are removed together")
    func variants() async throws {
        stage.add(stage.head("http://h/a", "", ["accept-language": "en"]), bytes(1))
        stage.add(stage.head("http://h/a", "", ["accept-language": "de"]), bytes(2))
        stage.add(stage.head("http://h/a", "other", ["accept-language": "en"]), bytes(3))
        stage.add(stage.head("http://h/a", "", ["accept-language": "en"]), bytes(4))
        stage.add(stage.head("http://h/b"), bytes(5))
        #expect(await stage.find("http://h/a", "", ["Accept-Language": "en"])?.body.count == 4)
        #expect(await stage.find("http://h/a", "", ["accept-language": "de"])?.body.count == 2)
        #expect(await stage.find("http://h/a", "other", ["accept-language": "en"])?.body.count == 3)
        #expect(await stage.find("http://h/a", "", ["accept-language": "fr"]) == nil)
        #expect(await stage.find("http://h/a") == nil)
        await stage.store.settle()
        #expect(stage.store.usage.entries == 4)
        stage.store.remove(url: "http://h/a")
        #expect(await stage.find("http://h/a", "other", ["accept-language": "en"]) == nil)
        #expect(await stage.find("http://h/a", "", ["accept-language": "de"]) == nil)
        #expect(await stage.find("http://h/b")?.body.count == 5)
        await stage.store.settle()
        #expect(stage.store.usage.entries == 1 && stage.files.count == 1)
    }

    @Test("Responses are found after another process has noted other fields of selection, if need be after one miss")
    func notedByOthers() async throws {
        let other = stage.other()
        func addNine(_ url: String) {
            for number in 0..<9 { stage.add(stage.head(url, "", ["field\(number)": "x"]), bytes(1), to: other) }
        }
        // The store has not looked for the names, so it reads them before it stores a response.
        addNine("http://h/a")
        await other.settle()
        stage.add(stage.head("http://h/a"), bytes(2))
        #expect(await stage.find("http://h/a")?.body.count == 2)
        // It has looked before the other process noted them.
        #expect(await stage.find("http://h/b") == nil)
        addNine("http://h/b")
        await other.settle()
        stage.add(stage.head("http://h/b"), bytes(2))
        #expect(await stage.find("http://h/b") == nil)
        stage.add(stage.head("http://h/b"), bytes(3))
        #expect(await stage.find("http://h/b")?.body.count == 3)
        // All names are gone, and are noted again.
        #expect(await stage.find("http://h/c") == nil)
        stage.add(stage.head("http://h/c", "", ["accept": "x"]), bytes(4))
        #expect(await stage.find("http://h/c", "", ["Accept": "x"])?.body.count == 4)
        other.removeAll()
        await other.settle()
        stage.add(stage.head("http://h/c", "", ["accept": "x"]), bytes(5))
        stage.add(stage.head("http://h/c"), bytes(6))
        #expect(await stage.find("http://h/c", "", ["Accept": "x"])?.body.count == 5)
        #expect(await stage.find("http://h/c")?.body.count == 6)
    }

    @Test("The newest of several responses that a request selects is found")
    func newest() async {
        func head(_ names: [String: String], _ received: Double) -> StoredHead {
            StoredHead(
                url: "http://h/", partition: "",
                selection: Selection(names: names.keys.sorted(), values: names.keys.sorted().map { names[$0] }),
                head: ResponseHead(status: 200), requested: received, received: received)
        }
        stage.add(head([:], 5), bytes(1))
        stage.add(head(["a": "1"], 7), bytes(2))
        stage.add(head(["b": "1"], 6), bytes(3))
        #expect(await stage.find("http://h/", "", ["a": "1", "b": "1"])?.body.count == 2)
        #expect(await stage.find("http://h/", "", ["b": "1"])?.body.count == 3)
        #expect(await stage.find("http://h/")?.body.count == 1)
    }

    @Test("A validation changes the head and copies no body, unless the response was replaced or removed meanwhile")
    func updating() async throws {
        stage.add(stage.head("http://h/a"), bytes(500_000))
        let old = try #require(await stage.find("http://h/a"))
        let path = try #require(stage.files.first)
        let inode = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
        func update(_ stored: StoredResponse, _ value: String, _ selection: Selection? = nil) {
            let head = stored.head.head.with([HTTPHeader(name: "A", value: value)])
            stage.store.update(
                stored,
                to: StoredHead(
                    url: "http://h/a", partition: "", selection: selection ?? stored.head.selection, head: head,
                    requested: 8, received: 9))
        }
        update(old, "2")
        let new = try #require(await stage.find("http://h/a"))
        #expect(new.head.head["A"] == "2" && new.head.received == 9)
        #expect(await stage.body(of: new) == bytes(500_000))
        #expect(await stage.body(of: old) == bytes(500_000))
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int == inode)
        // With other fields in `Vary` the entry gets another name.
        update(new, "3", Selection(names: ["b"], values: ["1"]))
        #expect(await stage.find("http://h/a") == nil)
        #expect(await stage.find("http://h/a", "", ["b": "1"])?.head.head["A"] == "3")
        stage.store.remove(url: "http://h/a")
        stage.add(stage.head("http://h/a"), bytes(2))
        update(old, "4")
        stage.store.remove(old)
        #expect(await stage.find("http://h/a")?.head.head["A"] == nil)
        #expect(await stage.find("http://h/a")?.body.count == 2)
    }

    @Test("Many validations leave a file of a bounded size")
    func compaction() async throws {
        stage.add(stage.head("http://h/a"), bytes(10_000))
        let stored = try #require(await stage.find("http://h/a"))
        for number in 0..<2_000 {
            let current = number % 100 == 0 ? await stage.find("http://h/a") ?? stored : stored
            stage.store.update(current, to: current.head)
        }
        for _ in 0..<2_000 {
            if let stored = await stage.find("http://h/a") { stage.store.update(stored, to: stored.head) }
        }
        await stage.store.settle()
        let found = try #require(await stage.find("http://h/a"))
        #expect(await stage.body(of: found) == bytes(10_000))
        let size = try FileManager.default.attributesOfItem(atPath: #require(stage.files.first))[.size] as? Int
        #expect(size ?? .max < 90_000)
        #expect(stage.files.count == 1)
    }

    @Test("A reader keeps its response when it is replaced or removed")
    func replacedWhileRead() async throws {
        stage.add(stage.head("http://h/a"), bytes(300_000, 1))
        let first = try #require(await stage.find("http://h/a"))
        stage.add(stage.head("http://h/a"), bytes(300_000, 2))
        let second = try #require(await stage.find("http://h/a"))
        stage.store.removeAll()
        #expect(await stage.find("http://h/a") == nil)
        #expect(await stage.body(of: first) == bytes(300_000, 1))
        #expect(await stage.body(of: second) == bytes(300_000, 2))
    }

    @Test("A dropped or abandoned response leaves nothing, and gives its space back")
    func dropped() async throws {
        let small = DiskStage(limit: 1 << 20)
        for size in [10, 400_000] {
            for round in 0..<20 {
                let writer = try #require(small.store.begin(small.head("http://h/\(round)"), length: UInt64(size)))
                writer.append(bytes(size))
                if round % 2 == 0 { writer.drop() }
                // The file thread may be writing an abandoned response, which has its space until then.
                if round % 2 == 1 { await small.store.settle() }
            }
            await small.store.settle()
            #expect(small.files.isEmpty)
        }
        #expect(small.store.usage.entries == 0)
        #expect(small.store.begin(small.head("http://h/"), length: 1_000_000) != nil)
    }

    @Test("A response that was removed while it was received is not stored")
    func removedMeanwhile() async throws {
        for size in [10, 200_000] {
            let writer = try #require(stage.store.begin(stage.head("http://h/a"), length: nil))
            writer.append(bytes(size))
            stage.store.remove(url: "http://h/a")
            writer.commit(head: nil, body: nil)
            #expect(await stage.find("http://h/a") == nil)
            let other = try #require(stage.store.begin(stage.head("http://h/b"), length: nil))
            other.append(bytes(size))
            stage.store.removeAll()
            other.commit(head: nil, body: nil)
            #expect(await stage.find("http://h/b") == nil)
            await stage.store.settle()
            #expect(stage.files.isEmpty)
        }
    }

    @Test("A handler's head and body take the place of the received ones")
    func replacements() async throws {
        let head = stage.head("http://h/a")
        let writer = try #require(stage.store.begin(head, length: nil))
        writer.append(bytes(100_000))
        let changed = head.changed(to: ResponseHead(status: 203), bodyLength: 70_000, in: [], isShared: false)
        writer.commit(head: changed, body: bytes(70_000, 9))
        let stored = try #require(await stage.find("http://h/a"))
        #expect(stored.head.head.status == 203)
        #expect(await stage.body(of: stored) == bytes(70_000, 9))
        await stage.store.settle()
    }

    @Test("A response can be read while it is written, and after that")
    func following() async throws {
        let body = bytes(400_000)
        let writer = try #require(stage.store.begin(stage.head("http://h/a"), length: nil) as? DiskWriter)
        func read(_ position: Int) async -> Data? {
            let piece = await answer { writer.read(at: UInt64(position), $0) }
            return try? piece.get()
        }
        for start in stride(from: 0, to: body.count, by: 40_000) {
            writer.append(body.subdata(in: start..<(start + 40_000)))
            for position in [0, start / 2, start, start + 39_999] {
                let piece = try #require(await read(position))
                #expect(!piece.isEmpty && body[position...].starts(with: piece))
            }
        }
        writer.commit(head: nil, body: nil)
        for position in stride(from: 0, to: body.count, by: 33_000) {
            let piece = try #require(await read(position))
            #expect(!piece.isEmpty && body[position...].starts(with: piece))
        }
        let dropped = try #require(stage.store.begin(stage.head("http://h/a"), length: nil) as? DiskWriter)
        dropped.append(body)
        dropped.drop()
        let result = await answer { dropped.read(at: 0, $0) }
        #expect(throws: TransportError.self) { try result.get() }
    }

    @Test("If the limit is exceeded, the entries that were not used for the longest time are removed")
    func eviction() async throws {
        let small = DiskStage(limit: 1 << 20)
        let now = Date().timeIntervalSince1970
        func age(_ url: String, _ seconds: Double) throws {
            let path =
                small.root + "/"
                + DiskName(url: url, partition: DiskHash.ofNothing)
                .entry(DiskSelection(names: [], hashes: []))
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: now - seconds)], ofItemAtPath: path)
        }
        for number in 0..<9 { small.add(small.head("http://h/\(number)"), bytes(100_000)) }
        await small.store.settle()
        for number in 0..<9 { try age("http://h/\(number)", 1_000 - Double(number)) }
        #expect(await small.find("http://h/0") != nil, "a use makes it the newest one")
        for number in 9..<12 { small.add(small.head("http://h/\(number)"), bytes(100_000)) }
        await small.store.settle()
        small.store.scan()
        await small.store.settle()
        let usage = small.store.usage
        #expect(usage.bytes <= 1 << 20 && usage.evicted == 12 - usage.entries && usage.entries >= 8)
        #expect(await small.find("http://h/0") != nil)
        #expect(await small.find("http://h/11") != nil)
        #expect(await small.find("http://h/1") == nil)
        #expect(await small.find("http://h/2") == nil)
        let other = DiskStore(
            small.folder.appendingPathComponent("cache"), limit: 300_000, settings: small.store.settings)
        _ = await small.find("http://h/none", in: other)
        await other.settle()
        #expect(other.usage.bytes <= 300_000 && other.usage.entries == 2)
    }

    @Test("An entry that is too large is not stored, whether its length is known or not")
    func tooLarge() async throws {
        let small = DiskStage(limit: 1 << 20, maximumEntrySize: 100_000)
        #expect(small.store.begin(small.head("http://h/a"), length: 100_001) == nil)
        #expect(small.store.begin(small.head("http://h/a"), length: .max) == nil)
        let writer = try #require(small.store.begin(small.head("http://h/a"), length: nil))
        for _ in 0..<6 { writer.append(bytes(20_000)) }
        writer.commit(head: nil, body: nil)
        #expect(await small.find("http://h/a") == nil)
        let fields = (0..<300).map { HTTPHeader(name: "a\($0)", value: String(repeating: "x", count: 5_000)) }
        let huge = StoredHead(
            url: "http://h/a", partition: "", selection: Selection(names: [], values: []),
            head: ResponseHead(status: 200, fields: fields), requested: 1, received: 1)
        #expect(stage.store.begin(huge, length: 1) == nil)
        await small.store.settle()
        #expect(small.files.isEmpty)
    }

    @Test("If the disk is slower than the network, the response is dropped and memory does not grow")
    func slow() async throws {
        let slow = DiskStage { $0.queueLimit = 100_000 }
        let writer = try #require(slow.store.begin(slow.head("http://h/a"), length: nil))
        let gate = DispatchSemaphore(value: 0)
        slow.store.perform(for: "http://h/a") { gate.wait() }
        for _ in 0..<20 { writer.append(bytes(10_000)) }
        #expect(slow.store.box.withLock { $0.queued } == 0)
        gate.signal()
        writer.commit(head: nil, body: nil)
        #expect(await slow.find("http://h/a") == nil)
        slow.add(slow.head("http://h/a"), bytes(90_000))
        #expect(await slow.find("http://h/a") != nil)
        await slow.store.settle()
        #expect(slow.store.box.withLock { $0.queued == 0 && $0.reserved == 0 })
    }

    @Test("Leftovers of killed processes are removed; files of a living one and foreign files are not")
    func leftovers() async throws {
        stage.add(stage.head("http://h/a"), bytes(10))
        await stage.store.settle()
        let shard = try #require(stage.files.first.map { URL(fileURLWithPath: $0).deletingLastPathComponent().path })
        let names = [
            "new-1", "new-2", "new-3", "note.txt",
            String(repeating: "a", count: 32) + "-" + String(repeating: "b", count: 16) + "-variants",
        ]
        for name in names {
            #expect(FileManager.default.createFile(atPath: shard + "/" + name, contents: Data("x".utf8)))
            chmod(shard + "/" + name, 0o600)
            if name != "new-2" {
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSinceNow: -3_600)], ofItemAtPath: shard + "/" + name)
            }
        }
        let writing = open(shard + "/new-3", O_RDWR)
        #expect(flock(writing, LOCK_EX) == 0)
        stage.store.scan()
        await stage.store.settle()
        let left = Set(try FileManager.default.contentsOfDirectory(atPath: shard))
        #expect(left.isSuperset(of: ["new-2", "new-3", "note.txt"]) && left.count == 4)
        close(writing)
        stage.store.scan()
        await stage.store.settle()
        #expect(!FileManager.default.fileExists(atPath: shard + "/new-3"))
        stage.store.removeAll()
        await stage.store.settle()
        await stage.store.settle()
        #expect(stage.files.map { URL(fileURLWithPath: $0).lastPathComponent } == ["note.txt"])
    }

    @Test("All entries are listed with their sizes, and those that a closure refuses are removed")
    func filter() async throws {
        for number in 0..<30 { stage.add(stage.head("http://h/\(number)", "p\(number % 3)"), bytes(number)) }
        await stage.store.settle()
        let seen = Protected<[String: UInt64]>([:])
        try await stage.store.filter { head, size in
            seen.withLock { $0[head.url] = size }
            return !head.url.hasSuffix("7") && !FileThread.isCurrent
        }
        #expect(seen.withLock { $0.count == 30 && $0["http://h/29"] == 29 })
        await stage.store.settle()
        #expect(stage.store.usage.entries == 27)
        #expect(await stage.find("http://h/7", "p1") == nil)
        #expect(await stage.find("http://h/8", "p2") != nil)
    }
}
