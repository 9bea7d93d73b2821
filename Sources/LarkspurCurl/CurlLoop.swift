internal import CLarkspur

/// An event loop of a transport. The loop's thread owns libcurl's handles, and lends them to other threads while it
/// sleeps.
///
/// A thread uses the handles only while it has the loop's turn, which is a lock. All other threads post tasks to the
/// loop's queue. If a thread posts a new task while the loop sleeps, that thread takes the turn and sends the request
/// itself. This is faster, because waking the loop's thread costs more than all other work for a small request. Every
/// other post only wakes the loop.
final class CurlLoop: @unchecked Sendable {  // rule R6: the turn or a `Protected` guards each mutable property
    // Immutable
    let index: Int
    let shared: CurlShared
    let poller = UnsafeMutablePointer<clarkspur_poller>.allocate(capacity: 1)

    /// The loop's turn; nil if there was no memory for it. Without a turn, every request fails.
    private let turn = clarkspur_turn_open()
    private let watcher = UnsafeMutablePointer<clarkspur_http2_watcher>.allocate(capacity: 1)

    // Mutable state, guarded by the lock of `Protected`
    private let queue = Protected(CurlTaskQueue())

    // Mutable state, guarded by the turn. Only one thread at a time uses these properties. Swift's exclusivity checks
    // are turned off for most of them, because they would cost time at every event.
    @exclusivity(unchecked) private(set) var multi: UnsafeMutableRawPointer?
    @exclusivity(unchecked) private(set) var now = CurlClock.zero
    private(set) var keyLog: Int32 = -1
    private(set) var authorities: CurlCertificates?
    @exclusivity(unchecked) var sockets = CurlSockets()
    @exclusivity(unchecked) var sessions = CurlSessions()
    /// The transfers that may use HTTP/2, by their easy handles.
    @exclusivity(unchecked) private var owners: [UnsafeMutableRawPointer: CurlTransfer.Slot] = [:]
    @exclusivity(unchecked) private var posted: [CurlTaskQueue.Entry] = []
    @exclusivity(unchecked) private var timer = CurlClock.never
    /// The time until which the loop's thread sleeps, if no event wakes it earlier.
    @exclusivity(unchecked) private var wakeTime = CurlClock.zero
    @exclusivity(unchecked) private var alarms = CurlAlarms()
    @exclusivity(unchecked) var transfers: [CurlTransfer] = []
    @exclusivity(unchecked) var tunnels = CurlTunnels()
    @exclusivity(unchecked) var free: [CurlTransfer.Slot] = []
    @exclusivity(unchecked) private var pending: [CurlTransfer.Slot] = []
    @exclusivity(unchecked) private var ended: [(hop: CurlHop, error: TransportError?, metrics: TransportMetrics)] = []
    @exclusivity(unchecked) var lastCipher: (text: UnsafePointer<CChar>, name: String)?
    /// The tasks that start as soon as libcurl has returned.
    @exclusivity(unchecked) var admitted: [CurlOrigins.Start] = []
    /// Whether a thread other than the loop's own has the turn.
    @exclusivity(unchecked) private var isLent = false
    /// The number of transfers whose bodies are read from a file or a stream.
    @exclusivity(unchecked) private var readers = 0

    var configuration: CurlTransport.Configuration { shared.configuration }
    var routes: CurlRoutes { shared.routes }

    init(index: Int, _ shared: CurlShared) {
        self.index = index
        self.shared = shared
        poller.initialize(to: clarkspur_poller(queue: -1, waker: -1))
        watcher.initialize(to: makeHTTP2Watcher())
    }

    /// Closes the poller. The loop's thread has ended and no other thread has a reference to the loop, so no thread
    /// uses the poller's descriptors any more.
    deinit {
        clarkspur_poller_close(poller)
        poller.deallocate()
        clarkspur_turn_close(turn)
        watcher.deallocate()
    }

    // MARK: Any thread

    /// Adds an admitted task. Returns the reason if the loop refuses it.
    func submit(_ start: CurlOrigins.Start, mayTakeTurn: Bool) -> TransportError? {
        switch queue.withLock({ $0.submit(start) }) {
        case .taken(let isFirst):
            if isFirst, !(mayTakeTurn && start.task.isPrompt && takeTurn()) { clarkspur_poller_wake(poller) }
            return nil
        case .begins:
            return begin(with: start.task)
        case .refused(let reason):
            return reason
        }
    }

