import Foundation
import Testing

@testable import LarkspurCache

/// Returns the value that a function passes to its callback. The value goes through a lock as well: the thread sanitizer
/// does not see the order that a continuation gives if it is resumed at once.
func answer<Value: Sendable>(_ ask: (@escaping @Sendable (Value) -> Void) -> Void) async -> Value {
    let box = Protected<Value?>(nil)
    let value = await withCheckedContinuation { done in
        ask { value in
            box.withLock { $0 = value }
            done.resume(returning: value)
        }
    }
    return box.withLock { $0 } ?? value
}

/// A store on disk in a folder of its own, which is removed at the end.
final class DiskStage: Sendable {
    let folder: URL
    let store: DiskStore

    init(
        in parent: URL = FileManager.default.temporaryDirectory, limit: UInt64 = 64 << 20,
        maximumEntrySize: UInt64 = .max, _ configure: (inout DiskStore.Settings) -> Void = { _ in }
    ) {
        var settings = DiskStore.Settings()
        settings.touchInterval = 0
        configure(&settings)
        folder = parent.appendingPathComponent("larkspur-\(UInt64.random(in: .min ... .max))")
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        store = DiskStore(
            folder.appendingPathComponent("cache"), limit: limit, maximumEntrySize: maximumEntrySize,
            settings: settings)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// The cache's own folder.
    var root: String { folder.path + "/cache/larkspur-cache-1" }

    /// Returns another store in the same folder, as that of another process.
    func other(limit: UInt64 = 64 << 20) -> DiskStore {
        DiskStore(folder.appendingPathComponent("cache"), limit: limit, settings: store.settings)
    }

    func head(_ url: String, _ partition: String = "", _ selection: [String: String] = [:]) -> StoredHead {
        let names = selection.keys.sorted()
        return StoredHead(
            url: url, partition: partition, selection: Selection(names: names, values: names.map { selection[$0] }),
            head: ResponseHead(status: 200, fields: [HTTPHeader(name: "Content-Type", value: "text/plain")]),
            requested: 1, received: 2)
    }

    func add(_ head: StoredHead, _ body: Data, to store: DiskStore? = nil) {
        guard let writer = (store ?? self.store).begin(head, length: UInt64(body.count)) else { return }
        for start in stride(from: 0, to: body.count, by: 50_000) {
            writer.append(body.subdata(in: start..<min(start + 50_000, body.count)))
        }
        writer.commit(head: nil, body: nil)
    }

    func find(
        _ url: String, _ partition: String = "", _ fields: [String: String] = [:], in store: DiskStore? = nil
    ) async -> StoredResponse? {
        let fields = fields.map { HTTPHeader(name: $0, value: $1) }
        return await answer { done in
            (store ?? self.store).find(CacheKey(url: url, partition: partition), for: fields, done)
        }
    }

    /// Reads a whole body. Returns nil if it is damaged.
    func body(of stored: StoredResponse) async -> Data? {
        var data = Data()
        while data.count < stored.body.count {
            let piece = await answer { stored.body.read(at: UInt64(data.count), $0) }
            guard let bytes = try? piece.get(), !bytes.isEmpty, bytes.count <= StoredResponse.buffer else { return nil }
            data += bytes
        }
        return data
    }

    /// The paths of all files below the cache's folder.
    var files: [String] {
        let all = FileManager.default.subpaths(atPath: root) ?? []
        var isFolder: ObjCBool = false
        return all.map { root + "/" + $0 }.filter {
            FileManager.default.fileExists(atPath: $0, isDirectory: &isFolder) && !isFolder.boolValue
        }
    }
}
