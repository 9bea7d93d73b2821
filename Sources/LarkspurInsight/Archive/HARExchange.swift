import Larkspur

/// The events of a request up to now, as far as an archive needs them.
struct HARExchange: Sendable {
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
    }

    /// The maximum number of messages of a WebSocket that an entry has.
    private static let messageLimit = 10_000

    let request: any Request
    private(set) var attempt = 0
    private(set) var hopNumber = 0
    private(set) var hop: Hop?
    /// Messages that were accepted for sending before the hop has begun.
    private var early: [Message] = []

    init(_ request: any Request) { self.request = request }

    mutating func receive(_ event: RequestEvent) {
        switch event {
        case .create, .failCreation: attempt += 1
        case .beginHop(let request):
            hopNumber += 1
            hop = Hop(request: request, start: Date(), messages: early)
            early = []
        case .endHop: hop = nil
        case .receiveHead(let head): hop?.head = head
        case .receiveBody(let count): hop?.received += count
        case .receiveTrailers(let fields): hop?.trailers = fields
        case .gatherMetrics(let metrics): hop?.metrics = metrics
        case .cache(let outcome): hop?.cache = outcome
        case .copyBody(let part) where part.message == .request: hop?.sentBody.append(part)
        case .copyBody(let part): hop?.receivedBody.append(part)
        case .webSocket(.sendMessage(let size)): add(Message(isSent: true, time: Date(), size: size))
        case .webSocket(.receiveMessage(let size)): add(Message(isSent: false, time: Date(), size: size))
        default: break
        }
    }

    private mutating func add(_ message: Message) {
        guard (hop?.messages ?? early).count < Self.messageLimit else { return }
        if hop != nil { hop?.messages.append(message) } else { early.append(message) }
    }

    /// Returns the entry of the hop in flight, which ends with this error; nil if there is no hop.
    func entry(endingWith error: String?, _ format: HARFormat) -> JSON? {
        hop.map { format.entry(of: $0, in: self, error: error, at: Date()) }
    }
}

/// The copied bytes of a body.
struct HARBody: Sendable {
    private(set) var bytes = Data()
    /// Whether a part is missing, because it was dropped.
    private(set) var hasGap = false

    mutating func append(_ part: BodyPart) {
        if part.offset == 0 { (bytes, hasGap) = (Data(), false) }
        guard !hasGap, part.offset == UInt64(bytes.count) else { return hasGap = true }
        bytes.append(part.bytes)
    }
}