    /// Makes the loop carry out a task's new orders.
    ///
    /// - Parameter mayTakeTurn: Whether the caller carries them out itself if the loop's thread sleeps. This is faster
    ///   for small messages of an upgraded connection.
    func post(_ task: CurlTask, mayTakeTurn: Bool = false) {
        guard queue.withLock({ $0.post(task) }) else { return }
        if !(mayTakeTurn && takeTurn()) { clarkspur_poller_wake(poller) }
    }

    /// Ends the thread and every remaining task.
    func stop() {
        if queue.withLock({ $0.stop() }) { clarkspur_poller_wake(poller) }
    }

    /// Starts the thread with the first task. Tasks that arrive before the thread runs wait in the queue. If no file
    /// descriptor is left, returns the reason, and the next task begins the loop again.
    private func begin(with first: CurlTask) -> TransportError? {
        guard let failure = open() ?? startThread() else { return nil }
        if index == 0, failure.code == .tooManyOpenFiles {
            refuse(queue.withLock { $0.restart() }.filter { $0.task !== first }, failure)
            return failure
        }
        queue.withLock { $0.reason = failure }
        guard index > 0 else {
            end(failure)
            return nil
        }
        // The first loop does the work of a loop that could not be started.
        let rest = queue.withLock { $0.end() }
        releaseHandles()
        for start in shared.origins.withLock({ $0.giveUp(index) }) { start.task.transport.start(start) }
        for entry in rest {
            if let place = entry.place { leave(place) }
            entry.task.transport.start(entry.task)
        }
        return nil
    }

    private func open() -> TransportError? {
        guard turn != nil else { return TransportError(.unavailable, "there is no memory for a transport") }
        if let problem = CurlLibrary.load(from: configuration.libraryPath) { return problem }
        _ = clarkspur_http2_is_watched()  // must be called before the first connection
        guard clarkspur_poller_open(poller) else {
            return CurlFailure.shortage(errno)
                ?? TransportError(.unavailable, "the system refused a poller: \(String(cString: strerror(errno)))")
        }
        guard let multi = clarkspur_multi_open() else {
            return TransportError(.unavailable, "libcurl could not make a multi handle")
        }
        self.multi = multi
        authorities = CurlCertificates(configuration.certificateAuthorities)
        guard let path = configuration.keyLogFile else { return nil }
        keyLog = clarkspur_tls_open_key_log(path)
        guard keyLog < 0 else { return nil }
        return TransportError(.unavailable, "the file for keys cannot be written: \(String(cString: strerror(errno)))")
    }

    private func startThread() -> TransportError? {
        let context = Unmanaged.passRetained(self)
        let starts = clarkspur_thread_start(
            "larkspur-curl", { $0.map { Unmanaged<CurlLoop>.fromOpaque($0).takeRetainedValue().run() } },
            context.toOpaque())
        if starts { return nil }
        context.release()
        return TransportError(.unavailable, "the process can start no further thread")
    }

    // MARK: The thread that has the turn

    /// Does the loop's pending work on the calling thread, if the loop's thread sleeps. Returns false if the caller
    /// must wake the loop's thread, either for this work or for further work.
    ///
    /// Only the loop's thread reads bodies from files and streams, because reading may take long or run user code.
    func takeTurn() -> Bool {
        guard clarkspur_turn_try_begin(turn) else { return false }
        // The calling thread may be the thread of another loop, whose delegate starts a request here. The watcher of
        // that loop is restored afterwards.
        let before = clarkspur_http2_watch(watcher)
        defer {
            clarkspur_http2_watch(before)
            clarkspur_turn_end(turn)
        }
        isLent = true
        defer { isLent = false }
        guard readers == 0, work() else { return false }
        return queue.withLock { $0.fallAsleep() } && min(timer, alarms.next) >= wakeTime
    }

