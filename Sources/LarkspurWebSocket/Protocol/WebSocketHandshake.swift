/// The result of a handshake.
package struct WebSocketAgreement: Sendable, Hashable {
    /// The protocol that the server has chosen; nil if it has chosen none.
    package var `protocol`: String?
    /// The parameters of compression; nil if messages are not compressed.
    package var deflate: WebSocketDeflateParameters?
}

/// The reason why a client does not accept the server's response to its handshake.
package struct WebSocketRefusal: Error, Sendable, Equatable {
    package let reason: String
}

/// The reason why a server does not accept a handshake, with its response.
package struct WebSocketRejection: Error, Sendable {
    package let status: Int
    package let headers: HTTPHeaders
    package let reason: String

    init(_ status: Int, _ reason: String, headers: HTTPHeaders = [:]) {
        self.status = status
        self.reason = reason
        self.headers = headers
    }
}

/// The opening handshake of both sides (RFC 6455, section 4).
package enum WebSocketHandshake {
    private static let guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    private static let extensionName = "permessage-deflate"

    /// Returns a random key.
    package static func makeKey() -> String {
        var generator = SystemRandomNumberGenerator()
        let words: [UInt64] = [generator.next(), generator.next()]
        return words.withUnsafeBytes { Data($0) }.base64EncodedString()
    }

    /// Returns the server's answer to a key.
    package static func accept(for key: String) -> String { Data(SHA1.hash(key + guid)).base64EncodedString() }

    // MARK: The client

    package static func fields(
        key: String, protocols: [String], compression: WebSocketCompression?
    ) -> HTTPHeaders {
        var fields: HTTPHeaders = [
            "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key,
        ]
        if !protocols.isEmpty { fields.add(name: "Sec-WebSocket-Protocol", value: protocols.joined(separator: ", ")) }
        if let compression, WebSocketCompression.isAvailable {
            fields.add(name: "Sec-WebSocket-Extensions", value: offer(of: compression))
        }
        return fields
    }

    private static func offer(of compression: WebSocketCompression) -> String {
        let bits = compression.clientMaxWindowBits
        var parts = [extensionName, bits < 15 ? "client_max_window_bits=\(max(9, bits))" : "client_max_window_bits"]
        if let bits = compression.serverMaxWindowBits {
            parts.append("server_max_window_bits=\(min(15, max(8, bits)))")
        }
        if !compression.clientContextTakeover { parts.append("client_no_context_takeover") }
        if !compression.serverContextTakeover { parts.append("server_no_context_takeover") }
        return parts.joined(separator: "; ")
    }

    /// Checks the server's response to the handshake (RFC 6455, section 4.1).
    package static func check(
        _ head: ResponseHead, key: String, protocols: [String], compression: WebSocketCompression?
    ) throws(WebSocketRefusal) -> WebSocketAgreement {
        func has(_ token: String, _ name: String) -> Bool {
            head.values(for: name).flatMap(\.listed).contains { $0.lowercased() == token }
        }
        guard head.status == 101 else { throw WebSocketRefusal(reason: "the status is \(head.status), not 101") }
        guard has("websocket", "Upgrade") else { throw WebSocketRefusal(reason: "the field Upgrade is not websocket") }
        guard has("upgrade", "Connection") else {
            throw WebSocketRefusal(reason: "the field Connection is not Upgrade")
        }
        guard head.values(for: "Sec-WebSocket-Accept") == [accept(for: key)] else {
            throw WebSocketRefusal(reason: "the field Sec-WebSocket-Accept does not answer the key")
        }
        guard head["Content-Encoding"] == nil else {
            throw WebSocketRefusal(reason: "the response has a Content-Encoding")
        }
        let chosen = head.values(for: "Sec-WebSocket-Protocol")
        guard chosen.count <= 1, chosen.allSatisfy(protocols.contains) else {
            throw WebSocketRefusal(
                reason: "the server chose the protocol \(chosen.joined(separator: ", ").debugDescription), which was "
                    + "not offered")
        }
        let extensions = head.values(for: "Sec-WebSocket-Extensions").joined(separator: ", ")
        let offered = WebSocketCompression.isAvailable ? compression : nil
        return WebSocketAgreement(protocol: chosen.first, deflate: try agreed(extensions, offered))
    }

    /// Returns the parameters of compression in a response (RFC 7692, section 7.1).
    private static func agreed(
        _ field: String, _ compression: WebSocketCompression?
    ) throws(WebSocketRefusal) -> WebSocketDeflateParameters? {
        guard let extensions = WebSocketExtension.list(field) else {
            throw WebSocketRefusal(reason: "the field Sec-WebSocket-Extensions is malformed")
        }
        guard let first = extensions.first else { return nil }
        guard let compression, extensions.count == 1, first.name == extensionName else {
            throw WebSocketRefusal(reason: "the server uses an extension that was not offered: \(first.name)")
        }
        guard let parameters = first.parameters(bits: 8...15, mayOmitClientBits: false) else {
            throw WebSocketRefusal(reason: "the server's parameters of permessage-deflate are not valid")
        }
        var result = WebSocketDeflateParameters()
        (result.minimumSize, result.level) = (compression.minimumSize, compression.level)
        result.serverTakesOver = !parameters.serverNoTakeover
        result.clientTakesOver = !parameters.clientNoTakeover && compression.clientContextTakeover
        if let asked = compression.serverMaxWindowBits {
            guard let bits = parameters.serverBits, bits <= max(8, asked) else {
                throw WebSocketRefusal(reason: "the server's compression window is larger than server_max_window_bits")
            }
        }
        guard compression.serverContextTakeover || parameters.serverNoTakeover else {
            throw WebSocketRefusal(reason: "the server has not agreed to server_no_context_takeover")
        }
        result.serverWindowBits = parameters.serverBits ?? 15
        let own = min(15, max(9, compression.clientMaxWindowBits))
        result.clientWindowBits = min(own, parameters.clientBits ?? own)
        return result
    }

    // MARK: The server

    /// Checks a request and returns the agreement and the fields of the response 101 (RFC 6455, section 4.2).
    package static func accept(
        method: String, _ fields: HTTPHeaders, protocols: [String], compression: WebSocketCompression?
    ) throws(WebSocketRejection) -> (WebSocketAgreement, HTTPHeaders) {
        func has(_ token: String, _ name: String) -> Bool {
            fields.values(for: name).flatMap(\.listed).contains { $0.lowercased() == token }
        }
        guard method == "GET" else {
            throw WebSocketRejection(405, "a WebSocket is opened by GET", headers: ["Allow": "GET"])
        }
        guard has("websocket", "Upgrade"), has("upgrade", "Connection") else {
            throw WebSocketRejection(426, "this path is a WebSocket", headers: ["Upgrade": "websocket"])
        }
        guard fields.values(for: "Sec-WebSocket-Version") == ["13"] else {
            throw WebSocketRejection(426, "the version must be 13", headers: ["Sec-WebSocket-Version": "13"])
        }
        let keys = fields.values(for: "Sec-WebSocket-Key")
        guard keys.count == 1, Data(base64Encoded: keys[0])?.count == 16 else {
            throw WebSocketRejection(400, "the field Sec-WebSocket-Key is not 16 bytes in Base64")
        }
        var response: HTTPHeaders = [
            "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": accept(for: keys[0]),
        ]
        var agreement = WebSocketAgreement()
        let offered = fields.values(for: "Sec-WebSocket-Protocol").flatMap(\.listed)
        agreement.protocol = protocols.first(where: offered.contains)
        if let name = agreement.protocol { response.add(name: "Sec-WebSocket-Protocol", value: name) }
        let extensions = fields.values(for: "Sec-WebSocket-Extensions").joined(separator: ", ")
        if let compression, let (deflate, answer) = accepted(extensions, compression) {
            agreement.deflate = deflate
            response.add(name: "Sec-WebSocket-Extensions", value: answer)
        }
        return (agreement, response)
    }

    /// Returns the parameters of the first acceptable offer of compression, and the field that accepts it.
    private static func accepted(
        _ field: String, _ compression: WebSocketCompression
    ) -> (WebSocketDeflateParameters, String)? {
        guard WebSocketCompression.isAvailable, let offers = WebSocketExtension.list(field) else { return nil }
        for offer in offers where offer.name == extensionName {
            guard let asked = offer.parameters(bits: 8...15, mayOmitClientBits: true) else { continue }
            var result = WebSocketDeflateParameters()
            var parts = [extensionName]
            (result.minimumSize, result.level) = (compression.minimumSize, compression.level)
            result.serverTakesOver = !asked.serverNoTakeover && compression.serverContextTakeover
            if !result.serverTakesOver { parts.append("server_no_context_takeover") }
            result.clientTakesOver = !asked.clientNoTakeover && compression.clientContextTakeover
            if !result.clientTakesOver { parts.append("client_no_context_takeover") }
            result.serverWindowBits = min(asked.serverBits ?? 15, compression.serverMaxWindowBits ?? 15)
            // An asked window is confirmed, whatever its size (RFC 7692, section 7.1.2.1).
            if asked.serverBits != nil || result.serverWindowBits < 15 {
                parts.append("server_max_window_bits=\(result.serverWindowBits)")
            }
            if asked.hasClientBits {
                result.clientWindowBits = min(asked.clientBits ?? 15, compression.clientMaxWindowBits)
                if result.clientWindowBits < 15 { parts.append("client_max_window_bits=\(result.clientWindowBits)") }
            }
            return (result, parts.joined(separator: "; "))
        }
        return nil
    }
}

