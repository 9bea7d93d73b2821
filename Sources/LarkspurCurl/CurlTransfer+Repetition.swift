internal import CLarkspur

/// The rules for sending a hop again. Both libcurl and this transport send hops again.
///
/// A hop is sent again after a loss if the server has certainly not processed the request, or if its method is
/// idempotent. The server has not processed a request that it has refused, that a GOAWAY frame excludes, or that was
/// not sent completely. A hop whose request may have reached the server is sent again at most once, any other hop is
/// sent up to `sendLimit` times. The answer to a proxy's challenge is sent again once whatever its method is, because
/// the proxy may have closed the connection with its challenge.
extension CurlTransfer {
    /// The maximum number of times that a hop is sent.
    static let sendLimit = 5

    /// Returns whether the proxy has refused an answer to an earlier hop's challenge, and the hop can be sent again
    /// with a new handle. The proxy may only have forgotten that challenge, but libcurl would report a wrong password.
    func isForgotten(after code: Int32, _ hop: CurlHop) -> Bool {
        guard hop.answersOldChallenge, hop.fault == nil, hop.sends < Self.sendLimit else { return false }
        let isTunnelRefused = !hop.isConnected && clarkspur_easy_long(easy, CURLINFO_HTTP_CONNECTCODE) == 407
        return (hop.isChallengedAgain || isTunnelRefused && code != 0) && hop.rewind(at: loop.now)
    }

    /// Returns whether the hop can be sent again after its connection was lost. This is the case if the server has not
    /// processed the request, or if a repetition does no harm. libcurl itself repeats requests over stale connections,
    /// but it does not repeat every request that a GOAWAY frame has ended.
    func sendsAgain(after code: Int32, _ hop: CurlHop) -> Bool {
        guard code != 0, hop.fault == nil, !hop.head.hasBegun, hop.sends < Self.sendLimit else { return false }
        let failure = failure(code, hop)
        let isReused = clarkspur_easy_long(easy, CURLINFO_NUM_CONNECTS) == hop.connectionsBefore
        if failure.isForFreshConnection, isReused {
            hop.needsFreshConnection = true
            return hop.rewind(at: loop.now)
        }
        let isUntouched = isUntouched(hop)
        let isIncomplete = failure.isOfSending && isCutShort(hop) || isReused && hop.isBodyUnread
        // A new connection is no stale one: its loss is the server's answer, unless it has refused the request.
        let isStale = failure.isMultiplexed || isReused || hop.isUnprocessed
        guard hop.isConnected, failure.isLoss, isStale, isUntouched || isIncomplete || hop.mayBeProcessedTwice,
            mayRepeat(hop, after: failure, isUntouched: isUntouched)
        else { return false }
        return hop.rewind(at: loop.now)
    }

    private static let watchesStreams = clarkspur_http2_is_watched()

    /// Returns whether this transport may repeat the hop, and counts the repetition.
    private func mayRepeat(_ hop: CurlHop, after failure: CurlFailure, isUntouched: Bool) -> Bool {
        // A reset is the server's answer to this request, unless the server has refused it unprocessed. libcurl repeats
        // most refused requests, but not the sixth one of an easy handle.
        if hop.isReset, !hop.isUnprocessed { return false }
        let isUnsent = failure.isMultiplexed && hop.stream == nil && !hop.prefersHTTP3 && Self.watchesStreams
        if isUnsent { return true }
        return hop.countRepetition(upTo: isUntouched ? Self.sendLimit - 1 : 1)
    }

    /// Counts that libcurl repeats the hop. Returns false if the request may not be sent again, which ends the hop.
    ///
    /// libcurl repeats a hop by itself after a reused connection was lost without a byte of the response, and after the
    /// server has refused the request unprocessed. It does so whatever the method is.
    func mayRepeat(_ hop: CurlHop) -> Bool {
        let isUntouched = isUntouched(hop)
        let isRepeatable = isUntouched || !hop.isReset && (hop.isBodyUnread || hop.mayBeProcessedTwice)
        if isRepeatable, hop.countRepetition(upTo: isUntouched ? Self.sendLimit - 1 : 1) { return true }
        let times = hop.repetitions + 1
        let message =
            isRepeatable
            ? "the request was sent \(times) times, and each connection was lost"
            : "the connection was lost after the whole request was sent; the server may have processed the request"
        hop.fault = TransportError(.connectionLost, message, phase: isRepeatable ? phase(of: hop) : .waiting)
        return false
    }

    /// Returns whether the request is about to be sent over HTTP/2, and the watcher reports its head. Only for requests
    /// that are not idempotent is the answer needed, so it is false for the others.
    func opensStream(for hop: CurlHop) -> Bool {
        guard Self.watchesStreams, !hop.isIdempotent else { return false }
        return hop.request.url.isHTTPS ? clarkspur_tls_speaks_http2(easy) : hop.request.version == .http2
    }

    /// The number of bytes of heads that libcurl has sent for the hop.
    var headBytes: Int { clarkspur_easy_long(easy, CURLINFO_REQUEST_SIZE) }

