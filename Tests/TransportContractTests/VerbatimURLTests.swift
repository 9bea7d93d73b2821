#if os(Linux)
    import Larkspur
    import LarkspurCurl
    import TestSupport
    import Testing

    @Suite("Verbatim URLs on the wire", .limited)
    struct VerbatimURLTests {
        @Test(
            "The target is sent byte for byte, followed by the parameters; a redirect leads to a normalised URL")
        func target() async throws {
            let peer = try WirePeer { wire in
                try wire.head()
                try wire.send("HTTP/1.1 302 Found\r\nLocation: next%7e?a=1\r\nContent-Length: 0\r\n\r\n")
                try wire.head()
                try wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                try wire.drain()
            }
            let session = Session(transport: CurlTransport())
            let url = try RequestURL(verbatim: peer.url + "/a/../b%2f?sig=%7e|x")
            let request = await session.request(url, parameters: ["page": 1])
            #expect(try await request.serializingString().value == "ok")
            let lines = peer.heads.map { $0.prefix { !$0.isNewline } }
            #expect(lines == ["GET /a/../b%2f?sig=%7e|x&page=1 HTTP/1.1", "GET /next~?a=1 HTTP/1.1"])
        }
    }
#endif
