/// A response that is being delivered: a stored one, or that of an exchange.
struct Playback {
    /// The head; nil after it was delivered.
    var head: ResponseHead?
    let body: (any StoredBody)?
    let outcome: CacheOutcome
    /// The metrics of the exchange; nil if this task sent no request.
    var metrics: TransportMetrics?
    /// The positions in the stored body at which the delivered body starts and ends.
    let start: UInt64
    var end: UInt64
    var position: UInt64
    /// Whether more bytes may follow those before `end`.
    private var isOpen = false
    /// Whether the body is that of an exchange, whose bytes may no longer be there.
    private var isShared = false
    /// Whether the task ends with the exchange even while it is suspended, because it has been the only reader.
    private var isDirect = false
    /// The first bytes, if they were read before the head was delivered.
    var prefetched: Data?
    /// The error with which the task ends.
    var error: TransportError?

    init(
        head: ResponseHead, body: (any StoredBody)?, outcome: CacheOutcome, metrics: TransportMetrics? = nil,
        range: Range<UInt64>? = nil
    ) {
        (self.head, self.body, self.outcome, self.metrics) = (head, body, outcome, metrics)
        start = range?.lowerBound ?? 0
        end = range?.upperBound ?? body?.count ?? 0
        position = start
    }

    /// Creates the playback of the rest of an exchange, whose first bytes were delivered.
    init(passed position: UInt64, of exchange: SharedExchange?) {
        (head, body, outcome, metrics) = (nil, exchange, .miss, nil)
        (start, end, self.position, isOpen, isShared) = (0, position, position, true, true)
    }

    /// Creates the playback of a stored response, or of the part of it that the request asks for. Returns nil if the
    /// part cannot be taken from the stored response.
    init?(
        _ stored: StoredResponse, age: Double, _ outcome: CacheOutcome, range: String?, _ request: TransportRequest
    ) {
        let head = stored.head.served(age: age)
        guard let range else {
            self.init(head: head, body: stored.body, outcome: outcome)
            return
        }
        guard head.status == 200, !head.bodyIsDecoded, let bytes = Self.range(range, of: stored.body.count),
            request.fields.allSatisfy({ !HTTPHeaders.areEqual($0.name, "If-Range") || stored.head.isStrongly($0.value) }
            )
        else { return nil }
        var fields = head.fields.filter { field in
            !["Content-Length", "Content-Range"].contains { HTTPHeaders.areEqual($0, field.name) }
        }
        fields.append(HTTPHeader(name: "Content-Length", value: "\(bytes.count)"))
        let place = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(stored.body.count)"
        fields.append(HTTPHeader(name: "Content-Range", value: place))
        let part = ResponseHead(status: 206, version: head.version, fields: fields)
        self.init(head: part, body: stored.body, outcome: outcome, range: bytes)
    }

    // MARK: Following an exchange

    /// Makes this the playback of an exchange that has received this many bytes.
    mutating func follow(to end: UInt64) { (isOpen, isShared, self.end) = (true, true, end) }

    /// Whether everything before this position was delivered.
    func isAt(_ position: UInt64) -> Bool {
        head == nil && prefetched == nil && error == nil && self.position == position
    }

    /// The number of bytes that were delivered.
    var delivered: UInt64 { position - start }

    /// Whether there is something to deliver.
    var hasMore: Bool { error != nil || !isOpen || position < end }

    /// Whether another response may still take the place of this one.
    var isReplaceable: Bool { isShared && head != nil && error == nil }

    mutating func finish(_ ending: ExchangeEnding, isOwner: Bool) {
        (end, isOpen, isDirect) = (ending.received, false, ending.isDirect)
        if isOwner { metrics = ending.metrics }
        if let error = ending.error { fail(error) }
    }

    // MARK: Delivering

    enum Next {
        case wait
        case head(ResponseHead, CacheOutcome)
        case body(Data)
        case read(any StoredBody, at: UInt64)
        case complete(TransportError?)
    }

    /// Returns what is delivered next with this pace.
    mutating func next(_ pace: ExchangePace) -> Next {
        let isComplete = !isOpen && head == nil && position == end
        if error != nil || isComplete && (!pace.isSuspended || isDirect) { return .complete(error) }
        if pace.isSuspended { return .wait }
        if let head {
            // If the bytes that came before are no longer there, the task can still send a request of its own.
            if isShared, let body, prefetched == nil, position < end { return .read(body, at: position) }
            self.head = nil
            return .head(head, outcome)
        }
        guard position < end, delivered < pace.allowed else { return .wait }
        if let bytes = prefetched.take() { return .body(bytes) }
        return body.map { .read($0, at: position) } ?? .wait
    }

    /// Notes bytes that were read. Returns those of them that are delivered now.
    mutating func take(_ bytes: Data) -> Data? {
        guard error == nil else { return nil }
        if head != nil {
            prefetched = bytes
            return nil
        }
        let left = end - position
        let bytes = UInt64(bytes.count) > left ? bytes.prefix(Int(left)) : bytes
        position += UInt64(bytes.count)
        return bytes
    }

    /// Notes the error with which the task ends. The first error counts.
    mutating func fail(_ error: TransportError) {
        if self.error == nil { self.error = error }
    }

    /// Returns the bytes that a `Range` field with one range means; nil for any other field.
    static func range(_ field: String, of count: UInt64) -> Range<UInt64>? {
        guard field.lowercased().hasPrefix("bytes=") else { return nil }
        let parts = field.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, count > 0 else { return nil }
        let (first, last) = (UInt64(digits: parts[0].utf8.trimmed), UInt64(digits: parts[1].utf8.trimmed))
        switch (first, last) {
        case (let first?, let last?) where first <= last && first < count:
            return first..<min(last, count - 1) + 1
        case (let first?, nil) where parts[1].utf8.trimmed.isEmpty && first < count: return first..<count
        case (nil, let suffix?) where parts[0].utf8.trimmed.isEmpty && suffix > 0:
            return count - min(suffix, count)..<count
        default: return nil
        }
    }
}

extension StoredHead {
    /// Returns whether an `If-Range` field names exactly this response.
    func isStrongly(_ validator: String) -> Bool {
        validator.hasPrefix("\"") && head["ETag"] == validator
    }
}
