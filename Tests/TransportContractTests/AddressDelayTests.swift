#if os(Linux)
    import Glibc
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    @Suite("Hosts with several addresses", .limited)
    struct AddressDelayTests {
        @Test(
            "If a host's first address does not answer, the next one is tried after the configured delay",
            .enabled(if: FullPort.isPossible, "no IPv6"))
        func next() async throws { try await check(.milliseconds(10), within: .days(1), .response("ok")) }

        @Test(
            "If a host's first address does not answer, the next one is not tried before the configured delay", .timing,
            .enabled(if: FullPort.isPossible, "no IPv6"))
        func delay() async throws {
            // A second is longer than libcurl's own delay.
            try await check(.seconds(60), within: .seconds(1), .failure(.timedOut))
        }

        private func check(_ delay: Duration, within limit: Duration, _ outcome: Fault.Outcome) async throws {
            let server = try MockServer { _ in .text("ok") }
            let silent = try FullPort(server.port)
            defer { silent.close() }
            let transport = CurlTransport(
                configuration: .init {
                    $0.hosts["shop.example"] = .addresses(["::1", "127.0.0.1"])
                    $0.addressDelay = delay
                })
            var request = TransportRequest(url: try RequestURL("http://shop.example:\(server.port)/"))
            request.timeouts.connect = limit
            try await transport.run(request).check(outcome)
        }
    }

    /// A port of `::1` whose queue is full: it answers no further attempt to connect.
    private struct FullPort {
        private var sockets: [Int32] = []

        static var isPossible: Bool {
            guard let port = try? FullPort(0) else { return false }
            port.close()
            return true
        }

        init(_ port: Int) throws {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = in_port_t(port).bigEndian
            address.sin6_addr = in6addr_loopback
            var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
            let listener = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
            sockets.append(listener)
            let code = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address -> Int32 in
                    guard bind(listener, address, size) == 0, listen(listener, 0) == 0 else { return -1 }
                    return getsockname(listener, address, &size)
                }
            }
            guard code == 0 else {
                close()
                throw POSIXFailure()
            }
            // Linux completes one more connection than the queue is long, and drops the packets of the others.
            for _ in 0..<4 {
                let client = socket(AF_INET6, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
                sockets.append(client)
                _ = withUnsafePointer(to: &address) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(client, $0, size) }
                }
            }
        }

        func close() { for socket in sockets { _ = Glibc.close(socket) } }
    }

    private struct POSIXFailure: Error {}
#endif