/// An element of `Sec-WebSocket-Extensions` (RFC 6455, section 9.1).
private struct WebSocketExtension {
    var name: String
    var parameters: [(name: String, value: String?)] = []

    struct Parameters {
        var serverNoTakeover = false
        var clientNoTakeover = false
        var serverBits: Int?
        var clientBits: Int?
        var hasClientBits = false
    }

    /// Returns the parameters of permessage-deflate; nil if one is unknown, repeated or not valid.
    func parameters(bits: ClosedRange<Int>, mayOmitClientBits: Bool) -> Parameters? {
        var result = Parameters()
        var seen: Set<String> = []
        for (name, value) in parameters {
            guard seen.insert(name).inserted else { return nil }
            // A number has no sign and no leading zero (RFC 7692, section 7.1.2).
            let number = bits.first { "\($0)" == value }
            switch name {
            case "server_no_context_takeover" where value == nil: result.serverNoTakeover = true
            case "client_no_context_takeover" where value == nil: result.clientNoTakeover = true
            case "server_max_window_bits" where number != nil: result.serverBits = number
            case "client_max_window_bits" where number != nil || value == nil && mayOmitClientBits:
                (result.clientBits, result.hasClientBits) = (number, true)
            default: return nil
            }
        }
        return result
    }

    /// Parses a field's value; nil if it is malformed.
    static func list(_ field: String) -> [WebSocketExtension]? {
        var result: [WebSocketExtension] = []
        var rest = field.utf8[...]
        func skipBlanks() { rest = rest.drop { $0 == 0x20 || $0 == 0x09 } }
        func token() -> String? {
            skipBlanks()
            let bytes = rest.prefix { $0.isTokenByte }
            rest = rest.dropFirst(bytes.count)
            skipBlanks()
            return bytes.isEmpty ? nil : String(bytes)
        }
        func take(_ byte: UInt8) -> Bool {
            guard rest.first == byte else { return false }
            rest = rest.dropFirst()
            return true
        }
        skipBlanks()
        while !rest.isEmpty {
            if take(UInt8(ascii: ",")) {
                skipBlanks()
                continue
            }
            guard let name = token() else { return nil }
            var element = WebSocketExtension(name: name)
            while take(UInt8(ascii: ";")) {
                guard let name = token() else { return nil }
                var value: String?
                if take(UInt8(ascii: "=")) {
                    skipBlanks()
                    let isQuoted = take(UInt8(ascii: "\""))
                    value = token()
                    guard value != nil, !isQuoted || take(UInt8(ascii: "\"")) else { return nil }
                    skipBlanks()
                }
                element.parameters.append((name, value))
            }
            result.append(element)
            guard rest.isEmpty || rest.first == UInt8(ascii: ",") else { return nil }
        }
        return result
    }
}
