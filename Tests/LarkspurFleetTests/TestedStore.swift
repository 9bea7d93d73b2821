import Foundation
import LarkspurAnnex

@testable import LarkspurFleet

/// A store whose time a test sets.
struct TestedStore {
    enum Kind: CaseIterable {
        case memory, file, valkey

        /// The kinds that can be tested here: a server has to be named by the environment.
        static var allCases: [Kind] {
            #if os(Linux)
                if ValkeyServer.isPresent { return [.memory, .file, .valkey] }
            #endif
            return [.memory, .file]
        }
    }

    final class Time: Sendable {
        private let now = Guarded(Duration.seconds(100))

        func advance(by duration: Duration) { now.withLock { $0 += duration } }
        var current: Duration { now.withLock { $0 } }
    }

    /// A folder that is removed with the last reference.
    final class Folder: Sendable {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("store-\(UUID().uuidString)")
        deinit { try? FileManager.default.removeItem(at: url) }
    }

    let kind: Kind
    let time = Time()
    let folder = Folder()
    let store: any SharedStore

    init(_ kind: Kind) throws {
        self.kind = kind
        let time = time
        store =
            switch kind {
            case .memory: MemoryStore(now: { time.current })
            case .file: try FileStore(folder: folder.url, now: { time.current }, boot: "boot")
            case .valkey: try Self.valkey(time)
            }
    }

    private static func valkey(_ time: Time) throws -> any SharedStore {
        #if os(Linux)
            try ValkeyServer.store { time.current }
        #else
            throw StoreError(.unavailable, "no server")
        #endif
    }
}
