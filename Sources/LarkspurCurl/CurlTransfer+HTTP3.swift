/// The choice between HTTP/3 and the versions over TCP.
extension CurlTransfer {
    /// Returns the version for the next sending of the hop, and sets the server to connect to.
    func chooseVersion(of hop: CurlHop) -> CurlVersion {
        let request = hop.request
        (hop.fallbackTime, hop.alternative, hop.prefersHTTP3) = (CurlClock.never, nil, false)
        if request.version == .negotiated, loop.usesAlternatives(for: request, hop.route) {
            hop.alternative = loop.shared.alternatives.withLock { $0.endpoint(for: request.url, at: loop.now) }
        }
        connect(to: hop.alternative, of: request.url)
        if hop.alternative != nil {
            hop.prefersHTTP3 = true
            // Over a reused connection, the hop is connected at once.
            let delay = CompactDuration(wrappedValue: loop.configuration.fallbackDelay).nanoseconds
            hop.fallbackTime = loop.now + min(delay, request.timeouts.$connect.nanoseconds / 2)
            return .onlyHTTP3
        }
        if request.version == .http3, loop.mayUseHTTP3(request, hop.route) {
            hop.prefersHTTP3 = true
            return .http3
        }
        return .fit(for: request, negotiates: loop.configuration.negotiatesHTTP2, .current)
    }

    /// Keeps the alternative that the response names.
    func learnAlternative(from head: ResponseHead, of hop: CurlHop) {
        guard loop.usesAlternatives(for: hop.request, hop.route) else { return }
        let (url, now) = (hop.request.url, loop.now)
        loop.shared.alternatives.withLock { alternatives in
            // RFC 7838, section 6: the alternative does not serve this origin, and its own field does not count.
            if head.status == 421 { return alternatives.remove(url, at: now) }
            alternatives.learn(from: head, of: url, at: now)
        }
    }

    /// Sends a hop again whose transfer over HTTP/3 has failed, or ends it. Returns false if neither is needed.
    func continuesAfterHTTP3(_ hop: CurlHop) -> Bool {
        noteBrokenAlternative(of: hop)
        if hop.isRepeatedByLibcurl {
            hop.isRepeatedByLibcurl = false
            let mayRepeat = hop.isIdempotent && hop.countRepetition(upTo: 1) && hop.rewind(at: loop.now)
            let lost = TransportError(
                .connectionLost, "the connection over HTTP/3 was lost; the server may have processed the request",
                phase: .waiting)
            mayRepeat ? send(hop) : finish(hop, hop.fault ?? lost)
            return true
        }
        guard hop.alternative != nil, !hop.isConnected, hop.fault == nil, !hop.wasStopped else { return false }
        fallBack(of: hop)
        return true
    }

    /// Sends the hop to the host itself, because its alternative could not be reached.
    func fallBack(of hop: CurlHop) {
        noteBrokenAlternative(of: hop)
        hop.fallsBack = true
        if hop.rewind(at: loop.now) { send(hop) } else { finish(hop, hop.fault) }
    }

    /// Notes that the hop's alternative is of no use, if the hop has no response from it. The failure of the request's
    /// own body says nothing about the alternative.
    func noteBrokenAlternative(of hop: CurlHop) {
        guard hop.alternative != nil, !hop.head.isWhole, hop.fault?.code != .bodyFailed else { return }
        loop.shared.alternatives.withLock { $0.markBroken(hop.request.url, at: loop.now) }
    }
}

extension CurlLoop {
    /// Returns whether the request may be sent over HTTP/3.
    ///
    /// HTTP/3 needs a direct connection. Peers are not evaluated over HTTP/3, so a request that asks for trust uses
    /// TCP. So does a request whose response may be paused, because libcurl does not hold back the peer of such a
    /// response.
    func mayUseHTTP3(_ request: TransportRequest, _ route: CurlRoute?) -> Bool {
        CurlLibrary.current.hasHTTP3 && request.url.isHTTPS && route == nil && !request.asksForTrust
            && !request.upgrades && request.initialAllowance == .max && !request.body.hasTrailers
    }

    /// Returns whether alternatives are used for the request, and kept if its response names one.
    func usesAlternatives(for request: TransportRequest, _ route: CurlRoute?) -> Bool {
        configuration.followsAlternatives && configuration.negotiatesHTTP2 && mayUseHTTP3(request, route)
    }
}
