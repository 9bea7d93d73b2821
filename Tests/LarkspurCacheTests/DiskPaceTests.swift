import Foundation
import Testing

@testable import LarkspurCache

@Suite("The pace of the store on disk", .timeLimit(.minutes(3)))
struct DiskPaceTests {
    private static let block = 64 << 10

    @Test("A server that is faster than the disk has to wait; the response is stored and little of it is in memory")
    func fastServer() async throws {
        let stage = DiskStage { $0.queueLimit = 2 << 20 }
        let base = FastBase(blocks: 256) { stage.store.box.withLock { $0.queued } }
        let cache = HTTPCache(stage.store)
        let received = try await received(from: CachingTransport(base, cache: cache))
        #expect(received == UInt64(256 * Self.block) && cache.statistics.misses == 1)
        #expect(base.box.withLock { $0.suspensions } > 0)
        #expect(base.box.withLock { $0.mostQueued } <= UInt64(18 * Self.block))
        let stored = try #require(await stage.find("http://h/large"))
        #expect(await stage.body(of: stored) == Data(repeating: 7, count: 256 * Self.block))
        #expect(stage.store.box.withLock { $0.queued } == 0)
    }

    @Test("A server waits for the disk no longer if the response is dropped, and the reader gets all of it")
    func dropped() async throws {
        // Of an unknown length, so that the response turns out to be too large.
        let stage = DiskStage(maximumEntrySize: UInt64(100 * Self.block))
        let base = FastBase(blocks: 256) { 0 }
        let received = try await received(from: CachingTransport(base, cache: HTTPCache(stage.store)))
        #expect(received == UInt64(256 * Self.block))
        #expect(await stage.find("http://h/large") == nil)
        await stage.store.settle()
        #expect(stage.files.isEmpty && stage.store.box.withLock { $0.queued == 0 && $0.reserved == 0 })
    }

    @Test("A full disk does not hold up the response")
    func failing() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("larkspur-file-\(UUID())")
        try Data("x".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let store = DiskStore(file, limit: 64 << 20)
        let base = FastBase(blocks: 64) { 0 }
        #expect(try await received(from: CachingTransport(base, cache: HTTPCache(store))) == UInt64(64 * Self.block))
    }

    /// Requests the response, and returns the number of received bytes.
    private func received(from transport: CachingTransport) async throws -> UInt64 {
        var request = TransportRequest(method: "GET", url: try RequestURL("http://h/large"), fields: [])
        request.initialAllowance = .max
        let task = Protected<(any TransportTask)?>(nil)
        return await answer { done in
            let new = transport.task(for: request, id: TransportTaskID(1), delegate: ByteCounter(done))
            task.withLock { $0 = new }
            new.resume()
        }
    }
}

/// Counts the bytes of a response.
private final class ByteCounter: TransportDelegate {
    private let count = Protected<UInt64>(0)
    private let done: @Sendable (UInt64) -> Void

    init(_ done: @escaping @Sendable (UInt64) -> Void) { self.done = done }

    func received(_ event: TransportEvent, for task: TransportTaskID) {
        switch event {
        case .body(let bytes): count.withLock { $0 += UInt64(bytes.count) }
        case .completed: done(count.withLock { $0 })
        default: break
        }
    }

    func answer(_ question: TransportQuestion, for task: TransportTaskID) {}
}

/// A base whose response arrives at once, except while its task is suspended.
private final class FastBase: Transport {
    struct State {
        var suspensions = 0
        var mostQueued: UInt64 = 0
    }

    let box = Protected(State())
    let blocks: Int
    let queued: @Sendable () -> UInt64

    init(blocks: Int, queued: @escaping @Sendable () -> UInt64) { (self.blocks, self.queued) = (blocks, queued) }

    var capabilities: TransportCapabilities { TransportCapabilities() }

    func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask { FastTask(self, id, delegate) }

    func invalidate() {}
}

private final class FastTask: TransportTask {
    private struct State {
        var isSuspended = true
        var isBusy = false
        var sent = -1
    }

    let id: TransportTaskID
    private let base: FastBase
    private let delegate: any TransportDelegate
    private let box = Protected(State())

    init(_ base: FastBase, _ id: TransportTaskID, _ delegate: any TransportDelegate) {
        (self.base, self.id, self.delegate) = (base, id, delegate)
    }

    func suspend() {
        box.withLock { $0.isSuspended = true }
        base.box.withLock { $0.suspensions += 1 }
    }

    func resume() {
        box.withLock { $0.isSuspended = false }
        while let number = box.withLock({ next(&$0) }) {
            let queued = base.queued()
            base.box.withLock { $0.mostQueued = max($0.mostQueued, queued) }
            switch number {
            case 0:
                let fields = [HeaderField(name: "Cache-Control", value: "max-age=600")]
                delegate.received(.head(ResponseHead(status: 200, fields: fields)), for: id)
            case 1...base.blocks: delegate.received(.body(Data(repeating: 7, count: 64 << 10)), for: id)
            default:
                delegate.received(.metrics(TransportMetrics()), for: id)
                delegate.received(.completed(nil), for: id)
            }
            box.withLock { $0.isBusy = false }
        }
    }

    /// Returns the number of the next event; nil if the task is suspended, or another thread delivers.
    private func next(_ state: inout State) -> Int? {
        guard !state.isSuspended, !state.isBusy, state.sent <= base.blocks else { return nil }
        state.isBusy = true
        state.sent += 1
        return state.sent
    }

    func cancel() {}
    func allow(upTo position: UInt64) {}
}
