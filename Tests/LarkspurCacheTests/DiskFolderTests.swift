import Foundation
import TestSupport
import Testing

@testable import LarkspurCache

@Suite("The folder of the store on disk", .limited)
struct DiskFolderTests {
    private let stage = DiskStage()
    private let body = Data(repeating: 7, count: 100_000)

    private func path(_ url: String) -> String {
        let name = DiskName(url: url, partition: DiskHash.ofNothing)
        return stage.root + "/" + name.entry(DiskSelection(names: [], hashes: []))
    }

    /// Adds an entry, so that its subfolder exists.
    private func prepare() async -> String {
        stage.add(stage.head("http://h/a"), body)
        await stage.store.settle()
        return path("http://h/a")
    }

    @Test(
        "A symbolic link, a pipe or a socket in place of an entry is a miss, is removed, and its target is not touched")
    func odd() async throws {
        let entry = await prepare()
        let other = stage.folder.path + "/other"
        let valid = try #require(FileManager.default.contents(atPath: entry))
        #expect(FileManager.default.createFile(atPath: other, contents: valid))
        for kind in ["link", "broken", "pipe"] {
            #expect(unlink(entry) == 0)
            switch kind {
            case "link": #expect(symlink(other, entry) == 0)
            case "broken": #expect(symlink(other + "/none", entry) == 0)
            default: #expect(mkfifo(entry, 0o600) == 0)
            }
            #expect(await stage.find("http://h/a") == nil, "\(kind)")
            #expect(await stage.find("http://h/a") == nil, "\(kind)")
            #expect(FileManager.default.contents(atPath: other) == valid)
            stage.add(stage.head("http://h/a"), body)
            #expect(await stage.find("http://h/a")?.body.count == 100_000, "\(kind)")
        }
    }

    @Test("A directory in place of an entry is a miss and stays; other responses are still stored")
    func directory() async throws {
        let entry = await prepare()
        #expect(unlink(entry) == 0 && mkdir(entry, 0o700) == 0)
        #expect(FileManager.default.createFile(atPath: entry + "/precious", contents: Data("x".utf8)))
        #expect(await stage.find("http://h/a") == nil)
        stage.add(stage.head("http://h/a"), body)
        #expect(await stage.find("http://h/a") == nil && stage.store.takeProblem() == nil)
        stage.add(stage.head("http://h/b"), body)
        #expect(await stage.find("http://h/b") != nil)
        stage.store.scan()
        await stage.store.settle()
        #expect(FileManager.default.fileExists(atPath: entry + "/precious"))
        #expect(stage.files.count == 2, "no temporary file is left")
    }

    @Test("A file that others may write is not believed", arguments: [0o622, 0o606] as [mode_t])
    func writable(mode: mode_t) async {
        let entry = await prepare()
        chmod(entry, mode)
        #expect(await stage.find("http://h/a") == nil)
        #expect(!FileManager.default.fileExists(atPath: entry))
    }

    @Test("A file of another user is not believed", .enabled(if: geteuid() == 0))
    func foreign() async {
        let entry = await prepare()
        #expect(chown(entry, 12_345, 12_345) == 0)
        #expect(await stage.find("http://h/a") == nil)
        #expect(chown(stage.root, 12_345, 12_345) == 0)
        let other = stage.other()
        #expect(await stage.find("http://h/a", in: other) == nil)
        #expect(other.takeProblem()?.contains("another user") == true)
        #expect(chown(stage.root, 0, 0) == 0)
    }

    @Test("A valid entry under the name of another URL is a miss")
    func renamed() async {
        let entry = await prepare()
        stage.add(stage.head("http://h/b"), Data("b".utf8))
        await stage.store.settle()
        #expect(rename(entry, path("http://h/b")) == 0)
        #expect(await stage.find("http://h/b") == nil)
        #expect(!FileManager.default.fileExists(atPath: path("http://h/b")))
    }

    private func damage(_ entry: String, at position: Int) throws {
        var bytes = try #require(FileManager.default.contents(atPath: entry))
        bytes[position] ^= 1
        try bytes.write(to: URL(fileURLWithPath: entry))
        chmod(entry, 0o600)
    }

    @Test("A damaged entry is a miss and is removed, wherever in a small file the damage is")
    func damaged() async throws {
        let entry = await prepare()
        for position in [20, 70_000, 100_020] {
            try damage(entry, at: position)
            #expect(await stage.find("http://h/a") == nil)
            #expect(!FileManager.default.fileExists(atPath: entry))
            _ = await prepare()
        }
        #expect(await stage.find("http://h/a") != nil)
    }

