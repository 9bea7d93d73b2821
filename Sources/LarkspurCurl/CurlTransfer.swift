internal import CLarkspur

/// A reusable easy handle and the hop that it performs now. Only the thread that has the loop's turn uses a transfer.
final class CurlTransfer {
    typealias Slot = Int

    let slot: Slot
    let loop: CurlLoop  // no lasting reference cycle: the loop releases its transfers when it ends
    private(set) var easy: UnsafeMutableRawPointer
    let errorText: UnsafeMutablePointer<CChar>
    @exclusivity(unchecked) private var options: CurlOptions
    @exclusivity(unchecked) private var url: CurlURL
    @exclusivity(unchecked) private var fields = CurlFields()
    private var post = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    @exclusivity(unchecked) private(set) var hop: CurlHop?
    /// The proxy whose challenge libcurl may still remember in this handle.
    private var asker: Proxy?
    /// Whether the loop can look up this transfer by its easy handle.
    private var isOwner = false
    /// The sockets that libcurl has opened for the hop and has not used yet.
    var opened: [Int32] = []
    /// Whether libcurl reports its progress.
    var reportsProgress = false
    /// Whether the hop's connection must not be reused although libcurl would reuse it.
    var closesConnection = false
    /// Whether the handle has the client identity of the last hop's host, and not that of the transport.
    var hasOwnIdentity = false
    /// Whether the handle stops before it sends a request.
    private var stopsBeforeRequest = false

    /// Creates an easy handle. Returns nil if libcurl is out of memory.
    init?(slot: Slot, loop: CurlLoop) {
        guard let url = CurlURL(), let easy = clarkspur_easy_open() else { return nil }
        self.url = url
        self.slot = slot
        self.loop = loop
        self.easy = easy
        errorText = .allocate(capacity: 256)  // the length of CURLOPT_ERRORBUFFER
        options = CurlOptions(easy: easy)
        setUp()
    }

    private func setUp() {
        asker = nil
        options = CurlOptions(easy: easy)
        (hasOwnIdentity, stopsBeforeRequest) = (false, false)
        options.setUp(loop.configuration, authorities: loop.authorities, url: url.handle, keyLog: loop.keyLog)
        setCallbacks()
    }

    /// Replaces the easy handle, because libcurl keeps unwanted state in the old handle. If a peer has refused the
    /// `Expect` field once, the handle never waits for `100 Continue` again. If the handle has answered a proxy's
    /// challenge, it repeats the answer, even to another proxy.
    private func renew() { if let old = replaceEasy() { clarkspur_easy_close(old) } }

    /// Gives up the easy handle, and continues with a fresh one. Returns the old handle, or nil if libcurl is out of
    /// memory.
    func replaceEasy() -> UnsafeMutableRawPointer? {
        guard let fresh = clarkspur_easy_open() else { return nil }
        if isOwner { loop.setOwner(nil, of: easy) }
        isOwner = false
        defer {
            easy = fresh
            setUp()
        }
        return easy
    }

    /// Removes the hop, whose connection belongs to a tunnel from now on.
    func giveUpHop() { hop = nil }

    func setIdentity(_ identity: ClientIdentity?) { options.identity.set(identity, of: easy) }

    /// Releases the handle and its memory. The loop calls this function once, when the loop ends.
    func close() {
        clarkspur_easy_close(easy)
        errorText.deallocate()
        post.deallocate()
    }

    /// Runs `body` with the transfer at the address that a callback of libcurl has received. Callbacks are frequent, so
    /// this function does not count references. The loop keeps its transfers until it ends, and no callback ends the
    /// loop.
    @inline(__always)
    static func at<Answer>(_ context: UnsafeMutableRawPointer, _ body: (CurlTransfer) -> Answer) -> Answer {
        Unmanaged<CurlTransfer>.fromOpaque(context)._withUnsafeGuaranteedRef(body)
    }

    /// Chooses the decoder of the body's chunks when the head is complete: libcurl, `CurlChunks`, or none.
    func prepareForBody(of hop: CurlHop, status: Int) {
        let codings = hop.head.codings
        hop.hasBody = hop.request.method != "HEAD" && status != 204 && status != 304
        if hop.exchange != nil { return hop.chunks = codings.isChunked ? CurlChunks() : nil }
        guard codings.isChunked else { return hop.chunks = nil }
        guard codings.leavesChunks else { return options.undoChunks(true) }
        hop.chunks = hop.hasBody ? CurlChunks() : nil
    }

    /// Notes that the first header field has arrived, or that a head without fields has ended. From then on, libcurl no
    /// longer passes the head's lines to the callback for the body.
    func didReceiveField(of hop: CurlHop) {
        hop.awaitsField = false
        options.showLines(false)
    }

