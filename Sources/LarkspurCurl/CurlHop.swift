/// What a transfer knows of the hop that it carries; for whose turn it is in the loop alone.
final class CurlHop {
    let task: CurlTask
    let delegate: any TransportDelegate
    let origin: CurlOrigins.Index
    let route: CurlRoute?
    let submitted: CurlClock.Instant
    let start: CurlClock.Instant

    @exclusivity(unchecked) var head: CurlHead
    /// Whether libcurl passes the lines of the head to the body's callback first, because none of them was a field yet.
    var awaitsField = false
    /// The head of a proxy's challenge, and what it was read by, until it shows whether libcurl answers it.
    @exclusivity(unchecked) var challenge: (head: ResponseHead, reader: CurlHead)?
    /// Whether libcurl may have answered a challenge of before, and no other one since.
    var answersOldChallenge = false
    /// How many connections libcurl had made for the hop when it was asked who it is: with no more of them, the answer goes
    /// over one that has carried a response.
    var connectionsBefore = 0
    @exclusivity(unchecked) var received: UInt64 = 0
    /// Up to where more may be received, when that was asked last.
    @exclusivity(unchecked) var allowance: UInt64 = 0
    /// Received and not yet delivered: the head, and the bytes behind it.
    @exclusivity(unchecked) var pendingHead: ResponseHead?
    @exclusivity(unchecked) var pending: CurlBuffer
    /// The body's chunks, where libcurl leaves them in it.
    var chunks: CurlChunks?
    /// A body that goes with the head.
    let post: Data?
    /// A body that is pulled.
    var upload: CurlUpload?
    /// Whether the head asks the peer if it wants the body.
    let expects: Bool
    /// Whether the peer has answered that it knows no expectations. libcurl takes that for a reason to send the request
    /// once more, of which it must be kept: a hop is sent and answered once (T2).
    var isExpectationRefused = false
    var needsFreshConnection = false
    /// Whether bytes that answer no request wait on the connection that libcurl chose.
    var isConnectionNoisy = false
    /// The session of HTTP/2 that carries the hop, and the number of its stream.
    var stream: (session: CurlSessions.ID, number: Int32)?
    var isBodyPaused = false
    /// Whether libcurl may ask for more of the request's body.
    enum UploadFlow { case running, waitingForBytes, heldByUser }
    var uploadFlow = UploadFlow.running
    /// Why the system gave no socket: the number of its error, or 0.
    var socketError: Int32 = 0
    /// What we found wrong; libcurl then only knows that a callback of ours refused.
    var fault: TransportError?
    /// Whether a callback refused because the task is to end.
    var wasStopped = false
    /// How often libcurl has reported its progress while there is no connection.
    var reportsOfTunnel = 0
    private(set) var sends = 0

    var isConnected = false
    /// The last socket that was opened for the hop; negative if none was.
    var socket: Int32 = -1
    var lastActivity: CurlClock.Instant
    private var lastSend: CurlClock.Instant
    /// When the request could be sent, the last time.
    var uploadStart: CurlClock.Instant
    var uploadEnd: CurlClock.Instant?

    init(
        _ task: CurlTask, _ beginning: CurlTask.Start, origin: CurlOrigins.Index, route: CurlRoute?,
        now: CurlClock.Instant, blocks: CurlBlockPool
    ) {
        self.task = task
        head = CurlHead(room: beginning.room, checksFields: !CurlLibrary.current.refusesOddFields)
        pending = CurlBuffer(pool: blocks)
        delegate = beginning.delegate
        self.origin = origin
        self.route = route
        submitted = beginning.submitted
        start = now
        lastActivity = now
        lastSend = now
        uploadStart = now
        expects = task.request.body.length != 0 && task.request.fields.contains { $0.name.lowercased() == "expect" }
        // What waits for the peer's word does not go with the head.
        if case .data(let data) = task.request.body, (1...Self.postLimit).contains(data.count), !expects {
            post = data
        } else {
            post = nil
        }
    }

    /// A body up to this size is sent in one go with the head, and needs no second packet.
    static let postLimit = 64 * 1_024

    var request: TransportRequest { task.request }

