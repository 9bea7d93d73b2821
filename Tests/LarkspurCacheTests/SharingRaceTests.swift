import TestSupport
import Testing

@testable import LarkspurCache

/// Orders of calls that threads reach seldom, played one after the other.
@Suite("Equal requests: rare orders", .limited)
struct SharingRaceTests {
    @Test("A reader that joins while the response of the only reader is being stored gets all of it, or is ended")
    func joinsDuringCommit() throws {
        let commits = Protected<(@Sendable () -> Void)?>(nil)
        let stage = SharingStage(wrap: { WatchedStore($0) { commits.withLock { $0.take() }?() } })
        let first = try stage.readers(1)[0]
        let (second, tight, waiting) = try (stage.reader(), stage.reader(allowed: 0), stage.reader(allowed: 0))
        let task = try stage.task()
        task.head(200, fresh)
        task.body(10)
        commits.withLock {
            $0 = {
                for reader in [second, tight, waiting] { reader.resume() }
            }
        }
        task.end()
        #expect(first.ended(nil, 10) && second.ended(nil, 10) && stage.base.tasks.count == 1)
        tight.allow(upTo: .max)
        #expect(tight.ended(nil, 10))
        stage.transport.invalidate()
        #expect(waiting.ended(.invalidated, 0))
    }

    @Test("A request that looked before an equal one has ended, and asks after that, gets its response")
    func asksAfterEnd() throws {
        let finds = HeldFinds()
        let stage = SharingStage(wrap: { WatchedStore($0, finds: finds) {} })
        let first = try stage.readers(1)[0]
        finds.isHolding = true
        let late = try stage.readers(2)
        finds.isHolding = false
        let task = try stage.task()
        task.head(200, fresh)
        task.body(10)
        task.end()
        finds.release()
        #expect(first.ended(nil, 10) && stage.base.tasks.count == 1)
        for reader in late { #expect(reader.ended(nil, 10)) }
    }

    @Test("A request that finds an exchange which has just ended looks for its response, and is sent only without one")
    func joinsAfterEnd() throws {
        for isStored in [true, false] {
            let finds = HeldFinds()
            let stage = SharingStage(wrap: { WatchedStore($0, finds: finds) {} })
            finds.isHolding = true
            let late = try stage.readers(1)[0]
            finds.isHolding = false
            if isStored {
                let first = try stage.readers(1)[0]
                let task = try stage.task()
                task.head(200, fresh)
                task.body(10)
                task.end()
                #expect(first.ended(nil, 10))
            }
            // The exchange is closed, and is still listed.
            let owner = CachingTask(
                TransportRequest(url: try RequestURL("http://h/")), id: TransportTaskID(99), delegate: CheckedReader(),
                transport: stage.transport)
            let plan = CachePlan(stored: nil, mayStore: true, isBypass: false, requested: 0, mark: stage.cache.mark)
            let exchange = SharedExchange(owner: owner, plan: plan, isListed: false)
            guard case .listed = stage.transport.list(exchange, since: nil) else {
                Issue.record("another exchange is listed")
                return
            }
            exchange.received(.completed(nil), for: TransportTaskID(0))
            finds.release()
            #expect(stage.base.tasks.count == 1)
            if !isStored {
                let task = try stage.task()
                task.head(200, fresh)
                task.body(10)
                task.end()
            }
            #expect(late.ended(nil, 10))
        }
    }

    @Test("Requests for other URLs, and responses that are not stored, cause no second look")
    func looksOnce() throws {
        let finds = HeldFinds()
        let stage = SharingStage(wrap: { WatchedStore($0, finds: finds) {} })
        _ = try stage.readers(1)
        finds.isHolding = true
        let url = try RequestURL("http://h/other")
        let other = try stage.reader(change: { $0.url = url })
        let equal = try stage.reader()
        for reader in [other, equal] { reader.resume() }
        finds.isHolding = false
        let task = try stage.task()
        task.head(200, [("Cache-Control", "no-store")])
        task.end()
        #expect(finds.count == 3)
        finds.release()
        #expect(finds.count == 3 && stage.base.tasks.count == 3)
    }

    @Test("A task that was kept and then sent a request of its own is released at its end")
    func keptAndAlone() throws {
        weak var released: CachingTransport?
        try {
            let stage = SharingStage(limit: 4_096, entry: 2_048)
            released = stage.transport
            let (fast, suspended) = try (stage.readers(1)[0], stage.readers(1)[0])
            suspended.suspend()
            let task = try stage.task()
            task.head(200, fresh)
            for _ in 0..<40 { task.body(100) }
            task.end()
            suspended.resume()
            let own = try stage.task(1)
            own.head(200, fresh)
            own.end()
            #expect(fast.ended(nil, 4_000) && suspended.ended(nil, 0))
        }()
        #expect(released == nil)
    }

    @Test("A late call of a reader that has left changes no other reader")
    func lateCalls() throws {
        let stage = SharingStage()
        let url = try RequestURL("http://h/")
        let tasks = (0..<3).map { number in
            CachingTask(
                TransportRequest(url: url), id: TransportTaskID(UInt64(number)), delegate: CheckedReader(),
                transport: stage.transport)
        }
        var seats = ExchangeSeats()
        let first = seats.add(tasks[0], ExchangePace(allowed: 1))
        let second = seats.add(tasks[1], ExchangePace(isSuspended: true, allowed: 1))
        _ = seats.remove(first)
        let third = seats.add(tasks[2], ExchangePace(isSuspended: true, allowed: 1))
        #expect(Set([first, second, third]).count == 3 && seats.paces[first] == nil && seats.paces[third] != nil)
        seats.paces.set(ExchangePace(allowed: 9, version: 5), of: first)
        #expect(seats.paces.wantPause && seats.paces.count == 2)
        seats.paces.start(tasks[0], granted: 0)
        #expect(seats.paces.nextGrant()?.1 == 1)
        _ = seats.remove(first)
        #expect(seats.paces.count == 2 && seats.readers.map(\.id) == tasks.dropFirst().map(\.id))
    }
}

/// Lookups whose results are reported late.
private final class HeldFinds: Sendable {
    private struct State {
        var isHolding = false
        var count = 0
        var held: [@Sendable () -> Void] = []
    }