    // MARK: Lifetime of a hop

    /// Returns the error if this transport cannot send the request, otherwise nil.
    static func refusal(
        of request: TransportRequest, _ configuration: CurlTransport.Configuration, _ routes: CurlRoutes
    ) -> TransportError? {
        if request.method == "HEAD", request.body.length != 0 {
            return TransportError(.bodyFailed, "libcurl cannot send a HEAD request with a body")
        }
        if request.version == .http2, !CurlLibrary.current.hasHTTP2 {
            return TransportError(.unavailable, "libcurl \(CurlLibrary.current.name) was built without HTTP/2")
        }
        if request.version == .http3, !CurlLibrary.current.hasHTTP3 {
            return TransportError(
                .unavailable,
                "libcurl \(CurlLibrary.current.name) was built without HTTP/3; the configuration's libraryPath can name another"
            )
        }
        if request.version == .http2, request.body.hasTrailers {
            return TransportError(.unavailable, "libcurl cannot send trailers over HTTP/2; use .negotiated or .http1")
        }
        if request.asksForTrust, request.url.isHTTPS {
            if let problem = CurlTrust.problem { return problem }
            // The same TLS options apply to the host and to the proxy. If libcurl accepts every verdict on the host, it
            // also accepts every verdict on the proxy, about which the delegate is not asked.
            if routes.route(to: request.url)?.proxy?.kind == .https {
                return TransportError(.unavailable, "server trust cannot be evaluated for hosts behind an https proxy")
            }
        }
        if request.asksForIdentity, request.url.isHTTPS, let problem = CurlIdentity.problem { return problem }
        return configuration.problem ?? routes.problem
    }

    /// Starts a hop for the task. Returns false if the task has ended.
    func begin(_ task: CurlTask, at place: CurlOrigins.Place) -> Bool {
        guard let start = task.record(.running(slot)) else { return false }
        let route = loop.routes.route(to: task.request.url)
        guard url.set(task.request.url, isWhole: route?.needsWholeURL(task.request.url) == true) else {
            task.end(TransportError(.other, "libcurl refused the URL"), metrics: TransportMetrics())
            return false
        }
        let hop = CurlHop(task, start, at: place, route: route, now: loop.now, blocks: loop.shared.blocks)
        self.hop = hop
        loop.willBegin(task)
        send(hop)
        return true
    }

    func send(_ hop: CurlHop) {
        let task = hop.task
        opened.removeAll(keepingCapacity: true)
        errorText.pointee = 0
        if let proxy = hop.route?.asker {
            if asker != proxy, asker != nil { renew() }
            hop.answersOldChallenge = asker != nil
            asker = proxy
        }
        hop.beginSending(at: loop.now)
        let handsOver = hop.route?.handsOver(task.request.url) == true
        let version = chooseVersion(of: hop)
        let ownsConnection = needsOwnConnection(hop, version)
        if ownsConnection, CurlLibrary.current.breaksPlainHTTP2 { closesConnection = true }
        if !isOwner {  // for HTTP/1.1 too, because a server may choose HTTP/2 although it was not offered
            loop.setOwner(slot, of: easy)
            isOwner = true
        }
        options.set(
            task.request, shape: prepareBody(of: hop),
            version: version,
            fields: fields.set(task.request, handedOver: handsOver, alternative: hop.alternative), route: hop.route,
            isFresh: hop.needsFreshConnection || hop.request.body.hasTrailers || ownsConnection)
        if task.request.upgrades { options.connectOnly() }
        if task.request.isWarming != stopsBeforeRequest {
            stopsBeforeRequest.toggle()
            options.stopBeforeRequest(stopsBeforeRequest)
        }
        if task.request.asksForIdentity || hasOwnIdentity { chooseIdentity(of: hop) }
        sendTrailers(of: hop)
        options.showLines(hop.awaitsField)
        if hop.route != nil || reportsProgress { watchTunnel(of: hop) }
        if clarkspur_multi_add(loop.multi, easy) != 0 {
            hop.fault = TransportError(.other, "libcurl refused the request")
            return loop.setAlarm(loop.now, for: slot)
        }
        loop.setAlarm(min(hop.deadline.time, hop.fallbackTime), for: slot)
    }

    /// Sets the server to connect to instead of the URL's host; nil for the host itself.
    func connect(to endpoint: CurlAlternatives.Endpoint?, of url: RequestURL) {
        let isHost = endpoint.map { $0.host == url.host.map(String.init) && $0.port == url.effectivePort } ?? true
        options.connect(to: isHost ? nil : endpoint)
    }

