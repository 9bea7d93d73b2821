import Foundation
import LarkspurAnnex
import TestSupport
import Testing

@testable import LarkspurFleet

#if canImport(Glibc)
    import Glibc
#endif

@Suite("A store in a folder", .limited)
struct FileStoreTests {
    private let folder = TestedStore.Folder()

    private func store(boot: String = "boot", now: Duration = .seconds(100), patience: Duration = .seconds(5)) throws
        -> FileStore
    {
        try FileStore(folder: folder.url, patience: patience, now: { now }, boot: boot)
    }

    @Test("Two stores in one folder are one store")
    func shared() async throws {
        let (first, second) = (try store(), try store())
        var changes = second.changes(of: "a").makeAsyncIterator()
        #expect(await changes.next() != nil)
        let version = try await first.set(Data([1]), for: "a")
        #expect(await changes.next() != nil)
        #expect(try await second.value(for: "a") == StoredValue(Data([1]), version: version))
        let lease = try #require(try await first.takeLease("l", for: .seconds(1)))
        #expect(try await second.takeLease("l", for: .seconds(1)) == nil)
        try await second.release(lease)
        #expect(try await second.takeLease("l", for: .seconds(1)) != nil)
        _ = try await first.add(2, to: "c", window: .seconds(1))
        #expect(try await second.add(3, to: "c", window: .seconds(1)).value == 5)
    }

    @Test("The files of ended records are removed, and those of leases after a week")
    func sweep() async throws {
        let time = Guarded(Duration.seconds(1_000_000))
        let store = try FileStore(folder: folder.url, now: { time.withLock { $0 } }, boot: "boot", sweepAfter: 20)
        func count(_ kind: String) -> Int {
            let files = FileManager.default.enumerator(atPath: folder.url.appendingPathComponent(kind).path)
            return (files?.allObjects as? [String] ?? []).filter { !$0.hasSuffix("+") }.count
        }
        // Waits for a sweep that removes all but so many records.
        func sweep(_ kind: String, to limit: Int) async throws {
            while count(kind) > limit { _ = try await store.add(1, to: "again", window: .seconds(1)) }
        }
        let long = String(repeating: "Ü", count: 500)
        for number in 0..<50 {
            try await store.set(Data([1]), for: "\(long)\(number)", lifetime: .seconds(10))
            _ = try await store.add(1, to: "c\(number)", window: .seconds(10))
        }
        try await store.set(Data([1]), for: "kept")
        let lease = try #require(try await store.takeLease("l", for: .seconds(10)))
        #expect(try await store.set(Data([2]), for: "fenced", if: .always, lifetime: .seconds(10), under: lease) != nil)
        #expect(try await store.set(Data([3]), for: "removed", if: .always, lifetime: nil, under: lease) != nil)
        #expect(try await store.removeValue(for: "removed", if: .always, under: lease))
        #expect(count("value") == 53)
        time.withLock { $0 += .seconds(20) }
        try await sweep("value", to: 3)
        try await sweep("counter", to: 1)
        #expect(count("lease") == 1)
        #expect(try await store.value(for: "kept")?.data == Data([1]))
        time.withLock { $0 += .seconds(7 * 86_400) }
        try await sweep("lease", to: 0)
        try await sweep("value", to: 1)
        let next = try #require(try await store.takeLease("l", for: .seconds(10)))
        #expect(next.number > lease.number)
        #expect(try await store.value(for: "kept")?.data == Data([1]))
    }

    @Test("A store in memory forgets ended records")
    func memory() async throws {
        let time = Guarded(Duration.seconds(100))
        let store = MemoryStore(now: { time.withLock { $0 } })
        for number in 0..<5_000 {
            try await store.set(Data([1]), for: "\(number)", lifetime: .seconds(1))
            time.withLock { $0 += .milliseconds(100) }
        }
        #expect(store.count <= 1_000)
        #expect(try await store.value(for: "4999") != nil)
    }

