/// The place in which a cache looks for a response: the URL, and the party to which the response belongs.
package struct CacheKey: Hashable, Sendable {
    /// The URL without its fragment.
    package let url: String
    /// Everything by which responses are kept apart: the credentials of the request, the transport's client identity
    /// and the party that judges the server's certificates. A response is never served to another party.
    package let partition: String

    package init(url: String, partition: String) {
        self.url = url
        self.partition = partition
    }

    init(_ request: TransportRequest, _ instructions: CacheInstructions, identity: String) {
        url = Self.url(of: request.url)
        var parts: [String] = []
        for field in request.fields where Credentials.contain(field) {
            parts += [field.name.lowercased(), field.value]
        }
        if parts.isEmpty, identity.isEmpty, instructions.trust.isEmpty {
            partition = ""
        } else {
            // The lengths keep apart what the texts alone could mix up.
            partition = (parts + [identity, instructions.trust]).map { "\($0.utf8.count):\($0)" }.joined()
        }
    }

    static func url(of url: RequestURL) -> String {
        url.fragment == nil ? url.text : String(url.originText + url.target)
    }
}

/// The request fields that tell one user from another.
///
/// These are all fields whose values logs hide, such as `Authorization` and `X-API-Key`. Servers often forget to name
/// them in `Vary`. Cookies are left out: most responses do not depend on them, so ``Selection`` has a rule for them.
private enum Credentials {
    /// Frequent fields, which need no closer look.
    private static let harmless: Set<String> = [
        "Accept", "Accept-Encoding", "Accept-Language", "User-Agent", "Cookie", "Content-Type", "Cache-Control",
        "If-None-Match", "Range", "traceparent",
    ]

    static func contain(_ field: HeaderField) -> Bool {
        if harmless.contains(field.name) { return false }
        return (field.isSecret || Redaction.standard.hides(field.name)) && !HTTPHeaders.areEqual(field.name, "Cookie")
    }
}

/// A response as it is in the store.
package struct StoredResponse: Sendable {
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
    func find(_ key: CacheKey, for fields: [HeaderField], _ done: @escaping @Sendable (StoredResponse?) -> Void)

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

    /// Calls the closure with each entry, and removes the entries for which it returns false.
    func filter(_ isKept: @escaping @Sendable (StoredHead, _ size: UInt64) -> Bool) async throws

    /// The number of entries and their size in bytes, the number of entries that were removed to keep the limit.
    var usage: (entries: Int, bytes: UInt64, evicted: Int) { get }

    /// Returns the reason why responses cannot be stored or found, for instance a full disk. Each failure is returned
    /// once.
    func takeProblem() -> String?
}

extension CacheStore {
    package func takeProblem() -> String? { nil }
}

/// A response that is being stored. The bytes come in order, from one thread at a time.
package protocol CacheWriter: CacheDraft {
    /// Adds bytes to the body. If they cannot be stored, the response is dropped.
    func append(_ bytes: Data)

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
}

extension CacheWriter {
    package func isBehind(_ caughtUp: @escaping @Sendable () -> Void) -> Bool { false }
}
