import Foundation
import TestSupport
import Testing

@testable import LarkspurCache

@Suite("The files of the store on disk", .limited)
struct DiskFormatTests {
    private let stage = DiskStage()

    private static var body: Data { Data((0..<300).map { UInt8(truncatingIfNeeded: $0 &* 7) }) }

    private func bytes(of path: String) -> [UInt8] { Array(FileManager.default.contents(atPath: path) ?? Data()) }

    /// Writes an entry and returns its path.
    private func entry(_ body: Data, updates: Int = 0) async throws -> String {
        stage.add(stage.head("http://h/a", "secret", ["accept-language": "en"]), body)
        for number in 0..<updates {
            let stored = try #require(await stage.find("http://h/a", "secret", ["Accept-Language": "en"]))
            let head = ResponseHead(status: 200, fields: [HTTPHeader(name: "Number", value: "\(number)")])
            let old = stored.head
            stage.store.update(
                stored,
                to: StoredHead(
                    url: old.url, partition: old.partition, selection: old.selection, head: head,
                    requested: old.requested, received: old.received))
        }
        await stage.store.settle()
        return try #require(stage.files.first { $0.hasSuffix("-variants") == false })
    }

    private func read(_ path: String, size: Int) -> (DiskEntry, Data?)? {
        let descriptor = open(path, O_RDONLY)
        guard descriptor >= 0, let entry = DiskEntry(DiskFile(descriptor), "", size: UInt64(size)) else { return nil }
        var body = Data()
        for index in 0..<((entry.record.count + 65_535) / 65_536) {
            guard let block = entry.file.block(index, of: entry.record.count, entry.id) else { return (entry, nil) }
            body += block
        }
        return (entry, entry.body ?? body)
    }

    private func write(_ bytes: [UInt8], to path: String) {
        _ = FileManager.default.createFile(atPath: path, contents: Data(bytes))
    }

    @Test("Bodies around the sizes of blocks and of batches are read as they were written, in pieces of any size")
    func sizes() async throws {
        let block = 64 << 10
        for size in [0, 1, 14, 15, 4_096, 4_097, block, 2 * block, 2 * block + 20_000, 4 * block, 20 * block] {
            for (size, piece) in [(size, size), (size + 1, size + 1), (size + 1, 30_000), (max(0, size - 1), block)] {
                let body = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
                let url = "http://h/\(size)/\(piece)"
                let writer = try #require(stage.store.begin(stage.head(url), length: nil))
                // Receivers of a transport may get parts of larger data, whose first index is not 0.
                let whole = Data([0]) + body
                for start in stride(from: 1, to: whole.count, by: max(1, piece)) {
                    writer.append(whole[start..<min(start + piece, whole.count)])
                }
                writer.commit(head: nil, body: nil)
                let stored = try #require(await stage.find(url), "\(size) bytes")
                #expect(await stage.body(of: stored) == body, "\(size) bytes")
                for position in [1, size / 2, size - 1] where position > 0 && position < size {
                    let bytes = try await answer { stored.body.read(at: UInt64(position), $0) }.get()
                    #expect(bytes.startIndex == 0 && bytes.first == body[position], "\(size) bytes")
                }
            }
        }
        await stage.store.settle()
        #expect(stage.store.box.withLock { $0.queued == 0 && $0.reserved == 0 })
    }

