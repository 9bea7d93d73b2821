/// The events that wait for one reader, in order. When the queue is full, it refuses all events of a new request, but
/// accepts the events of earlier requests. A reader that gets a request's start therefore also gets its finish.
struct EventQueue {
    struct Entry: Sendable {
        let request: any Request
        var event: RequestEvent
    }

    static let limit = 8_192

    private(set) var entries: [Entry] = []
    /// The number of refused requests since the last ``take()``.
    private(set) var missed = 0
    /// The unfinished requests whose events are accepted.
    private var admitted: Set<RequestID>
    /// The unfinished requests whose events are refused.
    private var refused: Set<RequestID> = []
    /// For each request, the positions in `entries` of the last body events that were added to the full queue. Later
    /// events of the same body are merged into these entries. Otherwise an endless body would fill the memory.
    private var bodies: [RequestID: (sent: Int?, received: Int?)] = [:]

    /// Creates a queue.
    ///
    /// - Parameter request: A request whose events are accepted even if the queue is full.
    init(admitting request: RequestID? = nil) {
        admitted = request.map { [$0] } ?? []
    }

    mutating func post(_ event: RequestEvent, from request: any Request) {
        let id = request.id
        guard admits(event, of: id) else { return }
        if entries.count >= Self.limit, joins(event, of: id) { return }
        entries.append(Entry(request: request, event: event))
    }

    /// Removes and returns all waiting events, and the number of requests refused since the last call.
    mutating func take() -> (entries: [Entry], missed: Int) {
        defer { (entries, missed, bodies) = ([], 0, [:]) }
        return (entries, missed)
    }

    private mutating func admits(_ event: RequestEvent, of id: RequestID) -> Bool {
        if !refused.isEmpty, refused.contains(id) {
            if case .finish = event { refused.remove(id) }
            return false
        }
        switch event {
        case .start where entries.count < Self.limit: admitted.insert(id)
        case .finish: admitted.remove(id)
        // The first event of a request is `start`, or `cancel` if the request was cancelled before its start.
        case .start, .cancel:
            guard entries.count >= Self.limit, !admitted.contains(id) else { break }
            refused.insert(id)
            missed += 1
            return false
        default: return entries.count < Self.limit || admitted.contains(id)
        }
        return true
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
