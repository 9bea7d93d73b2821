#if os(Linux)
    import Larkspur
    import TestSupport
    import Testing

    /// Streams over HTTP/2, where windows limit the bytes in flight, not the kernel's buffers.
    @Suite(
        "Streams over HTTP/2", .limited,
        .enabled(
            if: Environment.port("LARKSPUR_H2_FAULTS") != nil && Environment.trusting != nil,
            "LARKSPUR_H2_FAULTS and LARKSPUR_CA_FILE name no server"), .holdsStreams)
    struct HTTP2StreamTests {
        /// The number of bytes that the server sends if nothing stops it.
        private static let length = 128 << 20
        /// The largest stream window of all versions of libcurl.
        private static let window = 32 << 20
        private static let buffer = 1 << 20

        @Test("A reader that stops reading stops the peer: at most the stream's buffer and the window are pending")
        func slowReader() async throws {
            let flood = UUID().uuidString
            let session = try Self.session()
            let bytes = await session.streamRequest(try Self.url("/flood?\(flood)"), bufferSize: Self.buffer).bytes
            let reader = bytes.makeAsyncIterator()
            var taken = 0
            for pause in [1, 40 << 20] {
                while taken < pause { taken += try #require(await reader.next()).count }
                var waiting = 0
                // A busy peer may pause before it has filled the window.
                while waiting <= Self.buffer { waiting = try await Self.sent(flood) - taken }
                #expect(waiting <= Self.buffer + Self.window)
            }
            while let chunk = try await reader.next() { taken += chunk.count }
            #expect(taken == Self.length)
        }

        @Test(
            "A slow reader that often stops gets the whole body, and the peer stays stopped"
        )
        func haltingReader() async throws {
            let flood = UUID().uuidString
            let session = try Self.session()
            let bytes = await session.streamRequest(try Self.url("/flood?\(flood)"), bufferSize: Self.buffer).bytes
            let reader = bytes.makeAsyncIterator()
            var taken = 0
            for pause in 1...4 {
                while taken < pause << 20 { taken += try #require(await reader.next()).count }
                #expect(try await Self.sent(flood) - taken <= Self.buffer + Self.window)
            }
            while let chunk = try await reader.next() { taken += chunk.count }
            #expect(taken == Self.length)
        }

        /// Returns how much of a flood was sent when the flood stops.
        private static func sent(_ flood: String) async throws -> Int {
            let text = try await session().request(url("/flooded?\(flood)")).serializingString().value
            return try #require(Int(text.filter(\.isNumber)))
        }

        /// Makes a session with its own connections.
        private static func session() throws -> Session {
            Session(transport: CurlTransport(configuration: try #require(Environment.trusting)))
        }

        private static func url(_ path: String) throws -> String {
            "https://localhost:\(try #require(Environment.port("LARKSPUR_H2_FAULTS")))\(path)"
        }
    }
#endif
