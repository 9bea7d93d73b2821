#if canImport(Darwin)
    internal import Security

    extension URLSessionHop {
        /// Answers a question of the platform about the trust of the server or the identity of the client.
        func answer(
            _ challenge: URLAuthenticationChallenge
        ) -> (URLSession.AuthChallengeDisposition, URLCredential?) {
            let space = challenge.protectionSpace
            switch space.authenticationMethod {
            case NSURLAuthenticationMethodServerTrust: return judge(space)
            case NSURLAuthenticationMethodClientCertificate: return identify(space)
            default: return (.performDefaultHandling, nil)  // a 401 is delivered as it is (T2)
            }
        }

        private func judge(
            _ space: URLProtectionSpace
        ) -> (URLSession.AuthChallengeDisposition, URLCredential?) {
            guard request.asksForTrust else { return (.performDefaultHandling, nil) }
            guard let trust = space.serverTrust else {
                end(TransportError(.untrusted, "the system has no certificates of the peer", phase: .securing))
                return (.cancelAuthenticationChallenge, nil)
            }
            // The name is that of the request, which the evaluators were chosen for.
            let host = request.url.host.map(String.init) ?? space.host
            let peer = PeerTrust(trust, host: host, port: request.url.effectivePort ?? space.port)
            let reply = TransportReply<TrustDecision>()
            ask(.serverTrust(peer, reply))
            if let fault = peer.fault(after: reply.value) {
                end(fault)
                return (.cancelAuthenticationChallenge, nil)
            }
            didJudge()
            // With the default handling, rules of the app such as App Transport Security still apply.
            if case .trusted = reply.value { return (.useCredential, URLCredential(trust: trust)) }
            return (.performDefaultHandling, nil)
        }

        private func identify(
            _ space: URLProtectionSpace
        ) -> (URLSession.AuthChallengeDisposition, URLCredential?) {
            let reply = TransportReply<ClientIdentity>()
            ask(.clientIdentity(host: space.host, reply))
            guard let identity = reply.value.map(PlatformIdentity.init) ?? transport.template.identity else {
                return (.performDefaultHandling, nil)
            }
            switch identity.credential {
            case .success(let credential): return (.useCredential, credential)
            case .failure(let error):
                end(error)
                return (.cancelAuthenticationChallenge, nil)
            }
        }
    }

    extension PeerTrust {
        /// Creates a description of the peer, with the system's verdict on the chain and on the host name.
        init(_ trust: SecTrust, host: String, port: Int) {
            // The system's own verdict comes first, with its own policies. The chain is that of this verdict.
            let verdict = Self.verdict(on: trust)
            let certificates = Self.certificates(of: trust)
            guard let verdict else {
                self.init(host: host, port: port, certificates: certificates)
                return
            }
            var policies: CFArray?
            SecTrustCopyPolicies(trust, &policies)
            SecTrustSetPolicies(trust, SecPolicyCreateSSL(true, nil))  // all rules for TLS servers except the name
            let chainError = Self.verdict(on: trust)
            if let policies { SecTrustSetPolicies(trust, policies) }
            // If the system refuses only the name, the name is wrong. If it refuses the chain, it may not have checked
            // the name, so the name counts as wrong too.
            var hostError = verdict
            hostError.code = .wrongHost
            self.init(
                host: host, port: port, certificates: certificates, chainError: chainError, hostError: hostError)
        }

        private static func certificates(of trust: SecTrust) -> [[UInt8]] {
            guard let chain = SecTrustCopyCertificateChain(trust) else { return [] }
            return (0..<CFArrayGetCount(chain)).compactMap { index in
                guard let item = CFArrayGetValueAtIndex(chain, index) else { return nil }
                let data = SecCertificateCopyData(Unmanaged<SecCertificate>.fromOpaque(item).takeUnretainedValue())
                return Array(UnsafeBufferPointer(start: CFDataGetBytePtr(data), count: CFDataGetLength(data)))
            }
        }

        private static func verdict(on trust: SecTrust) -> TransportError? {
            var failure: CFError?
            if SecTrustEvaluateWithError(trust, &failure) { return nil }
            guard let failure else { return TransportError(.untrusted, "the system refuses it", phase: .securing) }
            let code = OSStatus(truncatingIfNeeded: CFErrorGetCode(failure))
            return TransportError(
                codes[code] ?? .untrusted, "\((failure as any Error).localizedDescription)", phase: .securing,
                underlying: failure)
        }

        private static var codes: [OSStatus: TransportError.Code] {
            [
                errSecHostNameMismatch: .wrongHost, errSecCertificateExpired: .certificateExpired,
                errSecCertificateNotValidYet: .certificateNotYetValid, errSecCertificateRevoked: .certificateRevoked,
                errSecCreateChainFailed: .unknownIssuer, errSecNotTrusted: .unknownIssuer,
            ]
        }
    }

    extension TransportMetrics {
        /// Creates metrics from those of the platform.
        init(_ transaction: URLSessionTaskTransactionMetrics) {
            self.init()
            guard let start = transaction.fetchStartDate else { return }
            func since(_ date: Date?) -> Duration? { date.map { .seconds(max(0, $0.timeIntervalSince(start))) } }
            nameLookup = since(transaction.domainLookupEndDate)
            connected = since(transaction.connectEndDate)
            secured = since(transaction.secureConnectionEndDate)
            requestSent = since(transaction.requestEndDate)
            firstByte = since(transaction.responseStartDate)
            connectionWasReused = transaction.isReusedConnection
            protocolName = transaction.networkProtocolName
            localAddress = transaction.localAddress
            remoteAddress = transaction.remoteAddress
        }
    }
#endif
