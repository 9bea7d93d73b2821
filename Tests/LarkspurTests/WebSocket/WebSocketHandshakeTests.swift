import Foundation
import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurFlow
@testable import LarkspurWebSocket

@Suite("The handshake of WebSockets (RFC 6455, section 4)", .limited)
struct WebSocketHandshakeTests {
    private static let key = "dGhlIHNhbXBsZSBub25jZQ=="
    private static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

    @Test("SHA-1 of messages around the size of a block (FIPS 180-4)")
    func sha1() {
        func hex(_ text: String) -> String { SHA1.hash(text).map { String(format: "%02x", $0) }.joined() }
        #expect(hex("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
        #expect(hex("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d")
        #expect(
            hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
                == "84983e441c3bd26ebaae4aa1f95129e5e54670f1")
        #expect(hex(String(repeating: "a", count: 1_000)) == "291e9a6c66994949b57ba5e650361e98fc36b1ba")
    }

    @Test("The example of RFC 6455, 1.3")
    func acceptOfKey() { #expect(WebSocketHandshake.accept(for: Self.key) == Self.accept) }

    @Test("A key is 16 bytes in Base64, and another one each time")
    func keys() {
        let keys = (0..<100).map { _ in WebSocketHandshake.makeKey() }
        #expect(keys.allSatisfy { Data(base64Encoded: $0)?.count == 16 })
        #expect(Set(keys).count == keys.count)
    }

    // MARK: The client

    @Test("The fields of a request (RFC 6455, 4.1)")
    func requestFields() {
        let fields = WebSocketHandshake.fields(key: Self.key, protocols: ["chat", "log"], compression: nil)
        #expect(fields.value(for: "Upgrade") == "websocket")
        #expect(fields.value(for: "Connection") == "Upgrade")
        #expect(fields.value(for: "Sec-WebSocket-Version") == "13")
        #expect(fields.value(for: "Sec-WebSocket-Key") == Self.key)
        #expect(fields.value(for: "Sec-WebSocket-Protocol") == "chat, log")
        #expect(fields.value(for: "Sec-WebSocket-Extensions") == nil)
    }

    @Test("An offer of compression has the parameters that are not the default (RFC 7692, 7.1)")
    func offers() {
        func offer(_ change: (inout WebSocketCompression) -> Void = { _ in }) -> String? {
            let compression = WebSocketCompression(change)
            return WebSocketHandshake.fields(key: "", protocols: [], compression: compression)
                .value(for: "Sec-WebSocket-Extensions")
        }
        #expect(offer() == "permessage-deflate; client_max_window_bits")
        #expect(offer { $0.clientMaxWindowBits = 10 } == "permessage-deflate; client_max_window_bits=10")
        #expect(offer { $0.clientMaxWindowBits = 1 } == "permessage-deflate; client_max_window_bits=9")
        let all = offer {
            $0.serverMaxWindowBits = 8
            ($0.clientContextTakeover, $0.serverContextTakeover) = (false, false)
        }
        let parameters = "client_max_window_bits; server_max_window_bits=8; client_no_context_takeover"
        #expect(all == "permessage-deflate; \(parameters); server_no_context_takeover")
    }

    private static func response(_ changes: [(String, String?)] = [], status: Int = 101) -> ResponseHead {
        var fields = [
            ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", Self.accept),
        ]
        for (name, value) in changes {
            fields.removeAll { $0.0 == name }
            if let value { fields.append((name, value)) }
        }
        return ResponseHead(status: status, fields: fields.map { HTTPHeader(name: $0.0, value: $0.1) })
    }

    private func check(
        _ head: ResponseHead, protocols: [String] = [], compression: WebSocketCompression? = nil
    ) throws(WebSocketRefusal) -> WebSocketAgreement {
        try WebSocketHandshake.check(head, key: Self.key, protocols: protocols, compression: compression)
    }

    /// Returns the reason of the refusal; nil if there is none.
    private func refusal(
        _ head: ResponseHead, protocols: [String] = [], compression: WebSocketCompression? = nil
    ) -> String? {
        do throws(WebSocketRefusal) {
            _ = try check(head, protocols: protocols, compression: compression)
            return nil
        } catch {
            return error.reason
        }
    }

    @Test("A client accepts these responses (RFC 6455, 4.1)")
    func acceptedResponses() throws {
        #expect(try check(Self.response()) == WebSocketAgreement())
        #expect(
            try check(Self.response([("Upgrade", "WebSocket"), ("Connection", "keep-alive, UPGRADE")]))
                == WebSocketAgreement())
        let chosen = try check(Self.response([("Sec-WebSocket-Protocol", "log")]), protocols: ["chat", "log"])
        #expect(chosen.protocol == "log")
        #expect(try check(Self.response(), protocols: ["chat"]).protocol == nil)
    }

    @Test(
        "A client refuses these responses, and says why (RFC 6455, 4.1)",
        arguments: [
            ("Upgrade", nil, "Upgrade"), ("Upgrade", "h2c", "Upgrade"), ("Connection", nil, "Connection"),
            ("Connection", "close", "Connection"), ("Sec-WebSocket-Accept", nil, "Sec-WebSocket-Accept"),
            ("Sec-WebSocket-Accept", "s3pplMBiTxaQ9kYGzzhZRbK+xOo=", "Sec-WebSocket-Accept"),
            ("Sec-WebSocket-Protocol", "x", "\"x\", which was not offered"),
            ("Sec-WebSocket-Protocol", "CHAT", "\"CHAT\", which was not offered"),
            ("Sec-WebSocket-Protocol", "chat, log", "which was not offered"),
            ("Sec-WebSocket-Extensions", "permessage-deflate", "not offered: permessage-deflate"),
            ("Sec-WebSocket-Extensions", "x", "not offered: x"),
            ("Sec-WebSocket-Extensions", "=", "malformed"),
        ] as [(String, String?, String)])
    func refusedResponses(_ name: String, _ value: String?, _ reason: String) {
        let refusal = refusal(Self.response([(name, value)]), protocols: ["chat", "log"])
        #expect(refusal?.contains(reason) == true, "\(refusal ?? "accepted")")
    }

    @Test("A client refuses another status")
    func refusedStatus() {
        #expect(refusal(Self.response(status: 200))?.contains("200") == true)
        #expect(refusal(Self.response(status: 101)) == nil)
    }

    private func agreed(
        _ value: String, _ change: (inout WebSocketCompression) -> Void = { _ in }
    ) -> WebSocketDeflateParameters? {
        let compression = WebSocketCompression {
            $0.minimumSize = 0
            change(&$0)
        }
        return try? check(Self.response([("Sec-WebSocket-Extensions", value)]), compression: compression).deflate
    }

    @Test("A client takes over the parameters of a response (RFC 7692, 7.1)")
    func agreements() throws {
        let plain = try #require(agreed("permessage-deflate"))
        #expect(plain == WebSocketDeflateParameters())
        let all = try #require(
            agreed(
                "permessage-deflate; client_max_window_bits=\"10\" ; server_max_window_bits=8;"
                    + "server_no_context_takeover;client_no_context_takeover"))
        #expect(all.clientWindowBits == 10)
        #expect(all.serverWindowBits == 8)
        #expect(!all.clientTakesOver && !all.serverTakesOver)
        #expect(agreed("permessage-deflate; server_max_window_bits=9") { $0.serverMaxWindowBits = 10 } != nil)
        #expect(
            agreed("permessage-deflate; client_max_window_bits=15") { $0.clientMaxWindowBits = 10 }?.clientWindowBits
                == 10)
        #expect(agreed("permessage-deflate") { $0.clientContextTakeover = false }?.clientTakesOver == false)
    }

    @Test(
        "A client refuses parameters that are unknown, repeated or not valid (RFC 7692, 7.1)",
        arguments: [
            "permessage-deflate, permessage-deflate", "permessage-deflate; unknown", "permessage-deflate; unknown=1",
            "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
            "permessage-deflate; server_max_window_bits=9; server_max_window_bits=9",
            "permessage-deflate; server_no_context_takeover=1", "permessage-deflate; client_no_context_takeover=true",
            "permessage-deflate; client_max_window_bits", "permessage-deflate; server_max_window_bits",
            "permessage-deflate; server_max_window_bits=7", "permessage-deflate; server_max_window_bits=16",
            "permessage-deflate; server_max_window_bits=010", "permessage-deflate; server_max_window_bits=\"10",
            "permessage-deflate; server_max_window_bits=+9", "permessage-deflate;", "permessage-deflate; =1", "other",
        ])
    func refusedParameters(_ value: String) {
        let head = Self.response([("Sec-WebSocket-Extensions", value)])
        #expect(refusal(head, compression: .deflate) != nil)
    }

    @Test("A client refuses a response that does not grant what it has asked for (RFC 7692, 7.1.1.1 and 7.1.2.1)")
    func refusedAgreements() {
        for value in ["permessage-deflate", "permessage-deflate; server_max_window_bits=11"] {
            let head = Self.response([("Sec-WebSocket-Extensions", value)])
            let refusal = refusal(head, compression: WebSocketCompression { $0.serverMaxWindowBits = 10 })
            #expect(refusal?.contains("server_max_window_bits") == true)
        }
        let head = Self.response([("Sec-WebSocket-Extensions", "permessage-deflate")])
        let refusal = refusal(head, compression: WebSocketCompression { $0.serverContextTakeover = false })
        #expect(refusal?.contains("server_no_context_takeover") == true)
    }

    // MARK: The server

    private static func request(_ changes: [(String, String?)] = []) -> HTTPHeaders {
        var fields: HTTPHeaders = [
            "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key,
        ]
        for (name, value) in changes {
            fields.remove(name: name)
            if let value { fields.add(name: name, value: value) }
        }
        return fields
    }

    @Test("A server answers the key, and chooses its first offered protocol (RFC 6455, 4.2.2)")
    func answers() throws {
        let fields = Self.request([("Sec-WebSocket-Protocol", "chat, log")])
        let (agreement, response) = try WebSocketHandshake.accept(
            method: "GET", fields, protocols: ["other", "log", "chat"], compression: nil)
        #expect(response.value(for: "Sec-WebSocket-Accept") == Self.accept)
        #expect(response.value(for: "Sec-WebSocket-Protocol") == "log")
        #expect(agreement == WebSocketAgreement(protocol: "log", deflate: nil))
    }

    @Test(
        "A server rejects these requests with a status (RFC 6455, 4.2.1)",
        arguments: [
            ("POST", "Upgrade", "websocket", 405, "Allow"), ("GET", "Upgrade", nil, 426, "Upgrade"),
            ("GET", "Connection", "close", 426, "Upgrade"),
            ("GET", "Sec-WebSocket-Version", "8", 426, "Sec-WebSocket-Version"),
            ("GET", "Sec-WebSocket-Version", nil, 426, "Sec-WebSocket-Version"),
            ("GET", "Sec-WebSocket-Key", nil, 400, nil), ("GET", "Sec-WebSocket-Key", "c2hvcnQ=", 400, nil),
            ("GET", "Sec-WebSocket-Key", "***", 400, nil),
        ] as [(String, String, String?, Int, String?)])
    func rejections(_ method: String, _ name: String, _ value: String?, _ status: Int, _ field: String?) {
        do throws(WebSocketRejection) {
            _ = try WebSocketHandshake.accept(
                method: method, Self.request([(name, value)]), protocols: [], compression: nil)
            Issue.record("accepted")
        } catch {
            #expect(error.status == status)
            if let field { #expect(error.headers.value(for: field) != nil) }
        }
    }

    @Test(
        "A server accepts the first offer that it can (RFC 7692, 5.1 and 7.1)",
        arguments: [
            ("permessage-deflate", "permessage-deflate"),
            ("permessage-deflate; client_max_window_bits", "permessage-deflate"),
            ("permessage-deflate; client_max_window_bits=10", "permessage-deflate; client_max_window_bits=10"),
            ("permessage-deflate; server_max_window_bits=10", "permessage-deflate; server_max_window_bits=10"),
            ("permessage-deflate; server_no_context_takeover", "permessage-deflate; server_no_context_takeover"),
            ("permessage-deflate; client_no_context_takeover", "permessage-deflate; client_no_context_takeover"),
            (
                "x, permessage-deflate; y, permessage-deflate; server_max_window_bits=\"9\"",
                "permessage-deflate; server_max_window_bits=9"
            ),
            ("permessage-deflate; server_max_window_bits", nil), ("permessage-deflate; x", nil), ("x", nil), ("", nil),
        ] as [(String, String?)])
    func acceptedOffers(_ offer: String, _ answer: String?) throws {
        let fields = Self.request([("Sec-WebSocket-Extensions", offer)])
        let (agreement, response) = try WebSocketHandshake.accept(
            method: "GET", fields, protocols: [], compression: .deflate)
        #expect(response.value(for: "Sec-WebSocket-Extensions") == answer)
        #expect((agreement.deflate != nil) == (answer != nil))
    }

    @Test("Each side compresses with its own effort and minimum size")
    func ownSettings() throws {
        let client = WebSocketCompression { ($0.level, $0.minimumSize) = (1, 7) }
        let server = WebSocketCompression { ($0.level, $0.minimumSize) = (9, 70) }
        let fields = WebSocketHandshake.fields(key: Self.key, protocols: [], compression: client)
        let (agreement, response) = try WebSocketHandshake.accept(
            method: "GET", fields, protocols: [], compression: server)
        #expect(agreement.deflate?.level == 9)
        #expect(agreement.deflate?.minimumSize == 70)
        let head = ResponseHead(status: 101, fields: response.map { HTTPHeader(name: $0.name, value: $0.value) })
        let own = try check(head, compression: client).deflate
        #expect(own?.level == 1)
        #expect(own?.minimumSize == 7)
    }

    @Test("Both sides have the same agreement", arguments: [8, 9, 12, 15], [true, false])
    func bothSides(_ bits: Int, _ takesOver: Bool) throws {
        let compression = WebSocketCompression {
            ($0.clientMaxWindowBits, $0.serverMaxWindowBits) = (max(9, bits), bits)
            ($0.clientContextTakeover, $0.serverContextTakeover) = (takesOver, !takesOver)
        }
        let fields = WebSocketHandshake.fields(key: Self.key, protocols: ["a"], compression: compression)
        let (server, response) = try WebSocketHandshake.accept(
            method: "GET", fields, protocols: ["a"], compression: .deflate)
        let head = ResponseHead(
            status: 101, fields: response.map { HTTPHeader(name: $0.name, value: $0.value) })
        #expect(try check(head, protocols: ["a"], compression: compression) == server)
    }
}