    @Test("After a restart of the machine, lasting values are there, and leases are free")
    func restart() async throws {
        let before = try store(now: .seconds(1_000_000))
        try await before.set(Data([1]), for: "lasting")
        try await before.set(Data([2]), for: "ending", lifetime: .seconds(1_000))
        let lease = try #require(try await before.takeLease("l", for: .seconds(1_000)))
        _ = try await before.add(7, to: "c", window: .seconds(1_000))
        let after = try store(boot: "next", now: .seconds(1))
        #expect(try await after.value(for: "lasting")?.data == Data([1]))
        #expect(try await after.value(for: "ending") == nil)
        #expect(try await after.add(1, to: "c", window: .seconds(1)).value == 1)
        let next = try #require(try await after.takeLease("l", for: .seconds(1)))
        #expect(next.number > lease.number)
    }

    @Test("The calendar's clock has no part: records are the same when their files are of a year long past, or to come")
    func calendar() async throws {
        let store = try FileStore(folder: folder.url, now: { .seconds(100) }, boot: "boot", sweepAfter: 4)
        let version = try await store.set(Data([1]), for: "v", lifetime: .seconds(10))
        _ = try await store.add(7, to: "c", window: .seconds(10))
        let lease = try #require(try await store.takeLease("l", for: .seconds(10)))
        for year in [0, 4_000_000_000] as [Double] {
            let files = try #require(FileManager.default.enumerator(atPath: folder.url.path)?.allObjects as? [String])
            for file in files {
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSince1970: year)],
                    ofItemAtPath: folder.url.appendingPathComponent(file).path)
            }
            // More changes than there are files, so that a sweep looks at all of them.
            for _ in 0..<20 { _ = try await store.add(1, to: "other", window: .seconds(10)) }
            #expect(try await store.value(for: "v") == StoredValue(Data([1]), version: version))
            #expect(try await store.add(0, to: "c", window: .seconds(10)).value == 7)
            #expect(try await store.takeLease("l", for: .seconds(10)) == nil)
        }
        #expect(try await store.renew(lease, for: .seconds(10)))
    }

    @Test("An operation that another process blocks fails after the patience, and changes nothing")
    func blocked() async throws {
        let store = try store(patience: .milliseconds(30))
        try await store.set(Data([1]), for: "a")
        let locks = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter {
            $0.hasPrefix("lock-")
        }
        let lock = try #require(locks.first)
        let held = open(folder.url.appendingPathComponent(lock).path, O_RDWR)
        defer { close(held) }
        #expect(flock(held, LOCK_EX) == 0)
        await #expect { try await store.set(Data([2]), for: "a") } throws: { ($0 as? StoreError)?.code == .busy }
        #expect(try await store.value(for: "a")?.data == Data([1]))  // reading needs no lock
        flock(held, LOCK_UN)
        try await store.set(Data([2]), for: "a")
    }

    @Test("If the folder is removed and made again, the stores in both processes use the new one")
    func removed() async throws {
        let first = try store()
        #expect(try await first.takeLease("l", for: .seconds(1)) != nil)
        try FileManager.default.removeItem(at: folder.url)
        let second = try store()
        #expect(try await second.takeLease("l", for: .seconds(1)) != nil)
        #expect(try await first.takeLease("l", for: .seconds(1)) == nil)
        #expect(try await FileStoreTests.sum(of: [first, second]) == 50)
    }

    /// Adds one by turns and at once, and returns the count.
    private static func sum(of stores: [FileStore]) async throws -> Int64 {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<49 {
                group.addTask { _ = try await stores[number % stores.count].add(1, to: "l", window: .seconds(1)) }
            }
            try await group.waitForAll()
        }
        return try await stores[0].add(1, to: "l", window: .seconds(1)).value
    }

    @Test(
        "A full disk refuses changes, and keeps values, counters and leases as they were", arguments: [0, 1, 37, 60])
    func full(written: Int) async throws {
        let rest = Guarded<[Int]>([])
        let store = try FileStore(folder: folder.url, now: { .seconds(100) }, boot: "boot") {
            switch rest.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
            case nil: return WholeWrite.system($0, $1, $2, $3)
            case 0:
                errno = ENOSPC
                return -1
            case let count?: return WholeWrite.system($0, $1, min($2, count), $3)
            }
        }
        /// Whether the operation fails, on a disk that has space for so many bytes.
        func isRefused(_ operation: () async throws -> Void) async -> Bool {
            rest.withLock { $0 = written == 0 ? [0] : [written, 0] }
            do { try await operation() } catch { return (error as? StoreError)?.code == .full }
            return false
        }
        let version = try await store.set(Data([1]), for: "a")
        let lease = try #require(try await store.takeLease("l", for: .seconds(10)))
        #expect(try await store.add(1, to: "c", window: .seconds(10)).value == 1)

        for name in ["a", "new"] { #expect(await isRefused { try await store.set(Data([2]), for: name) }) }
        for name in ["c", "new"] {
            #expect(await isRefused { _ = try await store.add(1, to: name, window: .seconds(10)) })
        }
        #expect(await isRefused { _ = try await store.takeLease("new", for: .seconds(10)) })
        #expect(await isRefused { _ = try await store.renew(lease, for: .seconds(20)) })
        #expect(await isRefused { try await store.release(lease) })

        #expect(try await store.value(for: "a") == StoredValue(Data([1]), version: version))
        #expect(try await store.value(for: "new") == nil)
        #expect(try await store.add(1, to: "c", window: .seconds(10)).value == 2)
        #expect(try await store.add(1, to: "new", window: .seconds(10)).value == 1)
        #expect(try await store.takeLease("l", for: .seconds(10)) == nil)
        #expect(try await store.renew(lease, for: .seconds(10)))
        #expect(try await store.takeLease("new", for: .seconds(10)) != nil)
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.url.path)
        #expect(!files.contains { $0.hasSuffix(".new") })
    }

    @Test("A folder that others can use is refused, and so is a link")
    func permissions() throws {
        try FileManager.default.createDirectory(
            at: folder.url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        #expect { try store() } throws: { ($0 as? StoreError)?.code == .denied }
        let real = TestedStore.Folder()
        try FileManager.default.createDirectory(
            at: real.url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try FileManager.default.removeItem(at: folder.url)
        try FileManager.default.createSymbolicLink(at: folder.url, withDestinationURL: real.url)
        #expect { try store() } throws: { ($0 as? StoreError)?.code == .denied }
        #expect { try FileStore(folder: URL(string: "https://h/")!) } throws: { ($0 as? StoreError)?.code == .denied }
    }

    @Test("All files belong to the owner only")
    func files() async throws {
        let store = try store()
        try await store.set(Data([1]), for: "a")
        let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.url.path)
        #expect(paths.contains("value/a"))
        for path in paths {
            var status = stat()
            #expect(lstat(folder.url.appendingPathComponent(path).path, &status) == 0)
            #expect(status.st_mode & 0o077 == 0, "\(path)")
        }
    }

    @Test("A damaged record is an error that names the file")
    func damaged() async throws {
        let store = try store()
        try await store.set(Data([1]), for: "a")
        let file = folder.url.appendingPathComponent("value/a")
        try Data("LSR1".utf8).write(to: file)
        await #expect {
            try await store.value(for: "a")
        } throws: { error in
            (error as? StoreError)?.code == .damaged && "\(error)".contains("value/a")
        }
        await #expect(throws: StoreError.self) { try await store.set(Data([2]), for: "a") }
        try FileManager.default.removeItem(at: file)
        #expect(try await store.value(for: "a") == nil)
    }

    @Test("A record is read as it was written, and no other bytes are a record")
    func bytes() {
        var numbers = SeededRandom(seed: 5)
        for _ in 0..<200 {
            var record = StoreRecord()
            record.value =
                Bool.random(using: &numbers) ? Data((0..<3).map { _ in .random(in: 0...255, using: &numbers) }) : nil
            (record.version, record.fence, record.number) = (numbers.next(), numbers.next(), numbers.next())
            (record.count, record.holder) = (Int64(bitPattern: numbers.next()), numbers.next())
            record.end =
                Bool.random(using: &numbers) ? .nanoseconds(Int64.random(in: 0...(.max), using: &numbers)) : nil
            let bytes = record.bytes(of: "boot")
            #expect(StoreRecord(bytes, boot: "boot") == record)
            for count in bytes.indices { #expect(StoreRecord(Array(bytes[..<count]), boot: "boot") == nil) }
            var changed = bytes
            changed[Int.random(in: changed.indices, using: &numbers)] ^= UInt8.random(in: 1...255, using: &numbers)
            #expect(StoreRecord(changed, boot: "boot") == nil)
        }
    }
}
