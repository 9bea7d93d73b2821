#if os(Linux)
    import CLarkspur
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    @testable import LarkspurCurl

    /// Peers with unusual certificates. The outcome is the same with and without `asksForTrust`.
    @Suite(
        "Rules for certificates", .limited, .usesOpenSSL,
        .enabled(if: OddPeers.ports != nil, "no LARKSPUR_ODD_PEERS"))
    struct CertificateRulesTests {
        private let trusting: CurlTransport.Configuration

        init() throws {
            var configuration = try #require(Environment.trusting)
            configuration.ciphers = "DEFAULT:@SECLEVEL=2"  // independent of the system's default
            trusting = configuration
        }

        private func check(_ certificate: String, as host: String, _ expected: Fault.Outcome) async throws {
            let port = try #require(OddPeers.ports?[certificate])
            let url = try RequestURL("https://\(host):\(port)/")
            var configuration = trusting
            configuration.hosts[host] = IPAddress.bytes(host) == nil ? .addresses(["127.0.0.1"]) : nil
            let plain = try await CurlTransport(configuration: configuration).run(TransportRequest(url: url))
            plain.check(expected)
            guard CurlTrust.problem == nil else { return }  // this libcurl has no CURLOPT_PREREQFUNCTION
            let asked = try await CurlTransport(configuration: configuration).run(url) { _ in .platformDefault }
            asked.check(expected)
            #expect(asked.questions.count == 1)
            // An evaluator can accept every fault of a chain.
            try await CurlTransport(configuration: configuration).run(url) { _ in .trusted }.check(.response("ok"))
        }

        private static let chains: [(certificate: String, code: TransportError.Code?)] = [
            ("sound", nil), ("weak-key", .weakCertificateKey), ("weak-issuer-key", .weakCertificateKey),
            ("weak-digest", .weakCertificateDigest), ("weak-issuer-digest", .weakCertificateDigest),
            ("for-clients", .untrusted), ("unknown-extension", .untrusted), ("no-authority", .untrusted),
            ("constrained", .untrusted), ("too-deep", .untrusted), ("damaged", .untrusted),
            ("malformed-authority", .unknownIssuer),
        ]

        @Test("T25: a chain is refused with the same code, with or without asksForTrust", arguments: chains)
        func chain(certificate: String, code: TransportError.Code?) async throws {
            try await check(certificate, as: "localhost", code.map(Fault.Outcome.failure) ?? .response("ok"))
        }

        private static let names: [(certificate: String, host: String, fits: Bool)] = [
            ("name", "pin.test", true), ("name", "PIN.test", true), ("name", "pin.test.", true),
            ("name", "a.pin.test", false), ("name", "127.0.0.1", false), ("upper-case", "pin.test", true),
            ("whole-name", "pin.test", true), ("whole-name", "pin.test.", true), ("wildcard", "a.pin.test", true),
            ("wildcard", "_a.pin.test", true), ("wildcard", "a.pin.test.", true), ("wildcard", "pin.test", false),
            ("wildcard", "a.b.pin.test", false), ("whole-wildcard", "a.pin.test", true),
            ("underscore", "_a.pin.test", true), ("partial-wildcard", "www.pin.test", false),
            ("inner-wildcard", "www.pin.test", false), ("wide-wildcard", "pin.test", false),
            ("common-name", "pin.test", false), ("common-wildcard", "a.pin.test", false),
            ("common-address", "127.0.0.1", false), ("name-beside-address", "pin.test", false),
            ("name-beside-address", "127.0.0.1", true), ("name-beside-mail", "pin.test", false),
            ("address-as-name", "127.0.0.1", false), ("address-beside-name", "127.0.0.1", false),
            ("address-beside-name", "pin.test", true),
        ]

        @Test(
            "T25: only alternative names count, with underscores and wildcards too, with or without asksForTrust",
            arguments: names)
        func name(certificate: String, host: String, fits: Bool) async throws {
            #expect(clarkspur_curl_load() == nil)
            if certificate.hasPrefix("whole-"), CurlLibrary.current.number < 0x07_5800 { return }  // unsupported
            try await check(certificate, as: host, fits ? .response("ok") : .failure(.wrongHost))
        }
    }

    /// The ports of the servers that `.ci/peers/odd-peers.py` has started, by the name of their certificate.
    private enum OddPeers {
        static let ports: [String: Int]? = {
            guard let path = ProcessInfo.processInfo.environment["LARKSPUR_ODD_PEERS"],
                let text = try? String(contentsOfFile: path, encoding: .utf8)
            else { return nil }
            let lines = text.split(separator: "\n").map { $0.split(separator: "=") }
            return Dictionary(uniqueKeysWithValues: lines.map { (String($0[0]), Int($0[1]) ?? 0) })
        }()
    }

    extension CurlTransport {
        /// Runs one hop; the closure evaluates its peer.
        func run(
            _ url: RequestURL, fields: [HTTPHeader] = [],
            judging judge: @escaping @Sendable (PeerTrust) -> TrustDecision?
        ) async throws -> Trace {
            var request = TransportRequest(url: url, fields: fields)
            request.asksForTrust = true
            let delegate = RecordingDelegate(answering: { question in
                guard case .serverTrust(let peer, let reply) = question, let decision = judge(peer) else { return }
                reply(decision)
            })
            task(for: request, id: TransportTaskID(1), delegate: delegate).resume()
            return try await delegate.wait { $0.isCompleted && $0.depth == 0 }
        }
    }
#endif