    private func prepareBody(of hop: CurlHop) -> CurlOptions.Shape {
        if hop.request.upgrades { return .bodiless }  // the body is sent after the upgrade
        if let data = hop.post {
            let count = data.count
            if post.count < count {
                post.deallocate()
                post = .allocate(byteCount: CurlHop.postLimit, alignment: 1)
            }
            data.copyBytes(to: post)
            return .post(UnsafeRawBufferPointer(rebasing: post[..<count]))
        }
        guard hop.request.body.length != 0 else { return .bodiless }
        if hop.upload == nil { hop.upload = CurlUpload(hop.request.body, wake: hop.task.wake) }
        return .upload(length: hop.request.body.length)
    }

    /// Carries out the orders that the task has stored: ends the hop, or continues a paused body.
    func obey(_ orders: CurlTask.Orders) {
        guard let hop else { return }
        if let error = orders.end { return fail(error) }
        if hop.exchange != nil { return continueExchange() }
        if orders.hasWoken, hop.uploadEnd != nil || hop.isRefused { lookAtEnd(of: hop) }
        var goesOn = false
        if orders.hasWoken, hop.uploadFlow == .waitingForBytes { hop.uploadFlow = .heldByUser }
        if hop.uploadFlow == .heldByUser, !orders.isSuspended {
            hop.uploadFlow = .running
            goesOn = true
        }
        if hop.isBodyPaused, case .deliver = hop.task.flow(at: hop.received) {
            hop.isBodyPaused = false
            goesOn = true
        }
        guard goesOn else { return }
        hop.lastActivity = loop.now
        loop.setAlarm(hop.deadline.time, for: slot)
        let code = clarkspur_easy_pause(
            easy, (hop.isBodyPaused ? CURLPAUSE_RECV : 0) | (hop.uploadFlow == .running ? 0 : CURLPAUSE_SEND))
        if code != 0 { fail(error(for: code, hop)) }
    }

    /// Sends the hop again or ends it, after libcurl has ended the transfer.
    func didEnd(_ code: Int32) {
        guard let hop else { return }
        noticeConnection(of: hop)
        if code == 0, hop.request.upgrades { return beginExchange(of: hop) }
        clarkspur_multi_remove(loop.multi, easy)
        if hop.isConnectionUnfit {
            hop.isConnectionUnfit = false
            return send(hop)
        }
        if isForgotten(after: code, hop) {
            hop.challenge = nil
            renew()
            return send(hop)
        }
        if code == CURLE_BAD_FUNCTION_ARGUMENT, hop.request.isWarming, hop.fault == nil { return finish(hop, nil) }
        hop.deliverChallenge()
        if code != 0, hop.prefersHTTP3, continuesAfterHTTP3(hop) { return }
        if sendsAgain(after: code, hop) { send(hop) } else { finish(hop, error(for: code, hop)) }
    }

    func fail(_ error: TransportError?) {
        guard let hop else { return }
        if let exchange = hop.exchange { loop.remove(exchange.wire) } else { clarkspur_multi_remove(loop.multi, easy) }
        finish(hop, error)
    }

    /// Fails the hop, because the system cannot report when its socket is ready.
    func cannotWait() {
        hop?.fault = TransportError(.unavailable, "the system refused to watch another socket of this process")
        loop.setAlarm(loop.now, for: slot)
    }

    /// Fails the hop as soon as libcurl has returned, because the peer broke the protocol and libcurl may not report
    /// that.
    func breakOff(_ message: String) {
        guard let hop, hop.fault == nil else { return }
        hop.fault = TransportError(.protocolViolation, message + remark(on: 0, of: hop), phase: phase(of: hop))
        loop.setAlarm(loop.now, for: slot)
    }

    /// Handles the transfer's alarm. Fails the hop if a fault was found or its deadline has passed. If the deadline has
    /// moved, sets the alarm again.
    func alarm() {
        guard let hop else { return }
        if let fault = hop.fault { return fail(fault) }
        noticeConnection(of: hop)
        if hop.alternative != nil, !hop.isConnected, loop.now >= hop.fallbackTime {
            clarkspur_multi_remove(loop.multi, easy)
            return fallBack(of: hop)
        }
        let (time, limit, length) = hop.deadline
        if time > loop.now, hop.isRefused, !hop.isBodyPaused { return lookAtEnd(of: hop) }
        if time > loop.now { return loop.setAlarm(hop.isConnected ? time : min(time, hop.fallbackTime), for: slot) }
        // The request's total limit says nothing about an alternative that the hop is connected to.
        if !hop.isConnected || limit.description != "total" { noteBrokenAlternative(of: hop) }
        let message = "the \(limit) timeout of \((length.wrappedValue ?? .zero).readable) has passed"
        fail(TransportError(.timedOut, message, phase: phase(of: hop)))
    }