    @Test("A response ends where a large file is damaged, and the entry is removed")
    func damagedWhileRead() async throws {
        stage.add(stage.head("http://h/a"), Data(repeating: 7, count: 200_000))
        await stage.store.settle()
        try damage(path("http://h/a"), at: 90_000)
        let stored = try #require(await stage.find("http://h/a"))
        let first = await answer { stored.body.read(at: 0, $0) }
        #expect(try first.get() == Data(repeating: 7, count: 65_536))
        let second = await answer { stored.body.read(at: 65_536, $0) }
        guard case .failure(let error) = second else {
            Issue.record("the damage must be found")
            return
        }
        #expect(error.code == .truncated)
        #expect(await stage.find("http://h/a") == nil)
        #expect(!FileManager.default.fileExists(atPath: path("http://h/a")))
    }

    @Test("An entry that grows or shrinks while it is read brings its own bytes or an error")
    func growing() async throws {
        let body = Data(repeating: 7, count: 300_000)
        let entry = path("http://h/a")
        stage.add(stage.head("http://h/a"), body)
        let stored = try #require(await stage.find("http://h/a"))
        let file = open(entry, O_RDWR | O_APPEND)
        #expect(write(file, "garbage", 7) == 7)
        #expect(await stage.body(of: stored) == body)
        #expect(await stage.find("http://h/a") == nil, "its end is no record")
        stage.add(stage.head("http://h/a"), body)
        let again = try #require(await stage.find("http://h/a"))
        #expect(truncate(entry, 70_000) == 0)
        #expect(await stage.body(of: again) == nil)
        close(file)
    }

    @Test("A folder that cannot be used is reported once, and nothing is stored")
    func unusable() async throws {
        let file = stage.folder.appendingPathComponent("file")
        try Data("x".utf8).write(to: file)
        let urls = [
            file, file.appendingPathComponent("below"), try #require(URL(string: "http://h/folder")),
            URL(fileURLWithPath: "/proc/none/cache"),
        ]
        for url in urls {
            var settings = DiskStore.Settings()
            settings.pause = .seconds(3_600)
            let store = DiskStore(url, limit: 1 << 20, settings: settings)
            #expect(await stage.find("http://h/a", in: store) == nil)
            let problem = try #require(store.takeProblem())
            #expect(problem.contains("cache's folder") && store.takeProblem() == nil)
            #expect(await stage.find("http://h/a", in: store) == nil)
            #expect(store.begin(stage.head("http://h/a"), length: 1) == nil && store.takeProblem() == nil)
            await store.settle()
        }
        #expect(try Data(contentsOf: file) == Data("x".utf8))
    }

    @Test("The folder is made again if it was removed")
    func removed() async throws {
        _ = await prepare()
        try FileManager.default.removeItem(atPath: stage.root)
        #expect(await stage.find("http://h/a") == nil)
        let retrying = DiskStage { $0.pause = .zero }
        retrying.add(retrying.head("http://h/a"), body)
        await retrying.store.settle()
        try FileManager.default.removeItem(atPath: retrying.root)
        retrying.add(retrying.head("http://h/a"), body)
        retrying.add(retrying.head("http://h/a"), body)
        await retrying.store.settle()
        retrying.add(retrying.head("http://h/a"), body)
        #expect(await retrying.find("http://h/a") != nil)
    }

    @Test("A validation that names more fields than an entry can hold removes the entry")
    func countlessNames() async throws {
        _ = await prepare()
        let stored = try #require(await stage.find("http://h/a"))
        let names = (0..<70_000).map { "n\($0)" }
        let head = stored.head
        stage.store.update(
            stored,
            to: StoredHead(
                url: head.url, partition: head.partition, selection: Selection(names: names, in: []), head: head.head,
                requested: 3, received: 4))
        await stage.store.settle()
        #expect(await stage.find("http://h/a") == nil && stage.files.allSatisfy { !$0.contains("new-") })
    }

    @Test("An entry that takes the name of another one after a validation replaces it, and is counted once")
    func nameTaken() async throws {
        _ = await prepare()
        let stored = try #require(await stage.find("http://h/a"))
        stage.add(stage.head("http://h/a", "", ["b": "1"]), body)
        await stage.store.settle()
        #expect(stage.store.usage.entries == 2)
        let head = stored.head
        stage.store.update(
            stored,
            to: StoredHead(
                url: head.url, partition: head.partition, selection: Selection(names: ["b"], values: ["1"]),
                head: head.head, requested: 3, received: 4))
        await stage.store.settle()
        #expect(stage.store.usage.entries == 1 && stage.store.usage.bytes < 150_000)
        #expect(await stage.find("http://h/a", "", ["b": "1"])?.head.received == 4)
    }