    /// When the hop has taken too long if nothing happens, and by which of its limits.
    var deadline: (time: CurlClock.Instant, limit: StaticString, length: CompactDuration) {
        let limits = request.timeouts
        var next = (time: CurlClock.never, limit: "total" as StaticString, length: CompactDuration())
        func consider(_ limit: StaticString, _ length: CompactDuration, from start: CurlClock.Instant) {
            let time = CurlClock.instant(start, after: length)
            if time < next.time { next = (time, limit, length) }
        }
        consider("total", limits.$total, from: start)
        if !isConnected { consider("connect", limits.$connect, from: lastSend) }
        if !head.isWhole, upload == nil || uploadEnd != nil {
            consider("first byte", limits.$firstByte, from: uploadEnd ?? start)
        }
        // Only where bytes are under way, and not while their receiver, or the body, holds them back.
        let isMoving = head.isWhole || isConnected && upload != nil && uploadEnd == nil
        if isMoving, !isBodyPaused, uploadFlow == .running {
            consider("idle", limits.$idle, from: lastActivity)
        }
        return next
    }

    /// How much of the body is to come, by the peer's word.
    var rest: Int? { head.contentLength.map { Int(clamping: $0) - Int(clamping: received) } }

    /// Whether the host's TLS goes inside the TLS of a proxy. No version of libcurl sees all that waits on such a connection: what the outer
    /// TLS has decrypted is neither in the socket nor in the inner TLS. With HTTP/1 it is not used again.
    var nestsTLS: Bool { route?.proxy?.kind == .https && request.url.isHTTPS }

    /// Whether the request asks the server to switch to another protocol.
    var asksForUpgrade: Bool { request.fields.contains { $0.name.lowercased() == "upgrade" } }

    /// Keeps a piece of the body until it is delivered; false if there is no memory.
    func append(_ piece: UnsafeRawBufferPointer) -> Bool {
        guard chunks != nil else {
            defer { received += UInt64(piece.count) }
            return pending.append(piece, of: rest)
        }
        var bytes = piece
        while let content = chunks?.next(in: &bytes) {
            guard pending.append(content, of: nil) else { return false }
            received += UInt64(content.count)
        }
        return true
    }

    /// Whether the head is a proxy's challenge that libcurl may answer. If it does, another head comes next; if not, the
    /// body or the end.
    func holds(_ head: ResponseHead) -> Bool {
        guard head.status == 407, route?.answersChallenge(to: request.url) == true else { return false }
        challenge = (head, self.head)
        self.head = CurlHead(checksFields: self.head.checksFields)
        return true
    }

    /// Whether the challenge is a proxy's that has forgotten the one before, so that the request can go to it anew.
    var isChallengedAgain: Bool { challenge != nil && answersOldChallenge && request.body.isReplayable }

    func deliverChallenge() {
        guard let challenge = challenge.take() else { return }
        head = challenge.reader
        delegate.received(.head(challenge.head), for: task.id)
    }

    var hasPending: Bool { pendingHead != nil || !pending.isEmpty }

    /// libcurl has returned: what it gave line by line and piece by piece goes on as one.
    func deliverPending() {
        if let head = pendingHead.take() { delegate.received(.head(head), for: task.id) }
        guard !pending.isEmpty else { return }
        delegate.received(.body(pending.take()), for: task.id)
    }

    /// The first time, or once more over another connection.
    func beginSending(at now: CurlClock.Instant) {
        sends += 1
        awaitsField = CurlLibrary.current.readsFreedFields
        isConnected = false
        reportsOfTunnel = 0
        connectionsBefore = 0
        stream = nil
        socketError = 0
        lastSend = now
    }

    /// Prepares to send the request's body from its first byte again; false if that cannot be.
    func rewind(at now: CurlClock.Instant) -> Bool {
        (uploadStart, uploadEnd, uploadFlow, lastActivity) = (now, nil, .running, now)
        guard let upload else { return true }
        if upload.rewind({ delegate.answer($0, for: task.id) }) { return true }
        fault = TransportError(
            .bodyNotReplayable, "the connection was lost, and the request's body can be sent only once", phase: .sending
        )
        return false
    }
}