    /// Returns whether the server has stated that it has not processed the request, or no byte of the head was sent
    /// over the connection that was lost.
    ///
    /// The server may not have received all bytes that libcurl has sent. Before 7.80, no callback reports the start of
    /// the request, and the bytes of a CONNECT request count as its head.
    private func isUntouched(_ hop: CurlHop) -> Bool {
        hop.isUnprocessed || hop.hasStream && hop.stream == nil || headBytes <= hop.headBytesBefore
    }

    /// Notes that the server has reset the stream of the hop. If it has reset the hop's stream before, the hop ends,
    /// because libcurl would send a refused request again and again.
    func didReset() {
        guard let hop else { return }
        hop.isReset = true
        guard !hop.head.hasBegun else { return }
        hop.resets += 1
        guard hop.resets > 1, hop.fault == nil else { return }
        let isSending = hop.upload.map { !$0.isOver } == true
        hop.fault = TransportError(
            .connectionLost, "the server has reset the request's stream twice", phase: isSending ? .sending : .waiting)
        loop.setAlarm(loop.now, for: slot)
    }

    /// Returns whether the end of the body was not sent. In this case, the peer has received no complete request, and
    /// cannot have processed it.
    private func isCutShort(_ hop: CurlHop) -> Bool {
        guard let length = hop.request.body.length else { return hop.upload?.isOver == false }
        return UInt64(max(0, clarkspur_easy_offset(easy, CURLINFO_SIZE_UPLOAD_T))) < length
    }

    // MARK: The connection that libcurl chose

    /// Returns the error of a hop that requires HTTP/2 if its server has chosen HTTP/1.1 over TLS; otherwise nil. New
    /// versions of libcurl offer such a server nothing else, and the handshake fails.
    ///
    /// - Parameter hasHead: Whether the response has shown the version. Before, only OpenSSL tells the server's choice,
    ///   and only from libcurl 7.80 on is it asked before the request is sent.
    func lackOfHTTP2(_ hop: CurlHop, hasHead: Bool) -> TransportError? {
        guard hop.request.version == .http2, hop.request.url.isHTTPS,
            hasHead ? hop.head.isHTTP1 : !hop.nestsTLS && clarkspur_tls_speaks_http1(easy)
        else { return nil }
        return TransportError(
            .handshake, "HTTP/2 was required without negotiation, and the server speaks HTTP/1.1; use .negotiated",
            phase: hasHead ? .waiting : .securing)
    }

    /// Returns whether the request may be sent over the connection that libcurl chose. If not, this transport hands the
    /// hop to libcurl again, for another connection.
    func isConnectionFit(for hop: CurlHop, between ends: CurlSockets.Ends?) -> Bool {
        // After the error HTTP_1_1_REQUIRED, libcurl repeats the request over HTTP/1.1.
        if hop.isRepetition, hop.request.version == .http2 { return false }
        guard opened.isEmpty else {
            if let lack = lackOfHTTP2(hop, hasHead: false) {
                hop.fault = lack
                return false
            }
            // HTTP/2 connections are never checked for waiting bytes: their frames name a stream, so bytes that wait
            // there cannot be taken for the response of another request.
            if let ends, !clarkspur_tls_speaks_http2(easy) { loop.sockets.record(ends, among: opened) }
            opened.removeAll(keepingCapacity: true)
            return true
        }
        if hop.request.version == .http2 {
            guard CurlLibrary.current.mixesVersions, clarkspur_tls_speaks_http1(easy) else { return true }
            // libcurl closes the connection, and may then choose a connection with HTTP/2.
            hop.needsFreshConnection = hop.sends > 2
            return false
        }
        // After a loss, other reused HTTP/1.1 connections may be stale too, and each would cost another sending.
        hop.needsFreshConnection =
            !isSilent(hop, between: ends) || hop.isRepetition && !clarkspur_tls_speaks_http2(easy)
        return !hop.needsFreshConnection
    }

    /// Returns whether no bytes wait on a reused HTTP/1 connection. libcurl would treat these bytes as the response.
    private func isSilent(_ hop: CurlHop, between ends: CurlSockets.Ends?) -> Bool {
        if hop.nestsTLS { return clarkspur_tls_speaks_http2(easy) }
        guard let ends, let descriptor = loop.sockets.descriptor(of: ends) else { return true }
        let usesTLS = hop.request.url.isHTTPS || hop.route?.proxy?.kind == .https
        return usesTLS ? clarkspur_tls_is_silent(easy, descriptor) : clarkspur_socket_is_empty(descriptor)
    }

    /// Returns whether the hop needs a connection of its own, because libcurl could reuse an unfit connection.
    func needsOwnConnection(_ hop: CurlHop, _ version: CurlVersion) -> Bool {
        let (library, mixesVersions) = (CurlLibrary.current, hop.place.mixesVersions)
        if hop.request.version == .http2, !hop.request.url.isHTTPS {
            return library.breaksPlainHTTP2 || library.mixesVersions && mixesVersions
        }
        return !library.tellsOfRequests && (hop.nestsTLS || mixesVersions && version != .negotiated)
    }
}
