/// The mutable state of a `CachingTask`.
struct CachingState {
    enum Phase { case waiting, looking, asking, playing, ended }

    enum PaceAction {
        case none, look, pump
        /// Passes the call on to the base's task.
        case pass(any TransportTask)
    }

    enum EndAction {
        case none, pump
        /// Cancels the base's task, which then ends this one.
        case cancel(any TransportTask)
        /// Delivers the end. The metrics are nil for a task that was never resumed.
        case complete(any TransportDelegate, TransportMetrics?)
    }

    enum Step {
        case wait
        case head(ResponseHead, CacheOutcome, any TransportDelegate)
        case read(any StoredBody, at: UInt64)
        case complete(TransportError?, any TransportDelegate, TransportMetrics)
    }

    /// The receiver of the events; nil after the end.
    private(set) var delegate: (any TransportDelegate)?
    var phase = Phase.waiting {
        didSet { if phase == .ended { (delegate, playback, exchange, inner) = (nil, nil, nil, nil) } }
    }
    var isCancelled = false
    /// Whether the task's user wants it to pause.
    private var isSuspended = true
    /// The position up to which the body may be delivered.
    var allowed: UInt64
    private var started = ContinuousClock.now

    /// The base's task, in the phase `asking`.
    private(set) var inner: (any TransportTask)?
    var exchange: CacheExchange?

    /// The stored response, in the phase `playing`.
    var playback: Playback?

    init(delegate: any TransportDelegate, allowed: UInt64) {
        self.delegate = delegate
        self.allowed = allowed
    }

    // MARK: Control

    mutating func resume() -> PaceAction {
        isSuspended = false
        if phase == .waiting {
            (phase, started) = (.looking, .now)
            return .look
        }
        return phase == .playing ? .pump : inner.map(PaceAction.pass) ?? .none
    }

    mutating func suspend() -> PaceAction {
        if phase != .waiting { isSuspended = true }
        return inner.map(PaceAction.pass) ?? .none
    }

    mutating func end(_ error: TransportError) -> EndAction {
        guard phase != .ended, let delegate else { return .none }
        if let inner { return .cancel(inner) }
        if phase == .playing {
            playback?.fail(error)
            return .pump
        }
        let metrics = phase == .waiting ? nil : metrics(of: nil)
        phase = .ended
        return .complete(delegate, metrics)
    }

    // MARK: Asking

    /// Returns false if the task has ended.
    mutating func ask(_ inner: any TransportTask, _ exchange: CacheExchange) -> Bool {
        guard phase == .looking else { return false }
        phase = .asking
        (self.inner, self.exchange) = (inner, exchange)
        return true
    }

    /// Whether the base's task has to be paused; nil if it is no longer the current one.
    func pace(of inner: any TransportTask) -> Bool? { self.inner === inner ? isSuspended : nil }

    var exchangeAndDelegate: (CacheExchange, any TransportDelegate)? {
        guard let exchange, let delegate else { return nil }
        return (exchange, delegate)
    }

    /// The receivers of a body that is passed on; nil if the body is not.
    var receiver: (any TransportDelegate, (any CacheWriter)?)? {
        guard let exchange, let delegate, exchange.verdict?.isPassed == true else { return nil }
        return (delegate, exchange.writer)
    }

    /// Returns the receiver of the metrics of the base's task. They are kept if a stored response may still follow.
    mutating func keep(_ metrics: TransportMetrics) -> (any TransportDelegate)? {
        if exchange?.verdict?.isPassed == true { return delegate }
        exchange?.metrics = metrics
        return nil
    }

    /// Leaves the base's task, which has completed. Returns whether the task goes on with a stored response or with
    /// another request; otherwise it has ended.
    mutating func leaveExchange(isToContinue: Bool) -> Bool {
        let continues = isToContinue && !isCancelled
        phase = continues ? .looking : .ended
        (inner, exchange) = (nil, nil)
        return continues
    }

    // MARK: Playing

    /// Returns false if the task has ended.
    mutating func play(_ playback: Playback) -> Bool {
        guard phase == .looking else { return false }
        phase = .playing
        self.playback = playback
        return true
    }

    mutating func nextStep() -> Step {
        guard phase == .playing, let playback, !playback.isBusy, let delegate else { return .wait }
        let isAtEnd = playback.error != nil || playback.head == nil && playback.position == playback.end
        if isAtEnd, playback.error != nil || !isSuspended {
            let metrics = metrics(of: playback)
            phase = .ended
            return .complete(playback.error, delegate, metrics)
        }
        if isSuspended { return .wait }
        if let head = playback.head {
            self.playback?.head = nil
            self.playback?.isBusy = true
            return .head(head, playback.outcome, delegate)
        }
        guard let body = playback.body, playback.position - playback.start < allowed else { return .wait }
        self.playback?.isBusy = true
        return .read(body, at: playback.position)
    }

