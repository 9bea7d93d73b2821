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
            // The default handling would send the tickets of the system's user to the server.
            case NSURLAuthenticationMethodNegotiate where !space.isProxy(): return (.rejectProtectionSpace, nil)
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
            // If the system accepts the chain, it refuses only the name. If it refuses the chain, it may not have
            // checked the name.
            var hostError: TransportError? = chainError == nil ? verdict : Self.nameError(of: trust, host: host)
            hostError?.code = .wrongHost
            self.init(
                host: host, port: port, certificates: certificates, chainError: chainError, hostError: hostError)
        }

        /// Returns the verdict on the leaf's name, as if its chain were trusted. A leaf that breaks other rules for TLS
        /// servers, for example because it has expired, counts as one with a wrong name.
        private static func nameError(of trust: SecTrust, host: String) -> TransportError? {
            let unknown = TransportError(.wrongHost, "the system cannot check the host name", phase: .securing)
            var own: SecTrust?
            guard let name = CFString.make(host), let chain = SecTrustCopyCertificateChain(trust),
                CFArrayGetCount(chain) > 0, let item = CFArrayGetValueAtIndex(chain, 0)
            else { return unknown }
            let leaf = Unmanaged<SecCertificate>.fromOpaque(item).takeUnretainedValue()
            let status = SecTrustCreateWithCertificates(leaf, SecPolicyCreateSSL(true, name), &own)
            guard status == errSecSuccess, let own, let anchors = CFArray.make(leaf),
                SecTrustSetAnchorCertificates(own, anchors) == errSecSuccess
            else { return unknown }
            SecTrustSetNetworkFetchAllowed(own, false)
            return verdict(on: own)
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

    extension CFArray {
        /// Returns an array that retains its one element.
        fileprivate static func make(_ element: CFTypeRef) -> CFArray? {
            var values = [UnsafeRawPointer?(Unmanaged.passUnretained(element).toOpaque())]
            var rules = kCFTypeArrayCallBacks
            return withExtendedLifetime(element) { CFArrayCreate(nil, &values, 1, &rules) }
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