    private let box = Protected(State())

    var isHolding: Bool {
        get { box.withLock { $0.isHolding } }
        set { box.withLock { $0.isHolding = newValue } }
    }
    /// The number of lookups.
    var count: Int { box.withLock { $0.count } }

    func report(_ result: @escaping @Sendable () -> Void) {
        let isHeld = box.withLock { state in
            state.count += 1
            if state.isHolding { state.held.append(result) }
            return state.isHolding
        }
        if !isHeld { result() }
    }

    /// Reports the results of the held lookups.
    func release() {
        let held = box.withLock { state in
            defer { state.held = [] }
            return state.held
        }
        for result in held { result() }
    }
}

/// A store that calls a closure before it commits a response.
private final class WatchedStore: CacheStore {
    private let base: MemoryStore
    private let commits: @Sendable () -> Void

    private let finds: HeldFinds?

    init(_ base: MemoryStore, finds: HeldFinds? = nil, _ commits: @escaping @Sendable () -> Void) {
        (self.base, self.finds, self.commits) = (base, finds, commits)
    }

    func find(
        _ key: CacheKey, for fields: [HTTPHeader], _ done: @escaping @Sendable (StoredResponse?) -> Void
    ) {
        guard let finds else { return base.find(key, for: fields, done) }
        base.find(key, for: fields) { stored in finds.report { done(stored) } }
    }

    func begin(_ head: StoredHead, length: UInt64?) -> (any CacheWriter)? {
        base.begin(head, length: length).map { Writer(base: $0, commits: commits) }
    }

    func update(_ stored: StoredResponse, to head: StoredHead) { base.update(stored, to: head) }
    func remove(_ stored: StoredResponse) { base.remove(stored) }
    func remove(url: String) { base.remove(url: url) }
    func removeAll() { base.removeAll() }
    func list() -> any CacheListing { base.list() }
    func filter(_ isKept: @escaping @Sendable (StoredHead, UInt64) -> Bool) async throws {
        try await base.filter(isKept)
    }
    var usage: (entries: Int, bytes: UInt64, evicted: Int) { base.usage }

    private struct Writer: CacheWriter {
        let base: any CacheWriter
        let commits: @Sendable () -> Void

        func append(_ bytes: Data) { base.append(bytes) }
        func read(at position: UInt64, _ done: @escaping @Sendable (Result<Data, TransportError>) -> Void) {
            base.read(at: position, done)
        }
        var isOpen: Bool { base.isOpen }
        func commit(head: StoredHead?, body: Data?) {
            commits()
            base.commit(head: head, body: body)
        }
        func drop() { base.drop() }
    }
}