    /// Returns the receiver of the bytes, and the bytes that are within the response.
    mutating func take(_ bytes: Data) -> (any TransportDelegate, Data)? {
        guard let playback, playback.error == nil, let delegate else { return nil }
        let left = playback.end - playback.position
        let bytes = UInt64(bytes.count) > left ? bytes.prefix(Int(left)) : bytes
        self.playback?.position += UInt64(bytes.count)
        return (delegate, bytes)
    }

    private func metrics(of playback: Playback?) -> TransportMetrics {
        if let metrics = playback?.metrics { return metrics }
        var metrics = TransportMetrics()
        metrics.total = .now - started
        metrics.responseBodyBytes = playback.map { $0.position - $0.start } ?? 0
        return metrics
    }
}

/// A request to the base, and what the cache knows about its response.
struct CacheExchange {
    enum Verdict {
        /// The response is passed on.
        case passed
        /// The 304 with this head confirms the stored response.
        case confirmed(ResponseHead)
        /// The 304 is not about the stored response.
        case refuted
        /// The stored response is served instead of a failure with this status.
        case replaced(Int)

        var isPassed: Bool {
            if case .passed = self { true } else { false }
        }
    }

    /// The stored response that is being validated.
    let stored: StoredResponse?
    let mayStore: Bool
    let isBypass: Bool
    /// The time of the request, in seconds since 1970.
    let requested: Double
    /// The mark of the cache at that time.
    let mark: UInt64
    var verdict: Verdict?
    var writer: (any CacheWriter)?
    var metrics: TransportMetrics?
}

/// A stored response that is being delivered.
struct Playback {
    /// The head; nil after it was delivered.
    var head: ResponseHead?
    let body: (any StoredBody)?
    let outcome: CacheOutcome
    /// The metrics of the validation; nil if none took place.
    let metrics: TransportMetrics?
    /// The positions in the stored body at which the delivered body starts and ends.
    let start: UInt64
    var end: UInt64
    var position: UInt64
    /// Whether a thread is delivering.
    var isBusy = false
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
        fields.append(HeaderField(name: "Content-Length", value: "\(bytes.count)"))
        let place = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(stored.body.count)"
        fields.append(HeaderField(name: "Content-Range", value: place))
        let part = ResponseHead(status: 206, version: head.version, fields: fields)
        self.init(head: part, body: stored.body, outcome: outcome, range: bytes)
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

/// The rules about caches that a request itself states.
enum CacheWishes {
    private static let conditions = ["If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"]

    static func control(of fields: [HeaderField]) -> CacheControl {
        var values: [String] = []
        var pragma = false
        for field in fields {
            switch field.name.utf8.count {
            case 13 where HTTPHeaders.areEqual(field.name, "Cache-Control"): values.append(field.value)
            case 6 where HTTPHeaders.areEqual(field.name, "Pragma"):
                pragma = pragma || field.value.lowercased().contains("no-cache")
            default: break
            }
        }
        var control = values.isEmpty ? CacheControl() : CacheControl(values)
        if values.isEmpty, pragma { control.noCache = true }
        return control
    }

    /// Returns the directive with which caches on the way have to ask the server too; nil if they need not, or if the
    /// request has directives of its own.
    static func directive(
        for request: TransportRequest, _ instructions: CacheInstructions, isInBackground: Bool
    ) -> HeaderField? {
        let isReload = instructions.policy == .reload || instructions.isRepeated
        guard isReload || instructions.policy == .revalidate && !isInBackground,
            !request.fields.contains(where: { HTTPHeaders.areEqual($0.name, "Cache-Control") })
        else { return nil }
        return HeaderField(name: "Cache-Control", value: isReload ? "no-cache" : "max-age=0")
    }

    /// Returns whether the cache takes part in the request at all.
    static func usesCache(
        _ request: TransportRequest, _ instructions: CacheInstructions, _ wishes: CacheControl
    ) -> Bool {
        let isEmpty: Bool
        if case .none = request.body { isEmpty = true } else { isEmpty = false }
        return (request.method == "GET" || request.method == "HEAD") && isEmpty && instructions.policy != .bypass
            && !wishes.noStore && !hasConditions(request.fields)
    }

    static func mayStore(
        _ request: TransportRequest, _ instructions: CacheInstructions, _ wishes: CacheControl
    ) -> Bool {
        usesCache(request, instructions, wishes)
            && !request.fields.contains { HTTPHeaders.areEqual($0.name, "Range") }
    }

    private static func hasConditions(_ fields: [HeaderField]) -> Bool {
        fields.contains { field in
            field.name.utf8.first.map { $0 | 0x20 } == UInt8(ascii: "i")
                && conditions.contains { HTTPHeaders.areEqual($0, field.name) }
        }
    }
}

extension HeaderField {
    fileprivate var isRange: Bool { name.utf8.count == 5 && HTTPHeaders.areEqual(name, "Range") }
}

extension TransportRequest {
    /// The value of `Range`; nil if the request has none. It has a meaning only for a GET (RFC 9110, section 14.2).
    var range: String? {
        guard method == "GET", let first = fields.firstIndex(where: \.isRange) else { return nil }
        return fields[first...].filter(\.isRange).map(\.value).joined(separator: ",")
    }
}