    /// Checks whether the transfer is connected, because libcurl before 7.80 does not report that.
    func noticeConnection(of hop: CurlHop) {
        if !hop.isConnected, clarkspur_easy_offset(easy, CURLINFO_PRETRANSFER_TIME_T) > 0 { didConnect() }
    }

    func finish(_ hop: CurlHop, _ error: TransportError?) {
        let metrics = metrics(of: hop)
        if closesConnection { closeConnection() }
        hop.upload?.end()
        self.hop = nil
        if hop.isExpectationRefused || hop.request.upgrades || hop.request.body.hasTrailers { renew() }
        loop.didEnd(hop, error, metrics, in: slot)
    }

    /// Shuts the connection down, so that libcurl finds it closed and does not reuse it.
    private func closeConnection() {
        closesConnection = false
        loop.sockets.shutDown(
            localPort: clarkspur_easy_long(easy, CURLINFO_LOCAL_PORT),
            remoteAddress: clarkspur_easy_text(easy, CURLINFO_PRIMARY_IP),
            remotePort: clarkspur_easy_long(easy, CURLINFO_PRIMARY_PORT))
    }

    /// The number of bytes that libcurl has sent of the hop's body; 0 if there is none.
    var sentBytes: Int64 {
        guard let hop, hop.request.body.length != 0 else { return 0 }
        return clarkspur_easy_offset(easy, CURLINFO_SIZE_UPLOAD_T)
    }

    // MARK: Results

    private func error(for code: Int32, _ hop: CurlHop) -> TransportError? {
        if let fault = hop.fault { return fault }
        if hop.wasStopped { return .cancelled }
        if let chunks = hop.chunks, chunks.isOver || code == 0 {
            return chunks.isOver
                ? nil : TransportError(.truncated, "the connection ended before the last chunk", phase: .receiving)
        }
        if hop.isExpectationRefused, CurlFailure.endsSecondSending(code) {
            if hop.head.contentLength == Int64(hop.received) { return nil }
            return TransportError(.truncated, "libcurl dropped the body of a 417 response", phase: .receiving)
        }
        if code == CURLE_SEND_ERROR, hop.isAnsweredBeforeEnd, !hop.isBodyPaused, hop.rest == 0 { return nil }
        if code != 0 { return failure(code, hop).error }
        if hop.isReset, hop.head.isHTTP2, hop.hasBody, hop.rest != 0 {
            return TransportError(
                .truncated, "the server reset the HTTP/2 stream before the end of the response", phase: .receiving)
        }
        if hop.head.isWhole { return nil }
        return TransportError(.connectionLost, "the connection ended before the response's head", phase: phase(of: hop))
    }

    func failure(_ code: Int32, _ hop: CurlHop) -> CurlFailure {
        let text = String(cString: errorText)
        var message = text.isEmpty ? String(cString: clarkspur_easy_error(code)) : text
        message += remark(on: code, of: hop)
        return CurlFailure(
            code: code, message: message, phase: phase(of: hop), easy: easy, proxy: hop.route?.proxy,
            isConnected: hop.isConnected, socketError: hop.socketError)
    }

    /// Returns a remark about a protocol that the server may not speak, if the server has not answered in HTTP.
    private func remark(on code: Int32, of hop: CurlHop) -> String {
        guard !hop.head.hasBegun, !hop.isReset else { return "" }
        if hop.request.version == .http2 {
            return "; HTTP/2 was required without negotiation, and the server may not speak it; use .negotiated"
        }
        // A server for TLS answers plain text with an alert, which libcurl takes for HTTP/0.9, or disconnects. The
        // latter has other reasons, too, so the port has to look like one for TLS: 443, 8443, 9443.
        let isDisconnected = [CURLE_GOT_NOTHING, CURLE_RECV_ERROR].contains(code)
        let isForTLS = (hop.request.url.effectivePort ?? 0) % 1_000 == 443
        guard hop.request.url.scheme == "http", code == CURLE_UNSUPPORTED_PROTOCOL || isDisconnected && isForTLS else {
            return ""
        }
        return "; if the server expects TLS on this port, use a URL with https://"
    }

    func phase(of hop: CurlHop) -> TransportError.Phase {
        if hop.head.isWhole { return .receiving }
        if let upload = hop.upload, hop.isConnected, !upload.isOver { return .sending }
        if hop.isConnected { return .waiting }
        if clarkspur_easy_offset(easy, CURLINFO_NAMELOOKUP_TIME_T) == 0 { return .nameLookup }
        // libcurl sets the connect time only after the TLS handshake. Whether the TCP connection exists is therefore
        // read from the socket.
        let isSecuring = hop.request.url.scheme == "https" && clarkspur_socket_is_connected(hop.socket)
        return isSecuring ? .securing : .connecting
    }
}
