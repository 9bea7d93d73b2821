/// The events that wait for one reader, in order. When the queue is full, it refuses all events of a new request, but
/// accepts the events of earlier requests, except those of WebSockets and the values of streams. A reader that gets a
/// request's start therefore also gets its finish.
struct EventQueue {
    struct Entry: Sendable {
        let request: any Request
        var event: RequestEvent
        var occurrence = Occurrence.inside
    }

    /// The place of an event among the events of its request.
    enum Occurrence: Sendable {
        /// The first event: `start`, or `cancel` if the request was cancelled before its start.
        case first
        /// An event between the first event and `finish`, or `finish` itself.
        case inside
        /// An event before the start, such as `suspend`, or after the finish, such as that of a late serializer.
        case outside
    }

    static let limit = 8_192
    /// The maximum size in bytes of the parts of bodies that wait. From half of this size on, the queue has no room for
    /// the events of another hop. The other half is for hops in flight.
    static let byteLimit = 16 << 20
    /// The memory of an entry beside its bytes. It counts, so that many small parts cannot fill the memory.
    private static let entrySize = 256

    /// The number of entries for which memory is taken at first. A request has about a dozen events.
    private static let firstCapacity = 16

    private(set) var entries: [Entry] = []
    /// The number of refused requests since the last ``take()``.
    private(set) var missed = 0
    /// The number of dropped events since the last ``take()``.
    private(set) var dropped = 0
    /// The size of the parts of bodies in `entries`.
    private var bytes = 0
    /// Whether events of all requests are accepted, because requests wait until the queue has room.
    private let acceptsAll: Bool
    /// A request whose events are accepted even if the queue is full.
    private let admitted: RequestID?
    /// The unfinished requests whose events are refused, because the queue was full at their first event. Almost always
    /// empty. The events of all other requests are accepted, so they need no set.
    private var refused: Set<RequestID> = []
    /// For each request, the positions in `entries` of the last body events that were added to the full queue. Later
    /// events of the same body are merged into these entries. Otherwise an endless body would fill the memory.
    private var bodies: [RequestID: (sent: Int?, received: Int?)] = [:]

    /// The requests whose last message of a WebSocket was dropped. The bytes of that message are dropped, too, because
    /// a monitor would take them for those of an earlier message.
    private var withoutMessage: Set<RequestID> = []

    /// Creates a queue.
    ///
    /// - Parameters:
    ///   - request: A request whose events are accepted even if the queue is full.
    ///   - acceptsAll: Whether the events of all requests are accepted. The queue then drops only events whose number
    ///     the hops in flight do not limit.
    init(admitting request: RequestID? = nil, acceptsAll: Bool = false) {
        admitted = request
        self.acceptsAll = acceptsAll
    }

    /// Whether another hop may begin, if hops wait for the queue.
    var hasRoom: Bool { entries.count < Self.limit && bytes < Self.byteLimit / 2 }

    mutating func post(_ event: RequestEvent, from request: any Request, _ occurrence: Occurrence = .inside) {
        var entry: Entry? = Entry(request: request, event: event, occurrence: occurrence)
        post(&entry)
    }

    /// Adds an event, unless it is refused or dropped. Moves the event out of the variable, because copying an event
    /// takes longer than the rest.
    mutating func post(_ entry: inout Entry?) {
        guard acceptsAll || entries.count < Self.limit && refused.isEmpty || admits(entry) else { return }
        if !withoutMessage.isEmpty, isOfDroppedMessage(entry) { return dropped += 1 }
        if let count = entry?.event.copiedBytes {
            let size = count + Self.entrySize
            guard bytes + size <= Self.byteLimit else { return dropped += 1 }
            bytes += size
        } else if entries.count >= Self.limit, let full = entry, isDropped(full) {
            return
        }
        guard let entry = entry.take() else { return }
        if entries.isEmpty { entries.reserveCapacity(Self.firstCapacity) }
        entries.append(entry)
    }

    /// Drops or merges an event of a body, while the queue is full. Returns false if the event has to be added.
    private mutating func isDropped(_ entry: Entry) -> Bool {
        let id = entry.request.id
        if acceptsAll ? entry.event.isUnlimited : entry.event.isOfStream {
            if entry.event.isMessage { withoutMessage.insert(id) }
            dropped += 1
            return true
        }
        return joins(entry.event, of: id)
    }

    /// Removes and returns all waiting events, and the numbers of requests refused and of events dropped since the last
    /// call.
    mutating func take() -> (entries: [Entry], missed: Int, dropped: Int) {
        defer { (entries, missed, dropped, bytes, bodies) = ([], 0, 0, 0, [:]) }
        return (entries, missed, dropped)
    }

    /// Returns whether the event has the bytes of a dropped message. They come directly after the message, so any other
    /// event of a message, and the end of the request, ends the wait for them.
    private mutating func isOfDroppedMessage(_ entry: Entry?) -> Bool {
        guard let entry else { return false }
        let (event, id) = (entry.event, entry.request.id)
        switch event {
        case .copyBody(let part):
            switch part.message {
            case .request, .response: return false
            case .sentMessage, .receivedMessage: return withoutMessage.remove(id) != nil
            }
        case .finish: withoutMessage.remove(id)
        default: if event.isMessage { withoutMessage.remove(id) }
        }
        return false
    }

    private mutating func admits(_ entry: Entry?) -> Bool {
        guard let entry else { return false }
        let id = entry.request.id
        if refused.contains(id) {
            if case .finish = entry.event { refused.remove(id) }
            return false
        }
        guard entries.count >= Self.limit else { return true }
        switch entry.occurrence {
        case .first where id != admitted:
            refused.insert(id)
            missed += 1
            return false
        case .first, .inside: return true
        // The number of these events has no limit, and no reader waits for them.
        case .outside: return false
        }
    }

    /// Merges a body event into a waiting event of the same kind. Returns false if there is no such event, or if
    /// another event of the request has followed the waiting event. Body events do not count as other events.
    private mutating func joins(_ event: RequestEvent, of id: RequestID) -> Bool {
        switch event {
        case .receiveBody(let count):
            guard let index = bodies[id]?.received, case .receiveBody(let before) = entries[index].event else {
                bodies[id, default: (nil, nil)].received = entries.count
                return false
            }
            entries[index].event = .receiveBody(before + count)
        case .sendBody:
            guard let index = bodies[id]?.sent else {
                bodies[id, default: (nil, nil)].sent = entries.count
                return false
            }
            entries[index].event = event
        default:
            bodies[id] = nil
            return false
        }
        return true
    }
}

extension RequestEvent {
    /// The size of a copied part of a body; nil for other events.
    fileprivate var copiedBytes: Int? {
        if case .copyBody(let part) = self { part.bytes.count } else { nil }
    }

    /// Whether a hop can have any number of these events that are not merged.
    fileprivate var isUnlimited: Bool {
        switch self {
        case .webSocket, .parse, .suspend, .resume, .ignoreOption: true
        default: false
        }
    }

    fileprivate var isMessage: Bool {
        switch self {
        case .webSocket(.sendMessage), .webSocket(.receiveMessage): true
        default: false
        }
    }

    /// Whether a hop can have any number of these events, each with a value of its own.
    fileprivate var isOfStream: Bool {
        switch self {
        case .webSocket, .parse: true
        default: false
        }
    }
}
