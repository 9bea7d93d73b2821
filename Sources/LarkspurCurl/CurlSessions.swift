internal import CLarkspur

/// The counts of frames and bytes that each HTTP/2 session has received since a response or an upload last made
/// progress.
///
/// libcurl reads control frames for as long as they arrive, and serves no other connection meanwhile. A session that
/// reaches a limit is closed. One connection therefore delays the others by a few milliseconds at most.
struct CurlSessions {
    /// A session of nghttp2, by its address.
    typealias ID = UnsafeMutableRawPointer

    /// The maximum number of frames within `period` during which no response and no upload makes progress.
    static let frameLimit = 10_000
    /// The maximum number of bytes within `period` during which no response and no upload makes progress. A peer may
    /// send a whole window of a cancelled response before the cancellation arrives. The limit is therefore larger than
    /// libcurl's largest window of 32 MiB.
    static let byteLimit = 40 << 20
    /// The time in nanoseconds after which a session's counts restart at zero. A peer that only sends an occasional
    /// ping therefore stays far below the limits.
    static let period: UInt64 = 30_000_000_000

    /// The counts of one session, the time when they started, and the value of `uploads` at that time.
    private struct Budget {
        var frames = 0
        var bytes = 0
        var start: CurlClock.Instant
        var uploads: Int
    }

    /// The counts of those sessions that have received something since their last progress.
    private var budgets: [ID: Budget] = [:]
    private var uploads = 0
    /// The number of budgets at which expired budgets are removed. A budget cannot be removed when its session ends,
    /// because no callback reports that end.
    private var sweepAt = 1_000

    /// The number of sessions with a budget.
    var count: Int { budgets.count }

    /// Removes the budget that an ended session with the same address may have left.
    mutating func didOpen(_ session: ID) { budgets[session] = nil }

    /// Notes that bytes of a request's body were sent. The peer answers these bytes with control frames, which are not
    /// an attack.
    mutating func didUpload() { uploads &+= 1 }

    /// Counts the frames and bytes that a session has received. Returns false if the session must end.
    mutating func mayReceive(frames: Int, bytes: Int, from session: ID, at now: CurlClock.Instant) -> Bool {
        var budget = budgets[session] ?? Budget(start: now, uploads: uploads)
        guard budget.frames < Self.frameLimit, budget.bytes < Self.byteLimit else { return false }
        if budget.uploads != uploads || now - budget.start > Self.period {
            budget = Budget(start: now, uploads: uploads)
        }
        budget.frames += frames
        budget.bytes += bytes
        budgets[session] = budget
        if budgets.count >= sweepAt { sweep(at: now) }
        return true
    }

    private mutating func sweep(at now: CurlClock.Instant) {
        budgets = budgets.filter { now - $0.value.start <= Self.period }
        sweepAt = max(1_000, 2 * budgets.count)
    }

    /// Notes that a response makes progress in the session. Returns false if the session has already reached a limit
    /// and must end.
    mutating func mayProgress(_ session: ID) -> Bool {
        guard let budget = budgets[session] else { return true }
        guard budget.frames < Self.frameLimit, budget.bytes < Self.byteLimit else { return false }
        budgets[session] = nil
        return true
    }
}

/// The callbacks of nghttp2 for the sessions that libcurl opens.
extension CurlLoop {
    func makeHTTP2Watcher() -> clarkspur_http2_watcher {
        clarkspur_http2_watcher(
            context: Unmanaged.passUnretained(self).toOpaque(),
            did_open: { loop, session in
                guard let loop, let session else { return }
                CurlLoop.at(loop) { $0.sessions.didOpen(session) }
            },
            may_read: { loop, session, count in
                guard let loop, let session else { return true }
                return CurlLoop.at(loop) { $0.mayReceive(frames: 0, bytes: count, from: session) }
            },
            may_receive: { loop, session, isProgress in
                guard let loop, let session else { return true }
                return CurlLoop.at(loop) {
                    isProgress ? $0.sessions.mayProgress(session) : $0.mayReceive(frames: 1, bytes: 0, from: session)
                }
            },
            did_send_request: { loop, session, easy, stream in
                guard let loop, let session, let easy else { return }
                CurlLoop.at(loop) {
                    guard let hop = $0.transfer(of: easy)?.hop else { return }
                    (hop.stream, hop.isReset) = ((session, stream), false)
                }
            },
            did_fail: { loop, session in
                guard let loop, let session else { return }
                CurlLoop.at(loop) {
                    $0.fail(session, "the server broke the rules of HTTP/2, and the connection was closed")
                }
            },
            did_fail_stream: { loop, easy in
                guard let loop, let easy else { return }
                CurlLoop.at(loop) {
                    $0.transfer(of: easy)?.breakOff("the server's response breaks the rules of HTTP/2")
                }
            },
            did_reset: { loop, easy in
                guard let loop, let easy else { return }
                CurlLoop.at(loop) { $0.transfer(of: easy)?.hop?.isReset = true }
            })
    }

    private func mayReceive(frames: Int, bytes: Int, from session: CurlSessions.ID) -> Bool {
        if sessions.mayReceive(frames: frames, bytes: bytes, from: session, at: now) { return true }
        fail(session, "the server sends HTTP/2 frames without end and no response; the connection was closed")
        return false
    }

    /// Fails each hop of the session whose response is not complete yet.
    private func fail(_ session: CurlSessions.ID, _ message: String) {
        for transfer in transfers {
            guard let stream = transfer.hop?.stream, stream.session == session,
                !clarkspur_http2_has_ended(session, stream.number)
            else { continue }
            transfer.breakOff(message)
            transfer.closesConnection = true
        }
    }
}
