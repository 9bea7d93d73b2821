import LarkspurCache
import Testing

/// A cache around a scripted transport, and readers that check their tasks.
final class SharingStage: Sendable {
    let base = ScriptedTransport()
    let time = Protected(1_767_225_600.0)
    let cache: HTTPCache
    let transport: CachingTransport
    let store: MemoryStore
    private let number = Protected<UInt64>(0)
    private let made = Protected<[WeakReader]>([])

    private struct WeakReader: Sendable {
        weak let reader: CheckedReader?
    }

    /// - Parameter wrap: Returns the store of the cache, which passes calls on to the store in memory.
    init(
        limit: UInt64 = 1 << 20, entry: UInt64 = 1 << 20, _ options: HTTPCache.Options = HTTPCache.Options(),
        wrap: (MemoryStore) -> any CacheStore = { $0 }
    ) {
        let time = time
        store = MemoryStore(limit: limit, maximumEntrySize: entry)
        cache = HTTPCache(wrap(store), options: options, now: { time.withLock { $0 } })
        transport = CachingTransport(base, cache: cache)
    }

    /// Ends all tasks. A task that has not ended is held by its delegate.
    deinit {
        for made in made.withLock({ $0 }) { made.reader?.cancel() }
        base.invalidate()
    }

    /// Makes a reader with a task that waits for `resume()`.
    func reader(
        _ fields: [(String, String)] = [], method: String = "GET", allowed: UInt64 = .max,
        instructions: CacheInstructions = CacheInstructions(),
        reply: @escaping @Sendable (TransportQuestion) -> Void = { _ in },
        change: (inout TransportRequest) -> Void = { _ in },
        hook: @escaping @Sendable (CheckedReader) -> Void = { _ in }
    ) throws -> CheckedReader {
        var request = TransportRequest(
            method: method, url: try RequestURL("http://h/"),
            fields: fields.map { HTTPHeader(name: $0.0, value: $0.1) }, initialAllowance: allowed)
        request.cache = instructions
        change(&request)
        let reader = CheckedReader(allowed: allowed, reply: reply, hook: hook)
        let id = number.withLock { number in
            number += 1
            return number
        }
        made.withLock { $0.append(WeakReader(reader: reader)) }
        reader.control(transport.task(for: request, id: TransportTaskID(id), delegate: reader))
        return reader
    }

    /// Makes readers whose tasks are started.
    func readers(_ count: Int, _ fields: [(String, String)] = []) throws -> [CheckedReader] {
        try (0..<count).map { _ in
            let reader = try reader(fields)
            reader.resume()
            return reader
        }
    }

    /// The task of the base with this number.
    func task(_ index: Int = 0) throws -> ScriptedTask { try #require(base.tasks.dropFirst(index).first) }
}

extension CheckedReader {
    /// Whether the task has ended with this error and this number of bytes, and has kept the contract.
    func ended(_ error: TransportError.Code? = nil, _ count: Int) -> Bool {
        let record = record
        return record.faults.isEmpty && record.ends == 1 && record.error?.code == error
            && record.body == ScriptedTask.bytes(0, count)
    }
}

let fresh = [("Cache-Control", "max-age=60")]
