/// The state of the hop that a transfer performs. Only the thread that has the loop's turn uses this state.
final class CurlHop {
    let task: CurlTask
    let delegate: any TransportDelegate
    let place: CurlOrigins.Place
    let route: CurlRoute?
    let submitted: CurlClock.Instant
    let start: CurlClock.Instant

    @exclusivity(unchecked) var head: CurlHead
    /// Whether the first field of the head has not arrived yet, and libcurl passes the head's lines to the callback for
    /// the body first. That callback refuses a line before libcurl stores it.
    var awaitsField = false
    /// The head of a proxy's challenge and the parser of that head. They are kept until it is clear whether libcurl
    /// answers the challenge.
    @exclusivity(unchecked) var challenge: (head: ResponseHead, reader: CurlHead)?
    /// Whether libcurl may have sent this hop with an answer to a challenge of an earlier hop. False as soon as libcurl
    /// answers a challenge of this hop.
    var answersOldChallenge = false
    /// The number of a proxy's challenges that the hop has met.
    private var challenges = 0
    /// The number of connections that libcurl had made for the hop when the challenge arrived. If libcurl makes no
    /// further connection, it sends the answer to the challenge over a connection that has already carried a response.
    var connectionsBefore = 0
    @exclusivity(unchecked) var received: UInt64 = 0
    /// The body position up to which the task allowed delivery when it was last asked.
    @exclusivity(unchecked) var allowance: UInt64 = 0
    /// The head that was received and not yet delivered. `pending` has the body bytes that follow the head.
    @exclusivity(unchecked) var pendingHead: ResponseHead?
    @exclusivity(unchecked) var pending: CurlBuffer
    private var turnsHeldBack = 0
    /// The exchange of an upgrade's handshake over the hop's own connection; nil for other requests.
    var exchange: CurlExchange?
    /// The decoder of the body's chunks, if libcurl does not decode them.
    var chunks: CurlChunks?
    /// The body, if it is sent together with the head.
    let post: Data?
    /// The body, if libcurl reads it piece by piece.
    var upload: CurlUpload?
    /// Whether the request has an `Expect` field, which asks if the peer wants the body.
    let expects: Bool
    /// Whether the peer has answered the `Expect` field with 417. libcurl would then send the request again without the
    /// field. The callbacks prevent that, because a task performs exactly one hop (T2 in `Transport`).
    var isExpectationRefused = false
    var needsFreshConnection = false
    /// Whether the hop's sending may use HTTP/3.
    var prefersHTTP3 = false
    /// The server over HTTP/3 that the hop uses instead of the host itself; nil for most hops.
    @exclusivity(unchecked) var alternative: CurlAlternatives.Endpoint?
    /// The time at which the hop stops waiting for a connection to the alternative.
    var fallbackTime = CurlClock.never
    /// Whether the next sending is the fallback from an alternative to the host itself. The time that the attempt to
    /// reach the alternative took counts for the connect timeout.
    var fallsBack = false
    /// Whether libcurl wanted to send the request a second time by itself, over another connection. Over HTTP/3, it
    /// would do so although the peer may have processed the request.
    var isRepeatedByLibcurl = false
    /// Whether the request may not be sent over the reused connection that libcurl chose: it has another version of
    /// HTTP, or bytes that no request has asked for wait there.
    var isConnectionUnfit = false
    /// Whether libcurl was allowed to send the request in this sending.
    private(set) var hasBegun = false
    /// The number of bytes of heads that libcurl had sent for the hop before it was allowed to send the request: heads
    /// of requests to a proxy, and of the request itself over connections that were lost.
    private(set) var headBytesBefore = 0
    /// Whether libcurl sends the request over HTTP/2, and `stream` is set as soon as its head is sent.
    private(set) var hasStream = false
    /// Whether libcurl sends the answer to a proxy's challenge over the connection that carried the challenge. Some
    /// proxies close this connection without announcing that, so the answer may be sent again after a loss.
    private(set) var answersOverSameConnection = false
    /// Whether libcurl has read the body up to its end since it was allowed to send the request.
    var isBodyRead = false
    /// Whether the server has stated that it has not processed the request: it has refused the HTTP/2 stream, or a
    /// GOAWAY frame excludes the stream.
    var isUnprocessed = false
    /// The number of times that the server has reset the hop's stream before a response.
    var resets = 0
    /// The number of times that the request was sent again although it may have reached the server. The answer to a
    /// challenge is another request: with the challenge, the proxy has stated that it did not process the request.
    private(set) var repetitions = 0
    /// The HTTP/2 session that carries the hop, and the number of its stream.
    var stream: (session: CurlSessions.ID, number: Int32)?
    var isBodyPaused = false
    /// Whether the response over HTTP/2 made libcurl stop sending the request's body (see `lookAtEnd`).
    var isRefused = false
    /// The state of the request's body: libcurl reads it, or has paused until the body's stream has bytes or until the
    /// user resumes the task.
    enum UploadFlow { case running, waitingForBytes, heldByUser }
    var uploadFlow = UploadFlow.running
    /// The `errno` of a socket that the system refused, or 0.
    var socketError: Int32 = 0
    /// The error that a callback has found. libcurl's own error says only that a callback failed.
    var fault: TransportError?
    /// Whether a callback stopped the transfer because the task was ordered to end.
    var wasStopped = false
    /// The number of progress reports from libcurl while the hop was not connected yet.
    var reportsOfTunnel = 0
    /// The number of times that this transport has handed the hop to libcurl.
    private(set) var sends = 0

