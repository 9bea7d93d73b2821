internal import CLarkspur

/// The frames and bytes of each HTTP/2 session that have brought no response and no upload forward.
///
/// Progress pays for them in proportion, and a request pays for a fixed number. A session that reaches a limit is
/// closed. Frames that bring a response forward are never counted, however small they are: `clarkspur_share` keeps them
/// from delaying the other connections.
struct CurlSessions {
    /// A session of nghttp2, by its address.
    typealias ID = UnsafeMutableRawPointer

    /// The maximum number of frames without progress within `period` that nothing has paid for.
    static let frameLimit = 10_000
    /// The bytes of progress that pay for one frame: a KiB pays for 32 frames.
    static let frameCost = 32
    /// The number of frames that a request, or a piece of an upload, pays for. The peer may answer each piece with
    /// frames that open its windows, even if the piece is a single byte.
    static let framesOfRequest = 128
    static let framesOfUpload = 32
    /// The maximum number of bytes without progress within `period` that nothing has paid for. A peer may send a whole
    /// window of a cancelled response before the cancellation arrives. The limit is therefore larger than libcurl's
    /// largest window of 32 MiB.
    static let byteLimit = 40 << 20
    /// The time in nanoseconds after which a session's counts restart at zero. A peer that only sends an occasional
    /// ping therefore stays far below the limits.
    static let period: UInt64 = 30_000_000_000

    /// The counts of one session, and the time when they started.
    private struct Budget {
        /// The cost of the frames, in bytes of progress.
        private var cost = 0
        private var bytes = 0
        let start: CurlClock.Instant

        init(start: CurlClock.Instant) { self.start = start }

        var isUsedUp: Bool {
            cost >= CurlSessions.frameLimit * CurlSessions.frameCost || bytes >= CurlSessions.byteLimit
        }

        mutating func add(frames: Int, bytes: Int) {
            cost += frames * CurlSessions.frameCost
            self.bytes += bytes
        }

        /// Pays for earlier frames and bytes. Progress cannot be saved for later.
        mutating func pay(cost: Int, bytes: Int) {
            self.cost = max(0, self.cost - cost)
            self.bytes = max(0, self.bytes - bytes)
        }
    }

    private var budgets: [ID: Budget] = [:]
    /// The number of budgets at which expired budgets are removed. A budget cannot be removed when its session ends,
    /// because no callback reports that end.
    private var sweepAt = 1_000

    /// The number of sessions with a budget.
    var count: Int { budgets.count }

    /// Removes the budget that an ended session with the same address may have left.
    mutating func didOpen(_ session: ID) { budgets[session] = nil }

    /// Notes that a request was sent. It pays for all bytes so far, because the request may be cancelled.
    mutating func didSendRequest(over session: ID) {
        pay(cost: Self.framesOfRequest * Self.frameCost, bytes: .max, in: session)
    }

    /// Notes that a piece of a request's body was sent.
    mutating func didUpload(_ count: Int, over session: ID) {
        pay(cost: Self.framesOfUpload * Self.frameCost + count, bytes: count, in: session)
    }

    private mutating func pay(cost: Int, bytes: Int, in session: ID) {
        guard let index = budgets.index(forKey: session), !budgets.values[index].isUsedUp else { return }
        budgets.values[index].pay(cost: cost, bytes: bytes)
    }

    /// Counts the frames and bytes that a session has received. Returns false if the session must end.
    mutating func mayReceive(frames: Int, bytes: Int, from session: ID, at now: CurlClock.Instant) -> Bool {
        var budget = budgets[session] ?? Budget(start: now)
        guard !budget.isUsedUp else { return false }
        if now - budget.start > Self.period { budget = Budget(start: now) }
        budget.add(frames: frames, bytes: bytes)
        budgets[session] = budget
        if budgets.count >= sweepAt { sweep(at: now) }
        return true
    }

    private mutating func sweep(at now: CurlClock.Instant) {
        budgets = budgets.filter { now - $0.value.start <= Self.period }
        sweepAt = max(1_000, 2 * budgets.count)
    }

    /// Notes that a frame brings a response forward by a number of bytes. Returns false if the session has already
    /// reached a limit and must end.
    mutating func mayProgress(_ session: ID, by count: Int) -> Bool {
        guard let index = budgets.index(forKey: session) else { return true }
        guard !budgets.values[index].isUsedUp else { return false }
        // `mayReceive` has counted the bytes of this frame too. Beyond them, each byte of progress pays for another.
        budgets.values[index].pay(cost: count, bytes: Self.sizeOfFrameHead + 2 * count)
        return true
    }

    /// Notes that a padded frame, which `mayReceive` has counted, brings a response forward by a number of bytes.
    mutating func didProgress(_ session: ID, by count: Int) {
        pay(cost: Self.frameCost + count, bytes: Self.sizeOfFrameHead + 2 * count, in: session)
    }

    private static let sizeOfFrameHead = 9
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
            may_receive: { loop, session, progress in
                guard let loop, let session else { return true }
                return CurlLoop.at(loop) {
                    progress > 0
                        ? $0.sessions.mayProgress(session, by: progress)
                        : $0.mayReceive(frames: 1, bytes: 0, from: session)
                }
            },
            did_progress: { loop, session, count in
                guard let loop, let session else { return }
                CurlLoop.at(loop) { $0.sessions.didProgress(session, by: count) }
            },
            did_send_request: { loop, session, easy, stream in
                guard let loop, let session, let easy else { return }
                CurlLoop.at(loop) {
                    $0.sessions.didSendRequest(over: session)
                    guard let hop = $0.transfer(of: easy)?.hop else { return }
                    hop.didSendHead(over: session, stream)
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
                CurlLoop.at(loop) { $0.transfer(of: easy)?.didReset() }
            },
            did_refuse: { loop, easy in
                guard let loop, let easy else { return }
                CurlLoop.at(loop) { $0.transfer(of: easy)?.hop?.isUnprocessed = true }
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
