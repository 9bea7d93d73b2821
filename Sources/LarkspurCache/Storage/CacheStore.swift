/// A response as it is in the store.
package struct StoredResponse: Sendable {
    /// The size of a buffer: the maximum number of bytes of a body that are read at once.
    package static let buffer = 144 << 10

    package let head: StoredHead
    package let body: any StoredBody

    package init(head: StoredHead, body: any StoredBody) {
        self.head = head
        self.body = body
    }
}

/// The body of a stored response.
package protocol StoredBody: Sendable {
    var count: UInt64 { get }
    /// All bytes, if they are in memory and not more than one buffer.
    var whole: Data? { get }

    /// Reads bytes from this position on: at least one, and at most one buffer. The position is below `count`.
    ///
    /// Calls back once, before or after this function returns. An error means that the stored body is damaged.
    func read(at position: UInt64, _ done: @escaping @Sendable (Result<Data, TransportError>) -> Void)
}

extension StoredBody {
    package var whole: Data? { nil }
}

/// A store of responses. All functions return quickly, on any thread.
package protocol CacheStore: AnyObject, Sendable {
    /// Finds the newest response that a request with these fields selects. Calls back once, before or after this
    /// function returns.
    func find(_ key: CacheKey, for fields: [HTTPHeader], _ done: @escaping @Sendable (StoredResponse?) -> Void)

    /// Begins to store a response, in place of the one with the same key and selection. Returns nil if the response
    /// cannot be stored, for instance because it is too large.
    ///
    /// - Parameter length: The length of the body, if the response declares it.
    func begin(_ head: StoredHead, length: UInt64?) -> (any CacheWriter)?

    /// Replaces the head of a stored response after a validation. Does nothing if the response has been replaced or
    /// removed.
    func update(_ stored: StoredResponse, to head: StoredHead)

    /// Removes a response that turned out to be invalid.
    func remove(_ stored: StoredResponse)

    /// Removes the responses of a URL in all partitions.
    func remove(url: String)

    func removeAll()

    /// Lists the entries.
    func list() -> any CacheListing

    /// Calls the closure with each entry, and removes the entries for which it returns false.
    func filter(_ isKept: @escaping @Sendable (StoredHead, _ size: UInt64) -> Bool) async throws

    /// The number of entries and their size in bytes, the number of entries that were removed to keep the limit.
    var usage: (entries: Int, bytes: UInt64, evicted: Int) { get }

    /// Returns the reason why responses cannot be stored or found, for instance a full disk. Each failure is returned
    /// once.
    func takeProblem() -> String?

    /// Waits for the work that has begun.
    func finish() async
}

extension CacheStore {
    package func takeProblem() -> String? { nil }
    package func finish() async {}
}

/// A pass over the entries of a store.
package protocol CacheListing: Sendable {
    /// Returns the next entries with their sizes, which may be none; nil after the last ones. Only these are read.
    func next() async -> [(head: StoredHead, size: UInt64)]?
}

/// A response that is being stored. The bytes come in order, from one thread at a time.
package protocol CacheWriter: Sendable {
    /// Adds bytes to the body. If they cannot be stored, the response is dropped.
    func append(_ bytes: Data)

    /// Stores the response. A head or a body that is given replaces the received one.
    func commit(head: StoredHead?, body: Data?)

    /// Discards the response.
    func drop()

    /// Whether the response can still be stored: it was neither dropped nor committed.
    var isOpen: Bool { get }

    /// Returns whether many bytes wait to be written, so that the exchange should pause.
    ///
    /// If it returns true, the closure is called once, on any thread: when the bytes are written, or when the response
    /// is dropped.
    func isBehind(_ caughtUp: @escaping @Sendable () -> Void) -> Bool

    /// Reads bytes of the body that is being stored, from this position on: at least one, and at most one buffer. The
    /// position is below the number of appended bytes.
    ///
    /// Calls back once, before or after this function returns. An error means that the bytes are no longer there. The
    /// bytes of a response that was committed stay readable.
    func read(at position: UInt64, _ done: @escaping @Sendable (Result<Data, TransportError>) -> Void)

    /// Whether the response cannot be stored any more, because writing has failed, and its bytes are kept for readers.
    /// The exchange then releases them, and is no faster than its slowest reader.
    var servesReadersOnly: Bool { get }

    /// The position of the first byte that can be read while `servesReadersOnly` is true.
    var firstKept: UInt64 { get }

    /// Releases bytes while `servesReadersOnly` is true.
    ///
    /// - Parameters:
    ///   - position: The position of the slowest reader.
    ///   - limit: The position before which bytes are released too if they take too much memory.
    func release(before position: UInt64, orBefore limit: UInt64)
}

extension CacheWriter {
    package func isBehind(_ caughtUp: @escaping @Sendable () -> Void) -> Bool { false }
    package var servesReadersOnly: Bool { false }
    package var firstKept: UInt64 { 0 }
    package func release(before position: UInt64, orBefore limit: UInt64) {}
}
