/// What waits for one reader of events, in order. Past a limit, requests that start are kept out as a whole, so that who is
/// told of a beginning is told of its end.
struct EventQueue {
    struct Letter: Sendable {
        let request: any Request
        var event: RequestEvent
    }

    static let limit = 8_192

    private(set) var letters: [Letter] = []
    /// How many requests were kept out, and not yet told of.
    private(set) var missed = 0
    /// Let in, and not finished.
    private var admitted: Set<RequestID>
    /// Kept out, and not finished.
    private var refused: Set<RequestID> = []
    /// Where the bodies stand that are told of while the queue is full: each is one letter, or a peer that sends on and on
    /// would fill the memory.
    private var bodies: [RequestID: (sent: Int?, received: Int?)] = [:]

    /// - Parameter request: What the events are of, where they are of one request: it is let in whatever has happened.
    init(admitting request: RequestID? = nil) {
        admitted = request.map { [$0] } ?? []
    }

    mutating func post(_ event: RequestEvent, from request: any Request) {
        let id = request.id
        guard admits(event, of: id) else { return }
        if letters.count >= Self.limit, joins(event, of: id) { return }
        letters.append(Letter(request: request, event: event))
    }

    /// Everything that waits, and how many requests were kept out meanwhile.
    mutating func take() -> (letters: [Letter], missed: Int) {
        defer { (letters, missed, bodies) = ([], 0, [:]) }
        return (letters, missed)
    }

    private mutating func admits(_ event: RequestEvent, of id: RequestID) -> Bool {
        if !refused.isEmpty, refused.contains(id) {
            if case .finish = event { refused.remove(id) }
            return false
        }
        switch event {
        case .start where letters.count < Self.limit: admitted.insert(id)
        case .finish: admitted.remove(id)
        // A cancel of a request that was not started begins its end.
        case .start, .cancel:
            guard letters.count >= Self.limit, !admitted.contains(id) else { break }
            refused.insert(id)
            missed += 1
            return false
        default: return letters.count < Self.limit || admitted.contains(id)
        }
        return true
    }

    /// Adds the event to an earlier one of the same body, if nothing but bodies has come since.
    private mutating func joins(_ event: RequestEvent, of id: RequestID) -> Bool {
        switch event {
        case .receiveBody(let count):
            guard let place = bodies[id]?.received, case .receiveBody(let before) = letters[place].event else {
                bodies[id, default: (nil, nil)].received = letters.count
                return false
            }
            letters[place].event = .receiveBody(before + count)
        case .sendBody:
            guard let place = bodies[id]?.sent else {
                bodies[id, default: (nil, nil)].sent = letters.count
                return false
            }
            letters[place].event = event
        default:
            bodies[id] = nil
            return false
        }
        return true
    }
}