    @Test("A handler's body that is too large to be stored removes the response that it supersedes")
    func tooLargeBody() async throws {
        let small = DiskStage(limit: 1 << 20, maximumEntrySize: 150_000)
        let head = small.head("http://h/a")
        small.add(head, body)
        #expect(await small.find("http://h/a") != nil)
        let writer = try #require(small.store.begin(head, length: nil))
        writer.append(Data(count: 10))
        writer.commit(head: nil, body: Data(count: 200_000))
        #expect(await small.find("http://h/a") == nil)
        await small.store.settle()
        #expect(small.store.usage.entries == 0)
    }

    @Test("If another process removes everything while a response is being written, the next responses are stored")
    func removedWhileWriting() async throws {
        let large = Data(count: 20 * 65_536)
        let writer = try #require(stage.store.begin(stage.head("http://h/a"), length: UInt64(large.count)))
        for start in stride(from: 0, to: large.count, by: 65_536) {
            writer.append(large.subdata(in: start..<start + 65_536))
        }
        await stage.store.settle()
        try #require(stage.files.contains { $0.contains("new-") })
        let other = stage.other()
        other.removeAll()
        await other.settle()
        writer.commit(head: nil, body: nil)
        await stage.store.settle()
        stage.add(stage.head("http://h/b"), body)
        #expect(await stage.find("http://h/b") != nil && stage.store.takeProblem() == nil)
        #expect(await stage.find("http://h/a") == nil)
    }

    @Test(
        "A full disk is reported once; what is stored is still served, and storing goes on when there is space",
        .enabled(if: Mount.isPossible))
    func full() async throws {
        let mount = try #require(Mount("size=1m"))
        let small = DiskStage(in: mount.folder) { $0.pause = .zero }
        small.add(small.head("http://h/a"), body)
        // Each URL has a file thread, and the others must not take the space first.
        await small.store.settle()
        for number in 0..<5 { small.add(small.head("http://h/\(number)"), Data(count: 400_000)) }
        await small.store.settle()
        let problem = try #require(small.store.takeProblem())
        #expect(problem.contains("No space") && small.store.takeProblem() == nil)
        #expect(await small.find("http://h/a") != nil)
        #expect(small.files.allSatisfy { !$0.contains("new-") })
        small.store.removeAll()
        await small.store.settle()
        await small.store.settle()
        small.add(small.head("http://h/b"), body)
        #expect(await small.find("http://h/b") != nil && small.store.takeProblem() == nil)
    }

    @Test("From a folder that cannot be written, entries are served", .enabled(if: Mount.isPossible))
    func readOnly() async throws {
        let mount = try #require(Mount("size=4m"))
        let small = DiskStage(in: mount.folder) { $0.pause = .zero }
        small.add(small.head("http://h/a"), body)
        await small.store.settle()
        mount.makeReadOnly()
        let other = small.other()
        let stored = try #require(await small.find("http://h/a", in: other))
        #expect(await small.body(of: stored) == body && other.takeProblem() == nil)
        for _ in 0..<3 { small.add(small.head("http://h/b"), body, to: other) }
        other.update(stored, to: stored.head)
        await other.settle()
        #expect(other.takeProblem()?.contains("Read-only") == true && other.takeProblem() == nil)
        mount.makeWritable()
    }
}

/// A file system in memory, for tests of full disks.
private final class Mount: Sendable {
    let folder: URL

    static var isPossible: Bool {
        #if os(Linux)
            guard geteuid() == 0, let mount = Mount("size=64k") else { return false }
            return FileManager.default.fileExists(atPath: mount.folder.path)
        #else
            return false
        #endif
    }

    init?(_ options: String) {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "larkspur-mount-\(UInt64.random(in: .min ... .max))")
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        #if os(Linux)
            if mount("none", folder.path, "tmpfs", 0, options) == 0 { return }
        #endif
        rmdir(folder.path)
        return nil
    }

    func makeReadOnly() { remount(1) }  // MS_RDONLY
    func makeWritable() { remount(0) }

    private func remount(_ flags: UInt) {
        #if os(Linux)
            #expect(mount("none", folder.path, "tmpfs", 32 | flags, nil) == 0)  // MS_REMOUNT
        #endif
    }

    deinit {
        #if os(Linux)
            umount2(folder.path, 2)  // MNT_DETACH
        #endif
        rmdir(folder.path)
    }
}
