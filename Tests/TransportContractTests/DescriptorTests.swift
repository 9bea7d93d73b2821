#if os(Linux)
    import CLarkspur
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    @testable import LarkspurCurl

    /// Inheritance of descriptors, and failures when none is free.
    @Suite("Descriptors", .limited)
    struct DescriptorTests {
        /// The descriptors that a child process inherits.
        private static var inherited: Int {
            (Int32(0)..<10_000).count { descriptor in
                let flags = fcntl(descriptor, F_GETFD)
                return flags >= 0 && flags & FD_CLOEXEC == 0
            }
        }

        @Test("Child processes inherit no descriptor of a transport")
        func inheritance() async {
            await #expect(processExitsWith: .success) {
                let server = try MockServer()
                server.on("GET", "/", .text("ok"))
                let request = TransportRequest(url: try RequestURL(server.url + "/"))
                // The first one loads libcurl, which may open files for itself.
                try await CurlTransport().run(request).check(.response("ok"))
                let transports = (0..<20).map { _ in CurlTransport() }
                let before = DescriptorTests.inherited
                for transport in transports { try await transport.run(request).check(.response("ok")) }
                #expect(DescriptorTests.inherited - before < transports.count)
                transports.forEach { $0.invalidate() }
            }
        }

        @Test(
            "Without a descriptor for a socket the error says so, and is not a connectivity failure",
            arguments: [
                (EMFILE, "the process"), (ENFILE, "the system"),
            ])
        func exhaustion(number: Int32, owner: String) throws {
            #expect(clarkspur_curl_load() == nil)
            let easy = try #require(clarkspur_easy_open())
            defer { clarkspur_easy_close(easy) }
            func error(_ number: Int32, proxy: Proxy? = nil) -> TransportError {
                CurlFailure(
                    code: 7, message: "", phase: .connecting, easy: easy, proxy: proxy, isConnected: false,
                    socketError: number
                ).error
            }
            #expect(error(number).code == .tooManyOpenFiles)
            #expect(error(number).message.contains(owner))
            #expect(try error(number, proxy: Proxy("http://proxy:1")).code == .tooManyOpenFiles)
            #expect(error(EAFNOSUPPORT).code == .unreachable)
            #expect(error(0).code == .unreachable)
            let shown = RequestError(.init(rawValue: error(number).code.rawValue), "")
            #expect(shown.code == .tooManyOpenFiles && !shown.isConnectivity)
        }

        @Test("A transport whose first request finds no descriptor sends later requests")
        func momentaryShortage() async {
            await #expect(processExitsWith: .success) { try await DescriptorTests.sendWithoutDescriptors() }
        }

        private static func sendWithoutDescriptors() async throws {
            let server = try MockServer()
            server.on("GET", "/", .text("ok"))
            let request = TransportRequest(url: try RequestURL(server.url + "/"))
            // This loads libcurl, so the next transport needs descriptors only for itself.
            try await CurlTransport().run(request).check(.response("ok"))
            let transport = CurlTransport()
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            var before = rlimit()
            getrlimit(resource, &before)
            var none = before
            none.rlim_cur = 3  // those of the standard input, output and error
            setrlimit(resource, &none)
            let delegate = transport.start(request)
            setrlimit(resource, &before)
            try await delegate.wait { $0.isCompleted && $0.depth == 0 }.check(.failure(.tooManyOpenFiles))
            try await transport.run(request).check(.response("ok"))
        }
    }
#endif
