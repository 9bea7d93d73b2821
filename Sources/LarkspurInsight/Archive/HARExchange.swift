import Larkspur

/// The events of a request up to now, as far as an archive needs them.
///
/// This is a class, so that an event changes it in place. The lock of ``HARCollector`` guards it.
final class HARExchange {
    struct Hop: Sendable {
        let request: OutgoingRequest
        let start: Date
        var head: ResponseHead?
        var metrics: TransportMetrics?
        var cache: CacheOutcome?
        var trailers: HTTPHeaders?
        var sentBody = HARBody()
        var receivedBody = HARBody()
        /// The number of received body bytes.
        var received = 0
        var messages: [Message] = []
    }

    /// A message of a WebSocket.
    struct Message: Sendable {
        let isSent: Bool
        let time: Date
        let size: Int
        var isText = true
        /// The copied bytes; nil if none were copied.
        var bytes: Data?
    }

    /// A hop that has ended, or that an archive shows as ended.
    struct Ended: Sendable {
        let hop: Hop
        let start: Date
        let request: RequestID
        let attempt: Int
        /// The number of the hop over all attempts.
        let number: Int

        func entry(endingWith error: String?, _ format: HARFormat) -> HARArchive.Entry {
            record(endingWith: error, format).entry
        }

        func record(endingWith error: String?, _ format: HARFormat) -> HARRecord {
            var record = format.record(of: hop, startedAt: start, error: error)
            record.entry.requestID = request.description
            (record.entry.attempt, record.entry.hop) = (attempt, number)
            return record
        }
    }

    /// The maximum number of messages of a WebSocket that an entry has.
    private static let messageLimit = 10_000
    /// The maximum number of bytes of all messages that an entry has.
    private let contentLimit: Int

    let request: any Request
    private(set) var attempt = 0
    private(set) var hopNumber = 0
    private(set) var hop: Hop?
    /// Messages that were accepted for sending before the hop has begun.
    private var early: [Message] = []
    /// The number of bytes of the messages in the next entry.
    private var content = 0
    /// Whether messages are left out, because there are too many.
    private var isFull = false

    /// The end of the last hop.
    private var lastEnd: Date?

    init(_ request: any Request, bodyLimit: Int) {
        self.request = request
        contentLimit = bodyLimit.multipliedReportingOverflow(by: 16).overflow ? .max : bodyLimit * 16
    }

    func receive(_ event: RequestEvent) {
        switch event {
        case .create, .failCreation: attempt += 1
        case .beginHop(let request):
            hopNumber += 1
            hop = Hop(request: request, start: Date(), messages: early)
            content = early.reduce(0) { $0 + ($1.bytes?.count ?? 0) }
            (early, isFull) = ([], false)
        case .endHop: _ = endHop()
        case .receiveHead(let head): hop?.head = head
        case .receiveBody(let count): hop?.received += count
        case .receiveTrailers(let fields): hop?.trailers = fields
        case .gatherMetrics(let metrics): hop?.metrics = metrics
        case .cache(let outcome): hop?.cache = outcome
        case .copyBody(let part): copy(part)
        case .webSocket(.sendMessage(let size)): add(Message(isSent: true, time: Date(), size: size))
        case .webSocket(.receiveMessage(let size)): add(Message(isSent: false, time: Date(), size: size))
        default: break
        }
    }

    private func copy(_ part: BodyPart) {
        switch part.message {
        case .request: hop?.sentBody.append(part)
        case .response: hop?.receivedBody.append(part)
        case .sentMessage(let isText): copy(part.bytes, isText, isSent: true)
        case .receivedMessage(let isText): copy(part.bytes, isText, isSent: false)
        }
    }

    /// Adds the bytes to the last message of this direction. Its event has come directly before.
    private func copy(_ bytes: Data, _ isText: Bool, isSent: Bool) {
        guard !isFull, let index = lastMessage(isSent: isSent) else { return }
        var message = hop?.messages[index] ?? early[index]
        guard message.bytes == nil, message.size >= bytes.count else { return }
        message.isText = isText
        if content + bytes.count <= contentLimit {
            content += bytes.count
            message.bytes = bytes
        }
        if hop != nil { hop?.messages[index] = message } else { early[index] = message }
    }

    private func lastMessage(isSent: Bool) -> Int? {
        (hop?.messages ?? early).lastIndex { $0.isSent == isSent }
    }

    private func add(_ message: Message) {
        guard (hop?.messages ?? early).count < Self.messageLimit else { return isFull = true }
        if hop != nil { hop?.messages.append(message) } else { early.append(message) }
    }

    /// Returns the time at which the hop in flight has begun; nil if there is no hop.
    ///
    /// A recorder may receive the hop's first event late, and its last one in time. But no hop begins before the end of
    /// the last one.
    func start(at now: Date) -> Date? {
        guard let hop else { return nil }
        let earliest = hop.metrics?.total.map { now.addingTimeInterval(-$0.inSeconds) } ?? hop.start
        return max(min(hop.start, earliest), lastEnd ?? .distantPast)
    }

    /// Ends the hop in flight and returns it; nil if there is no hop.
    func endHop() -> Ended? {
        guard let ended = endedHop else { return nil }
        hop = nil
        lastEnd = ended.start.addingTimeInterval(ended.hop.metrics?.total?.inSeconds ?? 0)
        return ended
    }

    /// The hop in flight as if it ended now; nil if there is no hop.
    var endedHop: Ended? {
        guard let start = start(at: Date()), let hop else { return nil }
        return Ended(hop: hop, start: start, request: request.id, attempt: attempt, number: hopNumber)
    }
}

extension Duration {
    /// The duration in seconds. The division of durations takes several times as long.
    fileprivate var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}

/// The copied bytes of a body.
struct HARBody: Sendable {
    private(set) var bytes = Data()
    /// Whether a part is missing, because it was dropped.
    private(set) var hasGap = false

    init(_ bytes: Data = Data()) { self.bytes = bytes }

    mutating func append(_ part: BodyPart) {
        if part.offset == 0 { (bytes, hasGap) = (Data(), false) }
        guard !hasGap, part.offset == UInt64(bytes.count) else { return hasGap = true }
        bytes.append(part.bytes)
    }
}