    var isConnected = false
    /// The names of the connection's TLS version and cipher, which libcurl's TLS library keeps; nil without TLS.
    var tls: (version: UnsafePointer<CChar>?, cipher: UnsafePointer<CChar>?)
    /// The last socket that was opened for the hop; negative if no socket was opened.
    var socket: Int32 = -1
    var lastActivity: CurlClock.Instant
    private var lastSend: CurlClock.Instant
    /// The start of the request's upload.
    var uploadStart: CurlClock.Instant
    var uploadEnd: CurlClock.Instant?
    /// Whether the server has reset the HTTP/2 stream before the end of the response. Before 8.1, libcurl reports such
    /// a response as complete if the reset has no error code.
    var isReset = false
    /// Whether the response may have a body; known from its head on.
    var hasBody = true
    /// Whether the response over HTTP/2 was complete when the request's body ended. libcurl 8.14 then fails to send the
    /// end of the body, and reports an error.
    var isAnsweredBeforeEnd = false

    init(
        _ task: CurlTask, _ beginning: CurlTask.Start, at place: CurlOrigins.Place, route: CurlRoute?,
        now: CurlClock.Instant, blocks: CurlBlockPool
    ) {
        self.task = task
        head = CurlHead(room: beginning.room, checksFields: !CurlLibrary.current.refusesOddFields)
        pending = CurlBuffer(pool: blocks)
        delegate = beginning.delegate
        self.place = place
        self.route = route
        submitted = beginning.submitted
        // A task that waited for a connection slot may be younger than the loop's current time.
        start = max(now, beginning.submitted)
        lastActivity = now
        lastSend = now
        uploadStart = now
        expects = task.request.body.length != 0 && task.request.fields.contains { $0.name.lowercased() == "expect" }
        // If the request has an `Expect` field, the body waits for the peer's `100 Continue` and is not sent with the
        // head.
        if case .data(let data) = task.request.body, (1...Self.postLimit).contains(data.count), !expects {
            post = data
        } else {
            post = nil
        }
    }

    /// The maximum size in bytes of a body that is sent together with the head. Sending both together saves a packet.
    static let postLimit = 64 * 1_024

    var request: TransportRequest { task.request }

