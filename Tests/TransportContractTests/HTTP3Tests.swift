#if os(Linux)
    import CTestWidth
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    @testable import LarkspurCurl

    @Suite("Alternatives over HTTP/3")
    struct CurlAlternativesTests {
        @Test(
            "The first alternative for h3 counts; everything else removes what is known",
            arguments: [
                (#"h3=":8443""#, "a.example:8443 86400"),
                (#"h3=":8443"; ma=60"#, "a.example:8443 60"),
                (#"h3=":8443"; ma="60"; persist=1"#, "a.example:8443 60"),
                (#"h2=":1", h3-29=":2", h3="b.example:3";ma=5"#, "b.example:3 5"),
                (#"h3="[::1]:443""#, "::1:443 86400"),
                (#"h3=":0", h3=":2""#, "a.example:2 86400"),
                (#"x="a,h3=:1"; y, h3=":2""#, "a.example:2 86400"),
                (#"h3=":443"; ma=99999999999"#, "a.example:443 2592000"),
                (#"h2="a:1"; h3="b:2", h3=":3""#, "a.example:3 86400"),
                (#"h3=":443"; ma=-1, h3=":444""#, "a.example:444 86400"),
                (#"h3=":443"; ma=0"#, "cleared"), ("clear", "cleared"), ("", "cleared"), (#"h2=":443""#, "cleared"),
                (#"h3="u@b:1""#, "cleared"), (#"h3="b:1/x""#, "cleared"), (#"h3="b:1?x""#, "cleared"),
                (#"h3=":99999""#, "cleared"), (#"h3="""#, "cleared"), ("h3", "cleared"), ("h3=", "cleared"),
                (#"h3="unclosed"#, "unclosed:443 86400"),
            ])
        func field(_ field: String, expected: String) {
            switch CurlAlternatives.read(field, host: "a.example") {
            case .unchanged: #expect("unchanged" == expected)
            case .cleared: #expect("cleared" == expected)
            case .found(let endpoint, let seconds): #expect("\(endpoint.host):\(endpoint.port) \(seconds)" == expected)
            }
        }

        @Test("A field of more than 8 KiB changes nothing")
        func longField() {
            let field = String(repeating: " ", count: 8 * 1_024) + "clear"
            #expect(CurlAlternatives.read(field, host: "a.example") == .unchanged)
        }

        private static func head(_ value: String) -> ResponseHead {
            ResponseHead(status: 200, fields: [HTTPHeader(name: "Alt-Svc", value: value)])
        }

        private static let second: CurlClock.Instant = 1_000_000_000

        @Test("An alternative is used until it expires, and not for five minutes after a failure")
        func lifetime() throws {
            let url = try RequestURL("https://a.example/x")
            let other = try RequestURL("https://a.example:8443/x")
            var alternatives = CurlAlternatives()
            alternatives.learn(from: Self.head(#"h3=":1"; ma=1000"#), of: url, at: 0)
            let endpoint = CurlAlternatives.Endpoint(host: "a.example", port: 1)
            #expect(alternatives.endpoint(for: url, at: 999 * Self.second) == endpoint)
            #expect(alternatives.endpoint(for: other, at: 0) == nil)
            #expect(alternatives.endpoint(for: url, at: 1_000 * Self.second) == nil)
            alternatives.markBroken(url, at: 0)
            #expect(alternatives.endpoint(for: url, at: 299 * Self.second) == nil)
            for field in ["clear", #"h3=":2"; ma=1000"#, "clear", #"h3=":1"; ma=1000"#] {
                alternatives.learn(from: Self.head(field), of: url, at: 0)
                #expect(alternatives.endpoint(for: url, at: 299 * Self.second) == nil)
            }
            #expect(alternatives.endpoint(for: url, at: 300 * Self.second) == endpoint)
            alternatives.learn(from: Self.head("clear"), of: url, at: 400 * Self.second)
            #expect(alternatives.endpoint(for: url, at: 400 * Self.second) == nil)
        }

        @Test("The fallback from an alternative continues the connect timeout; another sending begins it again")
        func connectTimeout() throws {
            _ = try #require(CurlTransport().library)
            var request = TransportRequest(url: try RequestURL("https://a.example/"))
            request.timeouts.connect = .seconds(10)
            let task = CurlTask(
                id: TransportTaskID(1), request: request, delegate: RecordingDelegate(), transport: CurlTransport())
            let start = try #require(task.record(.new))
            let hop = CurlHop(
                task, start, at: CurlOrigins.Place(origin: 0, loop: 0), route: nil, now: 0, blocks: CurlBlockPool())
            hop.beginSending(at: 1 * Self.second)
            #expect(hop.deadline.time == 11 * Self.second)
            hop.fallsBack = true
            hop.beginSending(at: 5 * Self.second)
            #expect(hop.deadline.time == 11 * Self.second)
            hop.beginSending(at: 6 * Self.second)
            #expect(hop.deadline.time == 16 * Self.second)
        }

        @Test("At most a thousand origins are kept, those that last longest")
        func limit() throws {
            var alternatives = CurlAlternatives()
            for number in 1...2_000 {
                let url = try RequestURL("https://h\(number).example/")
                alternatives.learn(from: Self.head(#"h3=":1"; ma=\#(number)"#), of: url, at: 0)
            }
            let known = try (1...2_000).filter {
                alternatives.endpoint(for: try RequestURL("https://h\($0).example/"), at: 0) != nil
            }
            #expect(known == Array(1_001...2_000))
        }
    }

    @Suite("Loading libcurl")
    struct LibraryTests {
        @Test("A transport names its libcurl, and refuses requests if it wants another one than the process has")
        func library() async throws {
            let library = try #require(CurlTransport().library)
            #expect("\(library)".contains("libcurl \(library.version)"))
            let other = CurlTransport(configuration: .init { $0.libraryPath = "/nowhere/libcurl.so.4" })
            #expect(other.library == nil)
            try await other.run(TransportRequest(url: try RequestURL("http://127.0.0.1:1/"))).check(
                .failure(.unavailable))
        }

        @Test(
            "Without HTTP/3 in libcurl, a request that wants it is refused",
            .enabled(if: CurlTransport().library?.hasHTTP3 == false, "libcurl has HTTP/3"))
        func refused() async throws {
            var request = TransportRequest(url: try RequestURL("https://127.0.0.1:1/"))
            request.version = .http3
            try await CurlTransport().run(request).check(.failure(.unavailable))
        }
    }

    @Suite(
        "HTTP/3 with real servers", .limited,
        .enabled(if: Environment.port("LARKSPUR_HTTP3") != nil, "no LARKSPUR_HTTP3"),
        .enabled(if: CurlTransport().library?.hasHTTP3 == true, "libcurl was built without HTTP/3"))
    struct HTTP3Tests {
        private let transport: CurlTransport
        private let port: Int
        /// A port without TCP. A request there is certain to use HTTP/3, also on a slow machine.
        private let only: Int

        init() throws {
            var configuration = try #require(Environment.trusting)
            configuration.fallbackDelay = .seconds(60)
            transport = CurlTransport(configuration: configuration)
            port = try #require(Environment.port("LARKSPUR_HTTP3"))
            only = try #require(Environment.port("LARKSPUR_HTTP3_ONLY"))
        }

        private func request(_ path: String, _ version: HTTPVersionChoice, port: Int? = nil) throws -> TransportRequest
        {
            var request = TransportRequest(url: try RequestURL("https://localhost:\(port ?? self.port)\(path)"))
            request.version = version
            return request
        }

        /// Returns the protocol's name.
        private func run(
            _ request: TransportRequest, _ text: String, over transport: CurlTransport? = nil
        ) async throws -> String? {
            let trace = try await (transport ?? self.transport).run(request)
            trace.check(.response(text))
            return trace.metrics.first?.protocolName
        }

        @Test("A request that asks for HTTP/3 uses it, and further requests use the same connection")
        func wanted() async throws {
            #expect(try await run(request("/version", .http3, port: only), "HTTP/3, 0 bytes") == "h3")
            let trace = try await transport.run(request("/version", .http3, port: only))
            trace.check(.response("HTTP/3, 0 bytes"))
            #expect(trace.metrics.first?.connectionWasReused == true)
        }

        @Test("A negotiated request uses HTTP/3 after the server has named it in an Alt-Svc field")
        func negotiated() async throws {
            #expect(try await run(request("/version", .negotiated), "HTTP/2, 0 bytes") == "h2")
            #expect(try await run(request("/version", .negotiated), "HTTP/3, 0 bytes") == "h3")
            #expect(try await run(request("/version", .http1), "HTTP/1.1, 0 bytes") == "http/1.1")
        }

        /// A transport that tries TCP only when HTTP/3 has failed, also on a slow machine.
        private static func patient() throws -> CurlTransport {
            var configuration = try #require(Environment.trusting)
            (configuration.fallbackDelay, configuration.addressDelay) = (.seconds(60), .seconds(60))
            return CurlTransport(configuration: configuration)
        }

        @Test("A request that asks for HTTP/3 uses it although connections with other versions are open")
        func besideOthers() async throws {
            let transport = try Self.patient()
            for (version, name, text) in [(HTTPVersionChoice.http1, "http/1.1", "HTTP/1.1"), (.http2, "h2", "HTTP/2")] {
                for _ in 0..<2 {
                    let before = try request("/version", version)
                    #expect(try await run(before, "\(text), 0 bytes", over: transport) == name)
                    let after = try request("/version", .http3)
                    #expect(try await run(after, "HTTP/3, 0 bytes", over: transport) == "h3")
                }
            }
        }

        @Test("A request that asks for HTTP/3 does not use the connection of a negotiated request")
        func afterNegotiated() async throws {
            let transport = try Self.patient()
            #expect(try await run(request("/version", .negotiated), "HTTP/2, 0 bytes", over: transport) == "h2")
            // The last request, which uses the alternative, has the same connection.
            for (version, isReused) in [(HTTPVersionChoice.http3, false), (.http3, true), (.negotiated, true)] {
                let trace = try await transport.run(request("/version", version))
                trace.check(.response("HTTP/3, 0 bytes"))
                #expect(trace.metrics.first?.connectionWasReused == isReused)
            }
        }

        @Test("A request to an alternative names it in the field Alt-Used, and other requests do not")
        func used() async throws {
            #expect(try await run(request("/used", .negotiated), "none") == "h2")
            #expect(try await run(request("/used", .negotiated), "localhost:\(port)") == "h3")
            #expect(try await run(request("/used", .http1), "none") == "http/1.1")
            #expect(try await run(request("/used", .http3, port: only), "none") == "h3")
        }

        @Test("An alternative whose certificate is for another host gets no request")
        func foreign() async throws {
            let port = try #require(Environment.port("LARKSPUR_NGINX_TLS"))
            let other = try #require(Environment.port("LARKSPUR_HTTP3_OTHER"))
            for _ in 0..<3 {
                let request = try request("/alternative?port=\(other)", .negotiated, port: port)
                #expect(try await run(request, "Hello, world!") == "h2")
            }
            let trace = try await transport.run(request("/version", .http3, port: other))
            #expect(!trace.isSuccess)
        }

        @Test("A body that fails and a total timeout that passes do not end the use of an alternative")
        func ownFailures() async throws {
            #expect(try await run(request("/version", .negotiated), "HTTP/2, 0 bytes") == "h2")
            #expect(try await run(request("/version", .negotiated), "HTTP/3, 0 bytes") == "h3")
            for expected in [TransportError.Code.bodyFailed, .timedOut] {
                let stream = TestStream()
                stream.add([1])
                var upload = try request("/version", .negotiated)
                upload.method = "POST"
                upload.body = .stream(TransportBodySource(length: nil, isReplayable: true) { stream })
                if expected == .bodyFailed {
                    stream.finish(TransportError(.bodyFailed, "the body failed"))
                } else {
                    upload.timeouts.total = .seconds(3)
                }
                #expect(try await transport.run(upload).failure == expected)
                #expect(try await run(request("/version", .negotiated), "HTTP/3, 0 bytes") == "h3")
            }
        }

        @Test("With followsAlternatives off, Alt-Svc fields are ignored")
        func notFollowed() async throws {
            var configuration = try #require(Environment.trusting)
            configuration.followsAlternatives = false
            let transport = CurlTransport(configuration: configuration)
            for _ in 0..<2 {
                try await transport.run(request("/version", .negotiated)).check(.response("HTTP/2, 0 bytes"))
            }
        }

        @Test("A server without HTTP/3 is reached over TCP", arguments: ["NGINX_TLS", "NGINX_TLS_H1"])
        func fallback(server: String) async throws {
            let port = try #require(Environment.port("LARKSPUR_" + server))
            let name = server == "NGINX_TLS" ? "h2" : "http/1.1"
            #expect(try await run(request("/hello", .http3, port: port), "Hello, world!") == name)
        }

        @Test("A server whose UDP port answers nothing is reached over TCP within the connect timeout")
        func silent() async throws {
            let port = try #require(Environment.port("LARKSPUR_NGINX_TLS"))
            let socket = try SilentSocket(port: port)
            defer { socket.close() }
            var request = try request("/hello", .http3, port: port)
            request.timeouts.connect = .seconds(10)
            #expect(try await run(request, "Hello, world!") == "h2")
        }

        @Test("A request whose Alt-Svc field names a port without a server is sent to the host itself")
        func unreachableAlternative() async throws {
            let port = try #require(Environment.port("LARKSPUR_NGINX_TLS"))
            let socket = try SilentSocket(port: 0)
            defer { socket.close() }
            for named in [1, socket.port] {
                let transport = CurlTransport(configuration: try #require(Environment.trusting))
                for turn in 0..<3 {
                    let trace = try await transport.run(request("/alternative?port=\(named)", .negotiated, port: port))
                    trace.check(.response("Hello, world!"))
                    #expect(trace.metrics.first?.protocolName == "h2", "turn \(turn), port \(named)")
                }
            }
        }

        @Test("Bodies are sent and received over HTTP/3")
        func bodies() async throws {
            var upload = try request("/version", .http3, port: only)
            upload.method = "POST"
            upload.body = .data(Data(count: 3_000_000))
            #expect(try await run(upload, "HTTP/3, 3000000 bytes") == "h3")
            let trace = try await transport.run(request("/bytes/5000000", .http3, port: only))
            #expect(trace.isSuccess)
            #expect(trace.body.count == 5_000_000)
        }

        @Test("Many requests at once share one connection")
        func many() async throws {
            let reused = try await withThrowingTaskGroup(of: Bool?.self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        let trace = try await transport.run(request("/version", .http3, port: only))
                        trace.check(.response("HTTP/3, 0 bytes"))
                        return trace.metrics.first?.connectionWasReused
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(reused.count { $0 == false } == 1)
        }

        @Test("A cancel ends a response over HTTP/3")
        func cancelled() async throws {
            let delegate = RecordingDelegate()
            let task = transport.task(
                for: try request("/stall", .http3, port: only), id: TransportTaskID(1), delegate: delegate)
            task.resume()
            _ = try await delegate.wait { !$0.body.isEmpty }
            task.cancel()
            let trace = try await delegate.wait { $0.isCompleted && $0.depth == 0 }
            #expect(trace.failure == .cancelled)
        }

        @Test("A peer that vanishes in the middle of a response ends it with the idle timeout")
        func vanished() async throws {
            let port = try #require(Environment.port("LARKSPUR_HTTP3_VANISHING"))
            var request = try request("/bytes/50000000", .http3, port: port)
            request.timeouts.idle = .seconds(1)
            let trace = try await transport.run(request)
            #expect(trace.failure == .timedOut)
            #expect(trace.metrics.first?.protocolName == "h3")
        }

        @Test("A request whose response may be paused is sent over TCP")
        func overTCP() async throws {
            var request = try request("/version", .http3)
            request.initialAllowance = 1_000
            #expect(try await run(request, "HTTP/2, 0 bytes") == "h2")
        }

        @Test("A certificate of another authority is refused over HTTP/3")
        func untrusted() async throws {
            let other = try Environment.certificates().appendingPathComponent("other-ca.pem").path
            let transport = CurlTransport(configuration: .init { $0.certificateAuthorities = .file(path: other) })
            let trace = try await transport.run(request("/version", .http3, port: only))
            #expect(!trace.isSuccess)
            #expect(trace.heads.isEmpty)
        }
    }

    /// A UDP port at which datagrams arrive and nothing answers.
    private struct SilentSocket {
        private let descriptor: Int32
        let port: Int

        init(port: Int) throws {
            let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(port).bigEndian
            address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let code = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    let code = bind(descriptor, address, size)
                    return code == 0 ? getsockname(descriptor, address, &size) : code
                }
            }
            try #require(code == 0)
            self.descriptor = descriptor
            self.port = Int(address.sin_port.bigEndian)
        }

        func close() { _ = Glibc.close(descriptor) }
    }
#endif
