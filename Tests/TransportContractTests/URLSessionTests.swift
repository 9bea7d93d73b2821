#if os(Linux)
    import CTestWidth
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    @testable import LarkspurURLSession

    @Suite("URLSession", .limited, .inEngineProcess)
    struct URLSessionTests {
        private func outcome(
            _ transport: URLSessionTransport, _ url: String, _ change: (inout TransportRequest) -> Void = { _ in }
        ) async throws -> Trace {
            var request = TransportRequest(url: try RequestURL(url))
            change(&request)
            let delegate = RecordingDelegate()
            let task = transport.task(for: request, id: TransportTaskID(1), delegate: delegate)
            delegate.steer(task)
            task.resume()
            return try await delegate.wait { $0.isCompleted && $0.depth == 0 }
        }

        @Test("What URLSession cannot do fails with a typed error, and nothing is sent")
        func refusals() async throws {
            let server = try MockServer()
            let changes: [(inout TransportRequest) -> Void] = [
                { $0.version = .http2 }, { $0.version = .http1 }, { $0.body = .data(Data([1])) },
            ]
            for change in changes {
                let trace = try await outcome(URLSessionTransport(), server.url + "/", change)
                #expect(trace.failure == .unavailable)
            }
            let judged = try await outcome(URLSessionTransport(), "https://localhost:1/") { $0.asksForTrust = true }
            #expect(judged.failure == .unavailable)
            let background = URLSessionConfiguration.default
            background.identifier = "com.example.films"
            let refused = try await outcome(URLSessionTransport(configuration: background), server.url + "/")
            #expect(refused.failure == .unavailable)
            #expect(server.requests.isEmpty)
        }

        @Test("A client identity, which this platform cannot show, fails https requests, and only those")
        func identity() async throws {
            let server = try MockServer()
            var options = URLSessionTransport.Options()
            options.identity = ClientIdentity(pkcs12: [1], password: "p")
            let transport = URLSessionTransport(options: options)
            let refused = try await outcome(transport, "https://localhost:1/")
            #expect(refused.failure == .unavailable)
            #expect(try await outcome(transport, server.url + "/").isSuccess)
        }

        @Test("Only transports with the same settings have the same partition of a cache")
        func partitions() {
            var options = URLSessionTransport.Options()
            #expect(URLSessionTransport().partition == .common)
            #expect(URLSessionTransport(configuration: .ephemeral).partition.isOfProcess)
            options.identity = ClientIdentity(pkcs12: [1], password: "p")
            #expect(URLSessionTransport(options: options).partition != URLSessionTransport(options: options).partition)
            #expect(CurlTransport().partition == .common)
        }

        @Test("After its trust is forgotten, a host gets a new session, and other hosts keep theirs")
        func forgottenTrust() {
            let template = SessionTemplate(configuration: .ephemeral, options: .init(), ownsTimeouts: true)
            let delegate = RecordingDelegate()
            var sessions = PlatformSessions()
            func use(_ host: String, _ generation: UInt64) -> (PlatformSession, [PlatformSession]) {
                let use = PlatformSessions.Use.judged(delegate, host: host, port: 443, generation: generation)
                return sessions.session(for: use, template)
            }
            let (first, other) = (use("a", 1).0, use("b", 1).0)
            let plain = sessions.session(for: .plain(delegate), template).0
            #expect(use("a", 1).0 === first)
            let (second, superseded) = use("a", 2)
            #expect(second !== first && superseded.map { ObjectIdentifier($0) } == [ObjectIdentifier(first)])
            #expect(use("b", 1).0 === other && use("a", 2).0 === second)
            #expect(sessions.session(for: .plain(delegate), template).0 === plain)
            // A request from before does not get the connections of later ones, and does not end them.
            let (late, none) = use("a", 1)
            #expect(late !== second && none.isEmpty && use("a", 2).0 === second)
        }

        @Test("The cookies and credentials of a given configuration are not used, and its other values are")
        func configuration() async throws {
            let server = try MockServer()
            server.on(nil, "/", .response(headers: ["Set-Cookie": "a=1"]))
            let configuration = URLSessionConfiguration.default
            configuration.httpAdditionalHeaders = ["X-Additional": "1"]
            let transport = URLSessionTransport(configuration: configuration)
            for _ in 0..<2 { #expect(try await outcome(transport, server.url + "/").isSuccess) }
            #expect(server.requests.map { $0.headers["Cookie"] } == [nil, nil])
            #expect(server.requests.map { $0.headers["X-Additional"] } == ["1", "1"])
            #expect(configuration.urlCache != nil || configuration.httpShouldSetCookies)
        }

        @Test("Cookies of one name keep their order")
        func cookieOrder() async throws {
            let server = try MockServer()
            let fields = [("Set-Cookie", "sid=; Max-Age=0"), ("Set-Cookie", "sid=0abc")]
            let head = ResponseHead(status: 200, fields: fields.map { HTTPHeader(name: $0.0, value: $0.1) })
            server.on(nil, "/", MockResponse([.head(head, .length(0))]))
            let trace = try await outcome(URLSessionTransport(), server.url + "/")
            #expect(trace.heads.first?.values(for: "Set-Cookie") == fields.map(\.1))
        }

        @Test("The limit for the first byte starts with the end of the request's body, though the idle limit is longer")
        func firstByteAfterBody() async throws {
            let (server, clock, delegate) = (try MockServer(), EngineClock(), RecordingDelegate())
            server.on(nil, "/", .stall)
            var request = TransportRequest(
                method: "POST", url: try RequestURL(server.url + "/"), body: .data(Data(count: 10)))
            request.timeouts = .only { $0.firstByte = .days(1) }
            let transport = URLSessionTransport(clock: clock)
            transport.task(for: request, id: TransportTaskID(1), delegate: delegate).resume()
            try await delegate.wait { $0.sent == [10] }
            let trace = try await clock.pass(.days(1), of: delegate) {}
            #expect(trace.failure == .timedOut)
            #expect(trace.error?.timeoutName == "first byte")
        }

        @Test("A method in lower case is treated as Foundation sends it, in upper case")
        func lowerCase() async throws {
            let server = try MockServer()
            server.on(nil, "/", .response(headers: ["Content-Length": "5"]))
            let head = try await outcome(URLSessionTransport(), server.url + "/") { $0.method = "head" }
            #expect(head.isSuccess)
            let refused = try await outcome(URLSessionTransport(), server.url + "/") {
                $0.method = "get"
                $0.body = .data(Data(count: 1))
            }
            #expect(refused.failure == .unavailable)
        }

        @Test("A streamed body waits for its bytes, and other requests do not wait with it")
        func streams() async throws {
            let server = try MockServer()
            server.on(nil, "/", .bytes(count: 2))
            let transport = URLSessionTransport()
            let gate = Gate()
            let stream = ArrayStream(.pattern(300_000), piece: 10_000, pendingAt: gate)
            var upload = TransportRequest(method: "POST", url: try RequestURL(server.url + "/"))
            upload.body = .stream(TransportBodySource(length: nil, isReplayable: false) { stream })
            let delegate = RecordingDelegate()
            let task = transport.task(for: upload, id: TransportTaskID(2), delegate: delegate)
            delegate.steer(task)
            task.resume()
            try await gate.reached()
            #expect(try await outcome(transport, server.url + "/").isSuccess)
            gate.open()
            let trace = try await delegate.wait { $0.isCompleted && $0.depth == 0 }
            #expect(trace.isSuccess)
            #expect(server.requests.last.map { Array($0.body) } == .pattern(300_000))
            #expect(stream.timesEnded == 1)
        }

        @Test("Thousands of cancels race the ends of their tasks, and each task ends once")
        func races() async throws {
            let server = try MockServer()
            server.on(nil, "/", .bytes(count: 2_000))
            let transport = URLSessionTransport()
            let url = try RequestURL(server.url + "/")
            await withTaskGroup(of: Void.self) { group in
                for worker in 0..<16 {
                    group.addTask {
                        for turn in 0..<test_rounds(250, 1_250) {
                            let isUpload = turn % 5 == 0
                            var request = TransportRequest(method: isUpload ? "POST" : "GET", url: url)
                            if isUpload { request.body = .data(Data(count: 20_000)) }
                            let delegate = RecordingDelegate()
                            let task = transport.task(
                                for: request, id: TransportTaskID(UInt64(worker * 10_000 + turn)), delegate: delegate)
                            delegate.steer(task)
                            task.resume()
                            // Some cancels come at once, others while the response arrives or after it.
                            if turn % 3 == 1 { _ = try? await delegate.wait { !$0.records.isEmpty } }
                            if turn % 3 == 2 { _ = try? await delegate.wait { !$0.heads.isEmpty || $0.isCompleted } }
                            task.cancel()
                            guard let trace = try? await delegate.wait(until: { $0.isCompleted && $0.depth == 0 })
                            else {
                                Issue.record("a task did not end")
                                continue
                            }
                            #expect(trace.isSuccess || trace.failure == .cancelled)
                            #expect(trace.audit() == [])
                        }
                    }
                }
            }
        }
    }

    @Suite("Lengths of decoded bodies", .limited)
    struct DecodedLengthTests {
        @Test(
            "The length of a body that the platform decodes is compared with the bytes that the platform has counted",
            arguments: [
                (UInt64(99), TransportError.Code.truncated), (100, nil), (101, nil), (nil, nil),
            ] as [(UInt64?, TransportError.Code?)])
        func length(count: UInt64?, code: TransportError.Code?) throws {
            let request = TransportRequest(url: try RequestURL("http://a.test/"))
            var state = HopState(request, RecordingDelegate(), timers: .shared)
            let starts = state.resume()
            let fields = [("Content-Encoding", "gzip"), ("Content-Length", "100")]
            let head = ResponseHead(
                status: 200, fields: fields.map { HTTPHeader(name: $0.0, value: $0.1) }, bodyIsDecoded: true)
            let isOpen = state.didReceive(head) && state.didReceive(Data(count: 7))
            state.didMeasure(TransportMetrics(), codedBytes: count)
            let ends = state.didComplete(nil) != nil && state.beginDelivery()
            #expect(starts && isOpen && ends)
            var end: TransportError??
            while let (event, _) = state.next() { if case .completed(let error) = event { end = error } }
            #expect(try #require(end)?.code == code)
        }
    }

    @Suite("The wait for a network", .limited)
    struct NetworkWaitTests {
        private func events(of state: inout HopState) -> [String] {
            var names: [String] = []
            _ = state.beginDelivery()
            while let (event, _) = state.next() {
                switch event {
                case .waitsForNetwork: names.append("wait")
                case .head: names.append("head")
                case .completed: names.append("completed")
                default: break
                }
            }
            return names
        }

        @Test("T5 Each wait is delivered once, before the head, and none after it or after the end")
        func order() throws {
            let request = TransportRequest(url: try RequestURL("http://a.test/"))
            var state = HopState(request, RecordingDelegate(), timers: .shared)
            let early = state.didWait()
            let (starts, waits) = (state.resume(), state.didWait())
            #expect(!early && starts && waits && state.isWaiting)
            #expect(events(of: &state) == ["wait"])
            let (waitsAgain, hasHead) = (state.didWait(), state.didReceive(ResponseHead(status: 200, fields: [])))
            #expect(waitsAgain && hasHead)
            #expect(events(of: &state) == ["wait", "head"])
            let late = state.didWait()
            #expect(!late && !state.isWaiting)
            _ = state.didComplete(nil)
            #expect(events(of: &state) == ["completed"])
            var cancelled = HopState(request, RecordingDelegate(), timers: .shared)
            _ = (cancelled.resume(), cancelled.didWait(), cancelled.end(.cancelled))
            #expect(events(of: &cancelled) == ["completed"])
        }
    }

    @Suite("Heads of Foundation", .limited)
    struct FoundationHeadTests {
        @Test(
            "Cookies that Foundation has joined with commas are taken apart",
            arguments: [
                ("a=1", ["a=1"]),
                ("a=1, b=2", ["a=1", "b=2"]),
                (
                    "a=1; Expires=Wed, 21 Oct 2037 07:28:00 GMT, b=2",
                    ["a=1; Expires=Wed, 21 Oct 2037 07:28:00 GMT", "b=2"]
                ),
                ("a=1,2; Path=/", ["a=1,2; Path=/"]),
                ("a=x, y; Path=/, __Host-b=2==; Secure", ["a=x, y; Path=/", "__Host-b=2==; Secure"]),
                (
                    "a=; Expires=Thu, 01-Jan-1970 00:00:00 GMT,c=3",
                    ["a=; Expires=Thu, 01-Jan-1970 00:00:00 GMT", "c=3"]
                ),
                ("", [""]), (",", [","]), ("a=1,", ["a=1,"]),
            ])
        func cookies(joined: String, cookies: [String]) {
            #expect(ResponseHead.cookies(in: joined) == cookies)
        }
    }
#endif