    /// The time at which the next timeout of this hop passes, with the name and length of that timeout. The time is
    /// `CurlClock.never` if no timeout applies.
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
        // The idle timeout applies only while a body is being sent or received. It does not apply while the response is
        // paused, while the user has suspended the task, or while the request's body has no bytes yet.
        let isMoving = head.isWhole || isConnected && upload != nil && uploadEnd == nil
        if isMoving, !isBodyPaused, uploadFlow == .running {
            consider("idle", limits.$idle, from: lastActivity)
        }
        return next
    }

    /// The number of body bytes still to come; nil if the peer has declared no length.
    var rest: Int? { head.contentLength.map { Int(clamping: $0) - Int(clamping: received) } }

    /// Whether the TLS connection to the host runs inside the TLS connection to a proxy.
    ///
    /// With HTTP/1, such a connection is not reused, because it cannot be checked for waiting bytes. Bytes that only
    /// the outer TLS has decrypted are neither in the socket nor in the inner TLS.
    var nestsTLS: Bool { route?.proxy?.kind == .https && request.url.isHTTPS }

    /// Whether a repetition of the request does no harm.
    var isIdempotent: Bool { ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE", "QUERY"].contains(request.method) }

    /// Whether libcurl has not read the end of the body since it was allowed to send the request, so the server cannot
    /// have received the whole request. The server may not have received all bytes that libcurl has read.
    var isBodyUnread: Bool { upload != nil && !isBodyRead }

    /// Whether the request may be sent again although the server may have processed it.
    var mayBeProcessedTwice: Bool { isIdempotent || answersOverSameConnection }

    /// Whether a request that libcurl is about to send was sent before in this sending. The answer to a challenge is
    /// no repetition.
    var isRepetition: Bool { hasBegun && challenge == nil }

    /// Counts that the request is sent again. Returns false if it was sent again that often.
    func countRepetition(upTo limit: Int) -> Bool {
        guard repetitions < limit else { return false }
        repetitions += 1
        (stream, isReset, isUnprocessed) = (nil, false, false)
        return true
    }

    /// Notes that libcurl answers the challenge, if there is one, so the challenge is no longer the hop's response.
    ///
    /// - Parameter connections: The number of connections that libcurl has made for the hop.
    func answerChallenge(connections: Int) {
        answersOverSameConnection = challenge != nil && connections == connectionsBefore
        if challenge != nil { (challenge, answersOldChallenge, repetitions) = (nil, false, 0) }
    }

    /// Notes that libcurl is about to send the request.
    func begin(headBytes: Int, hasStream: Bool) {
        (hasBegun, headBytesBefore, isBodyRead, self.hasStream) = (true, headBytes, false, hasStream)
    }

    /// Notes the HTTP/2 stream over which the request's head is sent.
    func didSendHead(over session: CurlSessions.ID, _ number: Int32) {
        (stream, isReset, isUnprocessed) = ((session, number), false, false)
    }

    /// Whether the request asks the server to switch to another protocol.
    var asksForUpgrade: Bool { request.fields.contains { $0.name.lowercased() == "upgrade" } }

    /// Stores a piece of the body until it is delivered. Returns false if there is no memory.
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

    /// Keeps the head and returns true if it is a proxy's challenge that libcurl may answer. If libcurl answers the
    /// challenge, another head follows. If not, the body of the challenge follows, or its end.
    func holds(_ head: ResponseHead) -> Bool {
        guard head.status == 407, route?.answersChallenge(to: request.url) == true else { return false }
        challenge = (head, self.head)
        challenges += 1
        self.head = CurlHead(checksFields: self.head.checksFields)
        return true
    }

    /// Whether the proxy has sent so many challenges that no further one is answered. libcurl answers each challenge
    /// that calls its last answer stale.
    var isChallengedTooOften: Bool { challenges > CurlTransfer.sendLimit }

    /// Whether the proxy has refused the answer to an earlier hop's challenge with another challenge, and the request
    /// can be sent again.
    var isChallengedAgain: Bool { challenge != nil && answersOldChallenge && request.body.isReplayable }

    func deliverChallenge() {
        guard let challenge = challenge.take() else { return }
        head = challenge.reader
        delegate.received(.head(challenge.head), for: task.id)
    }

    var hasPending: Bool { pendingHead != nil || !pending.isEmpty }

    /// Returns whether the loop holds the pending bytes back for its next turn, in which it may deliver them together
    /// with the rest of the body. The receiver of a whole body then need not copy the parts. Only a body that fits into
    /// one block is held back, and only for a few turns.
    func holdsBack() -> Bool {
        guard pending.count >= CurlBlockPool.smallestSize / 2, turnsHeldBack < Self.limitOfTurnsHeldBack, !isBodyPaused,
            chunks == nil, request.initialAllowance == .max, let rest, rest > 0,
            pending.count + rest <= CurlBuffer.limit
        else { return false }
        turnsHeldBack += 1
        return true
    }

    private static let limitOfTurnsHeldBack = 4

    /// Delivers the head and the collected body bytes that are pending: one event for each.
    func deliverPending() {
        turnsHeldBack = 0
        if let head = pendingHead.take() { delegate.received(.head(head), for: task.id) }
        guard !pending.isEmpty else { return }
        delegate.received(.body(pending.take()), for: task.id)
    }

    /// Prepares to send the request, for the first time or again over another connection.
    func beginSending(at now: CurlClock.Instant) {
        sends += 1
        awaitsField = CurlLibrary.current.readsFreedFields
        isConnected = false
        tls = (nil, nil)
        reportsOfTunnel = 0
        connectionsBefore = 0
        (stream, isReset, isUnprocessed, hasBegun) = (nil, false, false, false)
        (headBytesBefore, isBodyRead, hasStream, answersOverSameConnection) = (0, false, false, false)
        socketError = 0
        isRefused = false
        if !fallsBack { lastSend = now }
        fallsBack = false
    }

    /// Prepares to send the request's body from its first byte again. Returns false if that is not possible.
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