    private func run() {
        clarkspur_turn_begin(turn)
        clarkspur_http2_watch(watcher)
        setUp()
        var ready = [clarkspur_ready](repeating: clarkspur_ready(), count: 256)
        while work() {
            let limit = sleepLimit()
            clarkspur_turn_end(turn)
            let count = clarkspur_poller_wait(poller, &ready, Int32(ready.count), limit)
            clarkspur_turn_begin(turn)
            tick()
            for event in ready.prefix(Int(count)) {
                switch sockets.user(of: event.descriptor) {
                case .libcurl: if sockets.isWanted(event.descriptor, poller: poller) { act(on: event) }
                case .transfer(let slot): transfers[slot].exchangeIsReady(event.interest)
                case .tunnel(let slot): tunnels[slot]?.isReady(event.interest)
                }
            }
            // If no socket is ready, the rest of a body that was held back has not arrived yet.
            harvest(holdsBack: count > 0)
        }
        end(queue.withLock { $0.reason })
        clarkspur_http2_watch(nil)
        clarkspur_turn_end(turn)
    }

    /// Does the pending work: posted tasks, alarms, libcurl's timer and deliveries. Returns false if the loop ends or
    /// has ended, or if the loop's own thread must do the work.
    private func work() -> Bool {
        guard let lifecycle = queue.withLock({ $0.take(into: &posted, isLent: isLent) }) else { return false }
        tick()
        for entry in posted { look(at: entry) }
        posted.removeAll(keepingCapacity: true)
        guard lifecycle == .running else {
            deliver()
            return false
        }
        while let slot = alarms.due(at: now) { transfers[slot].alarm() }
        if now >= sockets.releaseTime { sockets.releaseAll(poller: poller) }
        // The work above may have started a waiting request whose body is a file or a stream. libcurl would read this
        // body now, but only the loop's own thread may read such bodies.
        if now >= timer, !isLent || readers == 0 {
            timer = CurlClock.never
            clarkspur_multi_act(multi, -1, 0)
            harvest()
        }
        if !admitted.isEmpty { startAdmitted() }
        deliver(holdsBack: !isLent)
        return true
    }

    private func act(on event: clarkspur_ready) {
        guard CurlLibrary.current.spinsOverHTTP2, sockets.maySpin(event.descriptor) else {
            clarkspur_multi_act(multi, event.descriptor, event.interest)
            return
        }
        // The bytes that have arrived may open the peer's HTTP/2 window, so libcurl also tries to write.
        let interest = sockets.isHeld(event.descriptor) ? 3 : event.interest
        let before = sentBytes
        clarkspur_multi_act(multi, event.descriptor, interest)
        guard interest & 2 != 0 else { return }
        sockets.didWrite(event.descriptor, hasSent: sentBytes != before, at: now, poller: poller)
    }

    /// The number of body bytes that the current requests have sent.
    private var sentBytes: Int64 { transfers.reduce(0) { $0 + $1.sentBytes } }

    func tick() { now = shared.now }