    @Test("An entry with any byte changed is a miss", arguments: [0, 2])
    func flips(updates: Int) async throws {
        let path = try await entry(Self.body, updates: updates)
        let good = bytes(of: path)
        let whole = try #require(read(path, size: good.count))
        #expect(whole.1 == Self.body && whole.0.record.head["Number"] == (updates > 0 ? "\(updates - 1)" : nil))
        let copy = stage.folder.appendingPathComponent("copy").path
        // Records that a later one replaces are not read.
        let old = Int(whole.0.end)..<(good.count - (updates > 0 ? (good.count - Int(whole.0.end)) / (updates + 1) : 0))
        for index in good.indices where updates == 0 || !old.contains(index) {
            var bad = good
            bad[index] ^= 1 << UInt8(index % 8)
            write(bad, to: copy)
            let result = read(copy, size: bad.count)
            if let result { #expect(result.0.record == whole.0.record && result.1 == Self.body, "byte \(index)") }
            #expect(result == nil || updates > 0, "byte \(index)")
        }
    }

    @Test("An entry that is cut at any length is a miss, or what it was before a validation")
    func cuts() async throws {
        let path = try await entry(Self.body, updates: 2)
        let good = bytes(of: path)
        let copy = stage.folder.appendingPathComponent("copy").path
        var found: [Int] = []
        for count in 0..<good.count {
            write(Array(good[..<count]), to: copy)
            guard let (entry, body) = read(copy, size: count) else { continue }
            #expect(body == Self.body && entry.record.url == "http://h/a")
            found.append(count)
        }
        #expect(found.count == 2, "the two records before the last one end there")
        for count in 1..<60 {
            write(good + good[..<count], to: copy)
            #expect(read(copy, size: good.count + count) == nil)
        }
    }

    @Test("A large entry with a changed byte is a miss, or its block is damaged")
    func blocks() async throws {
        let body = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 13 >> 3) })
        let path = try await entry(body)
        let good = bytes(of: path)
        #expect(read(path, size: good.count)?.1 == body)
        let copy = stage.folder.appendingPathComponent("copy").path
        var damaged = 0
        for index in stride(from: 0, to: good.count, by: 977) {
            var bad = good
            bad[index] ^= 0x10
            write(bad, to: copy)
            guard let (_, body) = read(copy, size: bad.count) else { continue }
            #expect(body == nil, "byte \(index)")
            damaged += 1
        }
        #expect(damaged > 150)
        // Two whole blocks in the wrong order
        let (first, second) = (16..<(16 + 65_544), (16 + 65_544)..<(16 + 2 * 65_544))
        write(Array(good[..<16] + good[second] + good[first] + good[second.upperBound...]), to: copy)
        let swapped = try #require(read(copy, size: good.count))
        #expect(swapped.1 == nil)
    }

    @Test("Neither credentials nor cookies are in the file or in its name")
    func secrets() async throws {
        let head = stage.head("http://h/a", "authorization: Bearer hunter2", ["cookie": "session=hunter2"])
        stage.add(head, Self.body)
        await stage.store.settle()
        for path in stage.files {
            #expect(!path.contains("hunter2"))
            #expect(!(FileManager.default.contents(atPath: path) ?? Data()).contains(Data("hunter2".utf8)))
        }
        #expect(stage.files.count == 1, "a search with cookies needs no list of names")
        #expect(await stage.find("http://h/a", "authorization: Bearer hunter2", ["Cookie": "session=hunter2"]) != nil)
        #expect(await stage.find("http://h/a", "authorization: Bearer hunter2", ["Cookie": "session=hunter3"]) == nil)
        #expect(await stage.find("http://h/a", "authorization: Bearer hunter3", ["Cookie": "session=hunter2"]) == nil)
    }

    @Test("Lengths that a file only claims to have are not believed")
    func lengths() async throws {
        let path = try await entry(Self.body)
        let good = bytes(of: path)
        let whole = try #require(read(path, size: good.count)?.0)
        for count in [UInt64.max, 1 << 60, 1 << 40, 301, 299, 0] {
            let record = DiskRecord(
                stage.head("http://h/a", "secret", ["accept-language": "en"]), partition: whole.record.partition,
                count: count)
            let content = Array(good[..<Int(whole.end)])
            write(content + DiskFormat.sealed(record.bytes, whole.id), to: path)
            let stored = await stage.find("http://h/a", "secret", ["Accept-Language": "en"])
            // Without a body there is nothing that could be wrong.
            #expect(stored == nil || count == 0 && stored?.body.count == 0)
        }
        for length in [UInt32.max, 1 << 20, 0] {
            var bad = Array(good.dropLast(16))
            bad.append(integer: length)
            bad += [0x48, 0x45, 0x41, 0x44, 0, 0, 0, 0, 0, 0, 0, 0]
            write(bad, to: path)
            #expect(read(path, size: bad.count) == nil)
        }
    }

    @Test("A record is read as it was written, and no other bytes are a record")
    func records() {
        let head = ResponseHead(
            status: 404, version: "HTTP/2", fields: [HTTPHeader(name: "A", value: "b")], bodyIsDecoded: true)
        let stored = StoredHead(
            url: "http://h/ü", partition: "p", selection: Selection(names: ["a", "b"], values: ["1", nil]), head: head,
            requested: 1.5, received: 2.5, initialAge: 7)
        let record = DiskRecord(stored, partition: DiskHash.of("p"), count: 99)
        let bytes = record.bytes
        #expect(bytes.withUnsafeBytes { DiskRecord($0) } == record)
        for count in 0..<bytes.count { #expect(bytes[..<count].withUnsafeBytes { DiskRecord($0) } == nil) }
        #expect((bytes + [0]).withUnsafeBytes { DiskRecord($0) } == nil)
        for time in [Double.nan, .infinity, -.infinity, 1e300] {
            let odd = StoredHead(
                url: "u", partition: "", selection: Selection(names: [], values: []), head: head, requested: time,
                received: 1, initialAge: 1)
            #expect(
                DiskRecord(odd, partition: DiskHash.of("p"), count: 1).bytes.withUnsafeBytes { DiskRecord($0) } == nil)
        }
    }

    @Test("A list of variants is read as it was written, and no other bytes are one")
    func variants() {
        var variants = DiskVariants()
        #expect(variants.add(["accept-language", "cookie"]) && variants.add(["accept"]) && !variants.add([]))
        let bytes = variants.bytes
        #expect(bytes.withUnsafeBytes { DiskVariants($0) } == variants)
        for count in 0..<bytes.count { #expect(bytes[..<count].withUnsafeBytes { DiskVariants($0) } == nil) }
        for index in bytes.indices {
            var bad = bytes
            bad[index] ^= 4
            #expect(bad.withUnsafeBytes { DiskVariants($0) } == nil)
        }
        for number in 0..<20 { _ = variants.add(["\(number)"]) }
        #expect(variants.lists.count == 8 && variants.lists.first == ["19"])
    }

    @Test("Only files with the names of the cache are its own")
    func names() {
        let name = DiskName(url: "http://h/", partition: DiskHash.ofNothing)
        let entry = name.entry(DiskSelection(Selection(names: ["a"], values: ["b"])))
        #expect(entry.hasPrefix(name.shard + "/") && DiskName.kind(of: String(entry.dropFirst(3))) == .entry)
        #expect(DiskName.kind(of: String(name.variants.dropFirst(3))) == .variants)
        #expect(DiskName.kind(of: String(DiskName.temporary(in: "ab", 7).dropFirst(3))) == .temporary)
        for foreign in ["", "a", "new-", "new-x", "note.txt", entry, String(entry.dropFirst(4)), entry + "0"] {
            #expect(DiskName.kind(of: foreign) == .foreign)
        }
    }
}
