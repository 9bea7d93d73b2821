#if os(Linux)
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    /// Peers that send the bytes of more than one response, or leave the end of a response ambiguous. The next request
    /// of the session must get its own response, also if the peer keeps the connection open.
    @Suite("Response splitting", .limited)
    struct ResponseSplittingTests {
        struct Row: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let raw: String
            /// The expected body; nil for an error.
            let body: String?

            init(_ name: String, _ raw: String, _ body: String?) {
                (testDescription, self.raw, self.body) = (name, raw, body)
            }
        }

        private static let ok = "HTTP/1.1 200 OK\r\n"
        private static let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
        private static let chunked = ok + "Transfer-Encoding: chunked\r\n"

        static let rows = [
            Row("two responses in one packet", ok + "Content-Length: 2\r\n\r\nok" + evil, "ok"),
            Row(
                "ten responses in one packet", ok + "Content-Length: 2\r\n\r\nok" + String(repeating: evil, count: 10),
                "ok"),
            Row("a response after an empty one", ok + "Content-Length: 0\r\n\r\n" + evil, ""),
            Row("a response after a 204", "HTTP/1.1 204 No Content\r\n\r\n" + evil, ""),
            Row("a response after a 304", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n" + evil, ""),
            Row("a response after chunks", chunked + "\r\n2\r\nok\r\n0\r\n\r\n" + evil, "ok"),
            Row("a response after trailers", chunked + "\r\n2\r\nok\r\n0\r\nX: 1\r\n\r\n" + evil, "ok"),
            Row("bytes after a body", ok + "Content-Length: 2\r\n\r\nok and more", "ok"),
            Row("a line end after a body", ok + "Content-Length: 2\r\n\r\nok\r\n", "ok"),
            Row("half a head after a body", ok + "Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Le", "ok"),
            Row("garbage after chunks", chunked + "\r\n2\r\nok\r\n0\r\n\r\n\u{1}\u{2}", "ok"),
            Row("line ends of LF only", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok" + evil, "ok"),
            Row("LF and CRLF mixed", "HTTP/1.1 200 OK\r\nX: 1\nContent-Length: 2\r\n\nok" + evil, "ok"),
            Row("two lengths, the larger last", ok + "Content-Length: 2\r\nContent-Length: 47\r\n\r\nok" + evil, nil),
            Row("two lengths, the smaller last", ok + "Content-Length: 47\r\nContent-Length: 2\r\n\r\nok" + evil, nil),
            Row("two lengths in one field", ok + "Content-Length: 2, 47\r\n\r\nok" + evil, nil),
            Row("a length and a sign", ok + "Content-Length: +2\r\n\r\nok" + evil, nil),
            Row(
                "a length in a folded line", ok + "X: 1\r\n Content-Length: 47\r\nContent-Length: 2\r\n\r\nok" + evil,
                "ok"),
            Row(
                "a space before a length's colon", ok + "Content-Length : 47\r\nContent-Length: 2\r\n\r\nok" + evil, nil
            ),
            Row("chunks and a length", chunked + "Content-Length: 47\r\n\r\n2\r\nok\r\n0\r\n\r\n" + evil, "ok"),
            Row(
                "a length and chunks",
                ok + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n" + evil, "ok"),
            Row("chunks of LF only", chunked + "\r\n2\nok\n0\n\n" + evil, "ok"),
            Row("a NUL in a field", ok + "X: \0\r\nContent-Length: 2\r\n\r\nok" + evil, nil),
            Row("a field that holds a head", ok + "X: 1\rHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" + evil, "ok"),
            Row(
                "an interim head and two responses",
                "HTTP/1.1 103 Early\r\n\r\n" + ok + "Content-Length: 2\r\n\r\nok" + evil, "ok"),
        ]

        /// Makes a peer that sends all bytes at once and keeps the connection open.
        private static func server(_ raw: String) throws -> MockServer {
            let server = try MockServer()
            server.on(nil, "/split", MockResponse([.raw(Data(raw.utf8))]))
            server.on("GET", "/next", .text("sound"))
            return server
        }

        @Test("The next request gets its own response", arguments: rows)
        func split(row: Row) async throws {
            let server = try Self.server(row.raw)
            let session = Session(configuration: SessionConfiguration { $0.options.timeouts.idle = .days(1) })
            for _ in 0..<3 {
                let response = await session.request(server.url + "/split").serializingData().response
                #expect((response.exchange.error == nil) == (row.body != nil), "\(response)")
                if let body = row.body { #expect(response.exchange.data == Data(body.utf8)) }
                let next = try await session.request(server.url + "/next").serializingString().value
                #expect(next == "sound")
            }
        }

        @Test(
            "The next request gets its own response after a stream, a download, HEAD or a redirect",
            arguments: ["stream", "download", "head", "redirect"])
        func kinds(kind: String) async throws {
            let moved = "HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 2\r\n\r\nok" + Self.evil
            let server = try Self.server(
                kind == "redirect" ? moved : Self.ok + "Content-Length: 2\r\n\r\nok" + Self.evil)
            let (session, url) = (Session(), server.url + "/split")
            for _ in 0..<3 {
                switch kind {
                case "stream":
                    var bytes = Data()
                    for try await chunk in await session.streamRequest(url).bytes { bytes += chunk }
                    #expect(bytes == Data("ok".utf8))
                case "download":
                    let file = try await session.download(url).serializingFile().value
                    #expect(try Data(contentsOf: file) == Data("ok".utf8))
                    try FileManager.default.removeItem(at: file)
                case "head":
                    let response = await session.request(url, method: .head).serializingData().response
                    #expect(response.head?.status == 200 && response.data?.isEmpty ?? true)
                default:
                    for handler in [nil, Redirector.follow] {
                        let request = await session.request(url)
                        if let handler { request.redirect(using: handler) }
                        #expect(try await request.serializingString().value == "sound")
                    }
                }
                #expect(try await session.request(server.url + "/next").serializingString().value == "sound")
            }
        }

        @Test("A redirect that a handler follows keeps its connection")
        func kept() async throws {
            let server = try MockServer()
            server.on("GET", "/a", .response(302, headers: ["Location": "/b"], chunks: [Data(count: 1_000)]))
            server.on("GET", "/b", .text("sound"))
            let session = Session(configuration: SessionConfiguration { $0.redirectHandler = Redirector.follow })
            for _ in 0..<5 {
                #expect(try await session.request(server.url + "/a").serializingString().value == "sound")
                for try await _ in await session.streamRequest(server.url + "/a").bytes {}
            }
            #expect(server.log.connectionsAccepted == 1)
        }
    }
#endif