    private func setUp() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        clarkspur_multi_on_socket(
            multi,
            { easy, descriptor, what, context, _ in
                context.map { CurlLoop.at($0) { $0.libcurlWants(descriptor, what, for: easy) } }
                return 0
            }, context)
        clarkspur_multi_on_timer(
            multi,
            { _, milliseconds, context in
                context.map { CurlLoop.at($0) { $0.setTimer(milliseconds) } }
                return 0
            }, context)
        clarkspur_multi_set_long(multi, CURLMOPT_PIPELINING, 2)
    }

    /// Runs `body` with the loop at the address that a callback of libcurl has received. Callbacks are frequent, so
    /// this function does not count references: the thread that has the turn keeps the loop alive.
    @inline(__always)
    static func at<Answer>(_ context: UnsafeMutableRawPointer, _ body: (CurlLoop) -> Answer) -> Answer {
        Unmanaged<CurlLoop>.fromOpaque(context)._withUnsafeGuaranteedRef(body)
    }

    /// Returns how many milliseconds the loop's thread may sleep: -1 means no limit, 0 means that there is work to do.
    /// Marks the loop as asleep unless the result is 0.
    private func sleepLimit() -> Int32 {
        if !pending.isEmpty { return 0 }
        wakeTime = min(timer, alarms.next, sockets.releaseTime)
        let limit = wakeTime == CurlClock.never ? -1 : CurlClock.milliseconds(from: shared.now, to: wakeTime)
        guard limit != 0 else { return 0 }
        return queue.withLock { $0.fallAsleep() } ? limit : 0
    }

    /// Ends every task with the error, and releases libcurl's handles.
    private func end(_ error: TransportError) {
        let rest = queue.withLock { $0.end() }
        let starting = admitted
        admitted = []
        for start in starting { start.task.end(error, metrics: TransportMetrics()) }
        for transfer in transfers { transfer.fail(error) }
        for tunnel in tunnels.all { tunnel.end(error) }
        deliver()
        releaseHandles()
        for entry in rest {
            entry.task.end(error, metrics: TransportMetrics())
            if let place = entry.place { leave(place) }
        }
    }

    private func releaseHandles() {
        for transfer in transfers { transfer.close() }
        (transfers, owners) = ([], [:])
        multi.map(clarkspur_multi_close)
        multi = nil
        if keyLog >= 0 { clarkspur_socket_close(keyLog) }
        keyLog = -1
    }

    // MARK: Tasks

    private func look(at entry: CurlTaskQueue.Entry) {
        if let place = entry.place { return start(CurlOrigins.Start(task: entry.task, place: place)) }
        guard let orders = entry.task.takeOrders(in: index) else { return }
        switch orders.progress {
        case .new, .waiting: break
        case .running(let slot): transfers[slot].obey(orders)
        case .open(let slot): tunnels[slot]?.obey(orders)
        }
    }

    func transfer(of easy: UnsafeMutableRawPointer) -> CurlTransfer? { owners[easy].map { transfers[$0] } }

    func setOwner(_ slot: CurlTransfer.Slot?, of easy: UnsafeMutableRawPointer) { owners[easy] = slot }

    func willBegin(_ task: CurlTask) {
        if !task.isPrompt { readers += 1 }
    }

    /// Frees the slot of an ended transfer, and starts the task that has waited longest for a connection to the same
    /// origin.
    func didEnd(_ hop: CurlHop, _ error: TransportError?, _ metrics: TransportMetrics, in slot: CurlTransfer.Slot) {
        if !hop.task.isPrompt { readers -= 1 }
        free.append(slot)
        ended.append((hop, error, metrics))
        leave(hop.place)
    }

    func setAlarm(_ time: CurlClock.Instant, for slot: CurlTransfer.Slot) {
        alarms.set(time, for: slot)
    }

    private func harvest(holdsBack: Bool = false) {
        var code: Int32 = 0
        while let easy = clarkspur_multi_next_ended(multi, &code) {
            clarkspur_easy_pointer(easy, CURLINFO_PRIVATE).map { CurlTransfer.at($0) { $0.didEnd(code) } }
        }
        deliver(holdsBack: holdsBack)
    }

    /// Notes that a transfer has a head or body bytes to deliver.
    func hasPending(_ slot: CurlTransfer.Slot) { pending.append(slot) }

    /// Delivers the pending events of all transfers, after libcurl has done its work for all of them. To alternate
    /// between libcurl and the delegates would be slower, because the processor's cache does not hold the code of both.
    ///
    /// - Parameter holdsBack: Whether parts of bodies may wait for the loop's next turn. The loop does not sleep
    ///   meanwhile.
    private func deliver(holdsBack: Bool = false) {
        var (next, held) = (0, 0)
        while next < pending.count {
            let slot = pending[next]
            next += 1
            guard let hop = transfers[slot].hop else { continue }
            if holdsBack, hop.holdsBack() {
                pending[held] = slot
                held += 1
            } else {
                hop.deliverPending()
            }
        }
        pending.removeLast(pending.count - held)
        next = 0
        while next < ended.count {
            let (hop, error, metrics) = ended[next]
            hop.deliverRest(after: error)
            hop.task.end(error, metrics: metrics)
            next += 1
        }
        ended.removeAll(keepingCapacity: true)
    }

    // MARK: Sockets and timer of libcurl

    private func setTimer(_ milliseconds: Int) {
        timer = milliseconds < 0 ? CurlClock.never : now + UInt64(milliseconds) * 1_000_000
    }

    private func libcurlWants(_ descriptor: Int32, _ what: Int32, for easy: UnsafeMutableRawPointer?) {
        // `what` is CURL_POLL_IN (1), CURL_POLL_OUT (2), CURL_POLL_INOUT (3) or CURL_POLL_REMOVE (4).
        if sockets.want(what == 4 ? 0 : what & 3, of: descriptor, poller: poller) { return }
        let transfer = easy.flatMap { clarkspur_easy_pointer($0, CURLINFO_PRIVATE) }
        transfer.map { CurlTransfer.at($0) { $0.cannotWait() } }
    }

    func close(_ descriptor: Int32) {
        sockets.willClose(descriptor, poller: poller)
        clarkspur_socket_close(descriptor)
    }
}
