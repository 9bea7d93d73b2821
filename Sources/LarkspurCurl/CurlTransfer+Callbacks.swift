internal import CLarkspur

/// The values that callbacks return to libcurl instead of a number of bytes.
enum CurlAnswer {
    static let pause = Int(CURL_WRITEFUNC_PAUSE)
    static let abortUpload = Int(CURL_READFUNC_ABORT)
    static let fail = 0
}

/// The callbacks that libcurl calls during a transfer.
extension CurlTransfer {
    func setCallbacks() {
        let this = Unmanaged.passUnretained(self).toOpaque()
        clarkspur_easy_set_pointer(easy, CURLOPT_PRIVATE, this)
        clarkspur_easy_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText)
        clarkspur_easy_on_header(
            easy, { bytes, _, count, this in this.map { CurlTransfer.at($0) { $0.receiveHead(bytes, count) } } ?? 0 },
            this)
        clarkspur_easy_on_body(
            easy, { bytes, _, count, this in this.map { CurlTransfer.at($0) { $0.receiveBody(bytes, count) } } ?? 0 },
            this)
        clarkspur_easy_on_upload(
            easy,
            { bytes, size, count, this in
                this.map { CurlTransfer.at($0) { $0.upload(into: bytes, size * count) } } ?? CurlAnswer.abortUpload
            }, this)
        clarkspur_easy_on_seek(
            easy, { this, offset, origin in this.map { CurlTransfer.at($0) { $0.seek(offset, origin) } } ?? 1 }, this)
        clarkspur_easy_on_request(
            easy,
            { this, remote, local, remotePort, localPort in
                let isAsked = CurlLibrary.current.ignoresWaitingBytes
                let ends = isAsked ? CurlSockets.Ends(remote, remotePort, local, localPort) : nil
                return this.map { CurlTransfer.at($0) { $0.mayBegin(between: ends) } } == true ? 0 : 1
            }, this)
        reportsProgress = false
        clarkspur_easy_on_progress(
            easy, { this, _, _, _, _ in this.map { CurlTransfer.at($0) { $0.mayGoOn() } } == true ? 0 : 1 }, this)
        clarkspur_easy_on_sockets(
            easy,
            { this, _, address in this.map { CurlTransfer.at($0) { $0.openSocket(at: address) } } ?? -1 }, this,
            { loop, descriptor in
                loop.map { CurlLoop.at($0) { $0.close(descriptor) } }
                return 0
            }, Unmanaged.passUnretained(loop).toOpaque())
    }

    /// The maximum length of a proxy's response to CONNECT, in bytes.
    private static let limitOfTunnel = 128 * 1_024

    /// Enables libcurl's progress reports if the hop needs a tunnel. libcurl then calls `mayGoOn` for each byte of the
    /// proxy's response to CONNECT, and `mayGoOn` limits the length of this response. Without the limit, libcurl would
    /// read the response for as long as bytes arrive, and would serve no other connection meanwhile.
    func watchTunnel(of hop: CurlHop) {
        let isOn = hop.route?.tunnels(to: hop.request.url) == true
        guard isOn != reportsProgress else { return }
        reportsProgress = isOn
        clarkspur_easy_set_long(easy, CURLOPT_NOPROGRESS, isOn ? 0 : 1)
    }

    private func mayGoOn() -> Bool {
        guard let hop, !hop.isConnected else { return true }
        hop.reportsOfTunnel += 1
        guard hop.reportsOfTunnel > Self.limitOfTunnel else { return true }
        noticeConnection(of: hop)
        if hop.isConnected { return true }
        hop.fault = TransportError(
            .proxyFailed, "the proxy's response to CONNECT is longer than 128 KiB; the connection was closed",
            phase: .connecting)
        return false
    }

    private func openSocket(at address: UnsafeMutableRawPointer?) -> Int32 {
        // Over a new connection, the body is sent from its first byte, even if a part of it was read for a connection
        // that was lost. Before 7.80, no other callback reports the new connection.
        if let hop, hop.upload != nil, !CurlLibrary.current.tellsOfRequests, seek(0, 0) != 0 { return -1 }
        if hop?.fault != nil { return -1 }
        let descriptor = clarkspur_socket_open(address, loop.configuration.peerTimeoutInMilliseconds)
        guard descriptor >= 0 else {
            hop?.socketError = -descriptor
            return -1
        }
        loop.sockets.didOpen(descriptor)
        opened.append(descriptor)
        hop?.socket = descriptor
        return descriptor
    }

    /// Returns whether libcurl may send the request now. A request whose `Expect` field was refused is not sent again.
    private func mayBegin(between ends: CurlSockets.Ends?) -> Bool {
        guard let hop, !hop.isExpectationRefused, hop.fault == nil else { return false }
        if hop.prefersHTTP3, hop.isRepetition {
            hop.isRepeatedByLibcurl = true
            return false
        }
        if hop.isRepetition, !mayRepeat(hop) { return false }
        guard isConnectionFit(for: hop, between: ends) else {
            hop.isConnectionUnfit = hop.fault == nil
            return false
        }
        hop.answerChallenge(connections: clarkspur_easy_long(easy, CURLINFO_NUM_CONNECTS))
        if hop.request.asksForTrust, hop.request.url.isHTTPS {
            hop.fault = CurlTrust(easy, of: hop.request.url).fault { hop.delegate.answer($0, for: hop.task.id) }
            if hop.fault != nil { return false }
        }
        // libcurl may have read bytes of the body for a connection that was lost before any of them was sent. libcurl
        // then uses another connection without asking for a rewind. The body is therefore rewound before each send.
        guard hop.upload == nil || seek(0, 0) == 0 else { return false }
        // The TLS handshake tells whether the server speaks HTTP/2, so other loops need not wait for its response.
        if hop.place.teachesHTTP1, hop.request.url.isHTTPS, !hop.nestsTLS, clarkspur_tls_speaks_http1(easy) {
            loop.speaksHTTP1(at: hop.place)
        }
        didConnect()
        if hop.request.isWarming { return true }
        hop.begin(headBytes: headBytes, hasStream: opensStream(for: hop))
        return true
    }

    func didConnect() {
        guard let hop, !hop.isConnected else { return }
        hop.isConnected = true
        if hop.request.url.isHTTPS { hop.tls.version = clarkspur_tls_version(easy, &hop.tls.cipher) }
        (hop.uploadStart, hop.lastActivity) = (loop.now, loop.now)
        loop.setAlarm(hop.deadline.time, for: slot)
        if let post = hop.post { hop.delegate.received(.bodySent(UInt64(post.count)), for: hop.task.id) }
    }

    func receiveHead(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard let hop, let bytes else { return CurlAnswer.fail }
        didConnect()  // libcurl before 7.80 does not report the connection
        hop.lastActivity = loop.now
        let line = UnsafeRawBufferPointer(start: bytes, count: count).assumingMemoryBound(to: UInt8.self)
        let isTrailer = hop.challenge != nil && !line.starts(with: "HTTP/".utf8)
        // Another head after the challenge means that libcurl has answered the challenge. Before 7.80, no callback
        // reports that libcurl sends the answer.
        if !isTrailer, hop.challenge != nil { (hop.challenge, hop.answersOldChallenge) = (nil, false) }
        let progress = isTrailer ? hop.challenge?.reader.add(line) : hop.head.add(line)
        if hop.awaitsField, hop.head.isWhole || hop.head.hasFields { didReceiveField(of: hop) }
        switch progress {
        case .more, nil: return count
        case .information(let head):
            hop.delegate.received(.information(head), for: hop.task.id)
            return count
        case .head(let head) where head.status == 101 && !hop.asksForUpgrade:
            hop.fault = TransportError(
                .protocolViolation, "the server switches to another protocol (101), though the request asked for none",
                phase: .waiting)
            return CurlAnswer.fail
        case .head(let head):
            prepareForBody(of: hop, status: head.status)
            if let lack = lackOfHTTP2(hop, hasHead: true) {
                hop.fault = lack
                return CurlAnswer.fail
            }
            if hop.head.isHTTP2 { loop.speaksHTTP2(at: hop.place) }
            if hop.head.isHTTP1 { loop.speaksHTTP1(at: hop.place) }
            if hop.head.isHTTP3 { loop.speaksHTTP3(at: hop.place) }
            learnAlternative(from: head, of: hop)
            if hop.hasLostTrailers { return CurlAnswer.fail }
            loop.setAlarm(hop.deadline.time, for: slot)
            if hop.holds(head) {
                if hop.isChallengedTooOften {
                    hop.challenge = nil
                    hop.fault = TransportError(
                        .proxyUnauthorized, "the proxy has answered \(Self.sendLimit) credentials with a new challenge",
                        phase: .waiting)
                    return CurlAnswer.fail
                }
                hop.connectionsBefore = clarkspur_easy_long(easy, CURLINFO_NUM_CONNECTS)
                return count
            }
            hop.isExpectationRefused = hop.expects && head.status == 417
            // After this head, libcurl may need no more of the request's body, but libcurl notices this only when it
            // reads on. A paused upload is therefore woken.
            hop.isRefused = hop.head.isHTTP2 && head.status >= 300 && hop.upload != nil && hop.uploadEnd == nil
            if hop.uploadFlow != .running || hop.isRefused { hop.task.wake() }
            loop.hasPending(slot)
            hop.pendingHead = head
            // Before 7.80, libcurl sends the request again unless this callback fails.
            let isSentAgain = hop.isExpectationRefused && hop.upload?.position == 0
            return isSentAgain && !CurlLibrary.current.tellsOfRequests ? CurlAnswer.fail : count
        case .broken(let error):
            hop.fault = error
            return CurlAnswer.fail
        }
    }

    func receiveBody(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard let hop, let bytes else { return CurlAnswer.fail }
        if hop.awaitsField {
            guard CurlHead.isContinuation(UInt8(bitPattern: bytes[0])) else { return count }
            hop.fault = CurlHead.continuesNothing
            return CurlAnswer.fail
        }
        if hop.isChallengedAgain { return CurlAnswer.fail }
        hop.deliverChallenge()
        let piece = UnsafeRawBufferPointer(start: bytes, count: count)
        if !hop.pending.hasRoom(for: piece) { hop.deliverPending() }
        // The task decides about delivery at the start of each buffer, and again where its allowance ends (T15, T16 in
        // `Transport`).
        if hop.pending.isEmpty || hop.received >= hop.allowance {
            switch hop.task.flow(at: hop.received) {
            case .pause:
                hop.isBodyPaused = true
                return CurlAnswer.pause
            case .stop:
                hop.wasStopped = true
                return CurlAnswer.fail
            case .deliver(let allowance):
                hop.allowance = allowance
                if !hop.hasPending { loop.hasPending(slot) }
            }
        }
        guard hop.append(piece) else {
            hop.fault = TransportError(.other, "there is no memory for the body", phase: .receiving)
            return CurlAnswer.fail
        }
        hop.lastActivity = loop.now
        guard let chunks = hop.chunks, chunks.isOver || chunks.isBroken else { return count }
        // libcurl does not know where these chunks end, so this callback stops the transfer.
        if chunks.isBroken {
            hop.fault = TransportError(.protocolViolation, "the response's body has a broken chunk", phase: .receiving)
        }
        return CurlAnswer.fail
    }

    private func upload(into bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard let hop, let upload = hop.upload, !hop.isExpectationRefused else { return CurlAnswer.abortUpload }
        didConnect()
        if hop.task.isSuspended {
            hop.uploadFlow = .heldByUser
            return CurlAnswer.pause
        }
        let read = upload.read(into: UnsafeMutableRawBufferPointer(start: bytes, count: count))
        loop.tick()  // reading the body may have taken long
        switch read {
        case .bytes(let count):
            hop.lastActivity = loop.now
            if upload.isOver, let stream = hop.stream, hop.head.isWhole {
                hop.isAnsweredBeforeEnd = clarkspur_http2_is_half_closed(stream.session, stream.number)
            }
            if upload.isOver { hop.isBodyRead = true }
            if upload.isOver, hop.uploadEnd == nil {
                hop.uploadEnd = loop.now
                if hop.head.isHTTP2, hop.head.isWhole { hop.task.wake() }  // see `lookAtEnd`
                loop.setAlarm(hop.deadline.time, for: slot)
            }
            if let stream = hop.stream { loop.sessions.didUpload(count, over: stream.session) }
            if count > 0 { hop.delegate.received(.bodySent(upload.position), for: hop.task.id) }
            return count
        case .pending:
            hop.uploadFlow = .waitingForBytes
            return CurlAnswer.pause
        case .failed(let error):
            hop.fault = error
            return CurlAnswer.abortUpload
        }
    }

    /// Rewinds the body to its first byte when libcurl has to send the body again. Returns 0 on success, and 1 if the
    /// body cannot be rewound.
    private func seek(_ offset: Int64, _ origin: Int32) -> Int32 {
        guard let hop, !hop.isExpectationRefused, offset == 0, origin == 0 else { return 1 }
        defer { loop.setAlarm(hop.deadline.time, for: slot) }
        // After a challenge, the rewind means that libcurl answers the challenge. Before 7.80, no other callback
        // reports that.
        if !CurlLibrary.current.tellsOfRequests { hop.challenge = nil }
        return hop.rewind(at: loop.now) ? 0 : 1
    }
}
