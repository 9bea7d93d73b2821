#if os(Linux)
    import CLarkspur
    import Larkspur
    import TestSupport
    import Testing

    @testable import LarkspurCurl

    /// Uploads over HTTP/2 to a server that enlarges its window step by step.
    @Suite(
        "Uploads over HTTP/2", .limited,
        .enabled(if: clarkspur_curl_load() == nil && CurlLibrary.current.hasHTTP2, "libcurl was built without HTTP/2"))
    struct HTTP2UploadTests {
        private static let size = 400_000

        @Test(
            "A body larger than the window arrives completely, however small the server's window updates are",
            arguments: [
                1_000, 16_384, 65_535, 300_000,
            ])
        func window(grant: Int) async throws {
            let received = Observed(0)
            let peer = try WirePeer { wire in
                try Self.take(wire, grant) { count in received.change { $0 = count } }
            }
            for body in [
                TransportBody.data(Data(count: Self.size)),
                .stream(TransportBodySource(length: nil, isReplayable: false) { WatchedStream(Self.size) { _ in } }),
            ] {
                received.change { $0 = 0 }
                var request = TransportRequest(method: "POST", url: try RequestURL(peer.url + "/"), body: body)
                request.version = .http2
                let trace = try await CurlTransport().run(request)
                trace.check(.response("ok"))
                #expect(received.value == Self.size)
            }
        }

        @Test("Negotiation offers HTTP/2 for bodies of every size and length")
        func negotiation() throws {
            let url = try RequestURL("https://example.com/")
            for body in [
                TransportBody.none, .data(Data(count: 100_000)),
                .stream(TransportBodySource(length: nil, isReplayable: false) { WatchedStream(1) { _ in } }),
            ] {
                let request = TransportRequest(method: "POST", url: url, body: body)
                #expect(CurlVersion.fit(for: request, negotiates: true, .current) == .negotiated)
            }
        }

        // MARK: The server

        /// Reads a request to its end, reports the length of its body, and answers it. When the windows are used up,
        /// the server enlarges them by `grant`.
        private static func take(_ wire: Wire, _ grant: Int, _ didReceive: (Int) -> Void) throws {
            _ = try wire.take(24)  // the preface
            try wire.send(frame(.settings, []))
            var (count, window) = (0, 65_535)
            while true {
                let head = try wire.take(9)
                let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
                _ = try wire.take(length)
                switch Kind(rawValue: head[3]) {
                case .settings where head[4] & 1 == 0: try wire.send(frame(.settings, flags: 1, []))
                case .data:
                    (count, window) = (count + length, window - length)
                    if head[4] & 1 != 0 {
                        didReceive(count)
                        try wire.send(frame(.headers, flags: 4, stream: 1, [0x88]))  // :status 200
                        try wire.send(frame(.data, flags: 1, stream: 1, Array("ok".utf8)))
                        return try wire.drain()
                    }
                    guard window == 0 else { continue }
                    window = grant
                    let bytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: grant >> $0) }
                    try wire.send(frame(.windowUpdate, bytes) + frame(.windowUpdate, stream: 1, bytes))
                default: continue
                }
            }
        }

        private enum Kind: UInt8 { case data = 0, headers = 1, settings = 4, windowUpdate = 8 }

        private static func frame(_ kind: Kind, flags: UInt8 = 0, stream: UInt8 = 0, _ payload: [UInt8]) -> [UInt8] {
            [0, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF), kind.rawValue, flags, 0, 0, 0, stream] + payload
        }
    }
#endif
