import Foundation
import LarkspurAnnex
import TestSupport
import Testing

@testable import LarkspurFleet

#if canImport(Glibc)
    import Glibc
#endif

@Suite("Faults of a store in a folder", .limited)
struct FileStoreFaultTests {
    private let folder = TestedStore.Folder()

    private func store(
        sweepAfter minimum: Int = 1_000, patience: Duration = .seconds(5),
        flush: @escaping FileShard.Flush = { fsync($0) }
    ) throws -> FileStore {
        try FileStore(
            folder: folder.url, patience: patience, now: { .seconds(100) }, boot: "boot", sweepAfter: minimum,
            flush: flush)
    }

    /// Holds all locks of the folder as another process that was stopped.
    private func holdLocks() throws -> [Int32] {
        try (0..<16).map { number in
            let file = open(folder.url.appendingPathComponent("lock-\(number)").path, O_RDWR | O_CREAT, 0o600)
            try #require(file >= 0 && flock(file, LOCK_EX) == 0)
            return file
        }
    }

    @Test("Operations that wait for one lock wait at most for one patience together")
    func patience() async throws {
        let store = try store(patience: .seconds(1))
        let locks = try holdLocks()
        defer { for lock in locks { close(lock) } }
        // One after the other, they would take longer than a test may.
        let busy = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<400 {
                group.addTask {
                    do { _ = try await store.add(1, to: "c", window: .seconds(1)) } catch {
                        return (error as? StoreError)?.code == .busy
                    }
                    return false
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(busy == 400)
    }

    @Test("If the folder is renamed and made again, a store uses the locks of the new one")
    func renamed() async throws {
        let first = try store(patience: .milliseconds(30))
        for number in 0..<100 { try await first.set(Data([1]), for: "\(number)") }
        let other = TestedStore.Folder()
        try FileManager.default.moveItem(at: folder.url, to: other.url)
        _ = try store()
        let locks = try holdLocks()
        await #expect { try await first.set(Data([2]), for: "1") } throws: { ($0 as? StoreError)?.code == .busy }
        for lock in locks { close(lock) }
        try await first.set(Data([2]), for: "1")
        #expect(try await store().value(for: "1")?.data == Data([2]))
    }

    @Test("A value without a lifetime is on the disk before it replaces the old one, and its name afterwards")
    func lasting() async throws {
        let (flushed, failure) = (Guarded([Bool]()), Guarded(Int32(0)))
        let store = try store { file in
            var status = stat()
            fstat(file, &status)
            flushed.withLock { $0.append(status.st_mode & S_IFMT == S_IFDIR) }
            errno = failure.withLock { $0 }
            return errno == 0 ? 0 : -1
        }
        /// Returns whether each flushed file was a folder.
        func files() -> [Bool] {
            flushed.withLock { files in
                defer { files = [] }
                return files
            }
        }
        try await store.set(Data([1]), for: "a")
        #expect(files() == [false, true])
        try await store.set(Data([2]), for: "a", lifetime: .seconds(1))  // the old value must not come back
        #expect(files() == [false, true])
        try await store.set(Data([3]), for: "a", lifetime: .seconds(1))
        _ = try await store.add(1, to: "c", window: .seconds(1))
        _ = try await store.takeLease("l", for: .seconds(1))
        #expect(files() == [])
        failure.withLock { $0 = ENOSPC }
        await #expect { try await store.set(Data([4]), for: "a") } throws: { ($0 as? StoreError)?.code == .full }
        #expect(try await store.value(for: "a")?.data == Data([3]))
        failure.withLock { $0 = EINVAL }  // the file system does not flush
        try await store.set(Data([5]), for: "a")
        #expect(try await store.value(for: "a")?.data == Data([5]))
    }

    @Test("What killed processes have left is removed, and a record of that name stays")
    func leftOver() async throws {
        let store = try store(sweepAfter: 10)
        try await store.set(Data([1]), for: "a")
        let files = ["value/a.new", "value/b.new"].map { folder.url.appendingPathComponent($0) }
        for file in files { try Data("LSR1".utf8).write(to: file) }
        await poll {
            _ = try? await store.add(1, to: "c", window: .seconds(1))
            return !files.contains { FileManager.default.fileExists(atPath: $0.path) }
        }
        #expect(try await store.value(for: "a")?.data == Data([1]))
    }
}
