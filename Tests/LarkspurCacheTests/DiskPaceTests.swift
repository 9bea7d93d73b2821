import Foundation
import TestSupport
import Testing

@testable import LarkspurCache

@Suite("The pace of the store on disk", .limited)
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

    #if os(Linux)
        @Test("If the disk fails in the middle, slow readers get all bytes, and little of the response is in memory")
        func failingForSlowReaders() async throws {
            let (stage, calls) = (DiskStage(), Protected(0))
            let base = FastBase(blocks: 256) { [stage] in
                if calls.withLock({ count(&$0) }) == 100 { stage.breakOpenFiles() }
                return stage.store.box.withLock { $0.queued }
            }
            let transport = CachingTransport(base, cache: HTTPCache(stage.store))
            let counts = try await received(from: transport, slow: 3) { task, count in
                Task { task.allow(upTo: count + 1) }
            }
            #expect(counts == Array(repeating: UInt64(256 * Self.block), count: 4))
            #expect(base.box.withLock { $0.mostQueued } <= UInt64(40 * Self.block))
            #expect(stage.store.takeProblem() != nil)
            #expect(await stage.find("http://h/large") == nil)
            await stage.store.settle()
            #expect(stage.files.isEmpty && stage.store.box.withLock { $0.reserved == 0 })
        }

        @Test("If the disk fails, no reader waits for a suspended reader", arguments: [2, 64])
        func failingForSuspendedReaders(queueLimit: UInt64) async throws {
            let (stage, calls) = (DiskStage { $0.queueLimit = queueLimit << 20 }, Protected(0))
            let base = FastBase(blocks: 256) { [stage] in
                if calls.withLock({ count(&$0) }) == 100 { stage.breakOpenFiles() }
                return 0
            }
            let transport = CachingTransport(base, cache: HTTPCache(stage.store))
            let suspended = Protected<(task: (any TransportTask)?, isOver: Bool)>((nil, false))
            let first = Protected<UInt64?>(nil)
            let goOn: @Sendable (any TransportTask) -> Void = { task in
                task.allow(upTo: .max)
                task.resume()
            }
            let counts = try await received(from: transport, slow: 1) { task, _ in
                let isOver = suspended.withLock { $0.isOver }
                if isOver { return }
                task.suspend()
                // The first reader may have ended meanwhile.
                let goesOn = suspended.withLock { state in
                    if !state.isOver { state.task = task }
                    return state.isOver
                }
                if goesOn { goOn(task) }
            } firstDone: { count in
                first.withLock { $0 = count }
                let task = suspended.withLock { state in
                    state.isOver = true
                    return state.task.take()
                }
                if let task { goOn(task) }
            }
            #expect(first.withLock { $0 } == UInt64(256 * Self.block))
            #expect(
                (counts.last == UInt64(256 * Self.block)) == (queueLimit == 64), "it fails if its bytes are too many")
        }
    #endif

    /// Counts a call.
    private func count(_ calls: inout Int) -> Int {
        calls += 1
        return calls
    }

    /// Requests the response several times at once. Returns the numbers of bytes that the requests have received, that
    /// of the first one first.
    ///
    /// - Parameter received: Called with the task of a slow reader after each part of its body.
    private func received(
        from transport: CachingTransport, slow: Int,
        _ received: @escaping @Sendable (any TransportTask, UInt64) -> Void,
        firstDone: @escaping @Sendable (UInt64) -> Void = { _ in }
    ) async throws -> [UInt64] {
        var request = TransportRequest(method: "GET", url: try RequestURL("http://h/large"), fields: [])
        request.initialAllowance = 1
        let slowRequest = request
        request.initialAllowance = .max
        let firstRequest = request
        return await withTaskGroup(of: (Int, UInt64).self) { group in
            let begun = AsyncStream<Void>.makeStream()
            let tasks = Protected<[any TransportTask]>([])
            for number in 1...slow {
                group.addTask {
                    let task = Protected<(any TransportTask)?>(nil)
                    let count = await answer { done in
                        let reader = ByteCounter(
                            done,
                            body: { count in
                                if let task = task.withLock({ $0 }) { received(task, count) }
                            })
                        let new = transport.task(
                            for: slowRequest, id: TransportTaskID(UInt64(number) + 1), delegate: reader)
                        task.withLock { $0 = new }
                        tasks.withLock { $0.append(new) }
                        begun.continuation.yield()
                    }
                    return (number, count)
                }
            }
            var made = 0
            for await _ in begun.stream {
                made += 1
                if made == slow { break }
            }
            group.addTask {
                let count = await answer { done in
                    // The slow readers join when the response begins.
                    let reader = ByteCounter(done, head: { for task in tasks.withLock({ $0 }) { task.resume() } })
                    transport.task(for: firstRequest, id: TransportTaskID(1), delegate: reader).resume()
                }
                firstDone(count)
                return (0, count)
            }
            var counts = [UInt64](repeating: 0, count: slow + 1)
            for await (number, count) in group { counts[number] = count }
            return counts
        }
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
    private let head: @Sendable () -> Void
    private let body: @Sendable (UInt64) -> Void

    init(
        _ done: @escaping @Sendable (UInt64) -> Void, head: @escaping @Sendable () -> Void = {},
        body: @escaping @Sendable (UInt64) -> Void = { _ in }
    ) { (self.done, self.head, self.body) = (done, head, body) }

    func received(_ event: TransportEvent, for task: TransportTaskID) {
        switch event {
        case .head: head()
        case .body(let bytes):
            let isRight = bytes.allSatisfy { $0 == 7 }
            body(
                count.withLock { count in
                    count += isRight ? UInt64(bytes.count) : 0
                    return count
                })
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
    var partition: TransportPartition { .common }

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
        // As an engine does, it returns before anything is delivered.
        FileThread.assigned(to: "http://h/large").perform { [self] in deliver() }
    }

    private func deliver() {
        while let number = box.withLock({ next(&$0) }) {
            let queued = base.queued()
            base.box.withLock { $0.mostQueued = max($0.mostQueued, queued) }
            switch number {
            case 0:
                let fields = [
                    HTTPHeader(name: "Cache-Control", value: "max-age=600"),
                    HTTPHeader(name: "Transfer-Encoding", value: "chunked"),
                ]
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

#if os(Linux)
    extension DiskStage {
        /// Lets writing to the open files of the cache fail, as on a full disk. They can still be read.
        fileprivate func breakOpenFiles() {
            for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
                guard let descriptor = Int32(name),
                    let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)"),
                    path.hasPrefix(root + "/"), path.contains("/new-")
                else { continue }
                let reading = open(path, O_RDONLY)
                dup2(reading, descriptor)
                close(reading)
            }
        }
    }
#endif
