#if os(Linux)
    import Larkspur
    import TestSupport
    import Testing

    @testable import LarkspurCurl

    @Suite("Messages of TLS failures", .limited)
    struct TLSFailureTests {
        @Test(
            "A plain-text port is an error with its own code and not a network failure, and the request is not retried",
            arguments: [
                "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "220 mail.example ESMTP\r\n", "SSH-2.0-x\r\n",
            ])
        func plainText(answer: String) async throws {
            let peer = try WirePeer { wire in
                try wire.body(1)
                try wire.send(answer)
                try wire.drain()
            }
            let session = Session(transport: CurlTransport(), interceptor: RetryPolicy())
            let request = await session.request("https://127.0.0.1:\(peer.port)/")
            let error = try #require(await request.serializingData().response.error)
            #expect(error.code == .notTLS && !error.isConnectivity && !error.isTrust)
            #expect(request.retryCount == 0)
        }

        @Test("A server that disconnects during the handshake is a network failure")
        func leaving() async throws {
            let peer = try WirePeer { wire in
                try wire.body(1)
                try wire.end()
            }
            let request = await Session(transport: CurlTransport()).request("https://127.0.0.1:\(peer.port)/")
            let error = try #require(await request.serializingData().response.error)
            #expect(error.isConnectivity && [.handshake, .connectionLost].contains(error.code), "\(error)")
        }

        @Test(
            "Messages of OpenSSL and GnuTLS get an explanation, and remain in the text for searching",
            arguments: [
                ("error:0A00010B:SSL routines::wrong version number", "does not speak TLS"),
                ("TLS connect error: error:0A0000C6:SSL routines::packet length too long", "does not speak TLS"),
                ("gnutls_handshake() failed: An unexpected TLS packet was received.", "does not speak TLS"),
                ("error:0A000410:SSL routines::sslv3 alert handshake failure", "refused the TLS handshake"),
                ("error:0A000410:SSL routines::ssl/tls alert handshake failure", "refused the TLS handshake"),
                ("error:0A00042E:SSL routines::tlsv1 alert protocol version", "no version of TLS in common"),
                (
                    "OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0",
                    "requires a client certificate"
                ),
                ("error:0A000418:SSL routines::tlsv1 alert unknown ca", "refused the client's certificate"),
                ("error:0A000458:SSL routines::tlsv1 unrecognized name", "does not know this host name"),
                (
                    "OpenSSL SSL_read: error:0A000126:SSL routines::unexpected eof while reading, errno 0",
                    "closed the connection"
                ),
                ("OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to h:443", "closed the connection"),
            ])
        func words(message: String, words: String) {
            let text = TLSFailure.explained(message, peer: "the proxy")
            #expect(text.hasPrefix("the proxy "))
            #expect(text.contains(words) && text.hasSuffix("(\(message))"), "\(text)")
        }

        @Test("Other messages stay as they are", arguments: ["Connection reset by peer", "wrong version number", ""])
        func others(message: String) { #expect(TLSFailure.explained(message, peer: "the server") == message) }
    }
#endif
