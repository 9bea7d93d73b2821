import Larkspur

/// The form of an archive's entries (HAR 1.2).
struct HARFormat: Sendable {
    let redaction: Redaction
    let bodyLimit: Int

    /// The text of a file without entries is `beginning + end`.
    static let beginning = """
        {"log":{"version":"1.2","creator":{"name":"Larkspur","version":"1"},"entries":[

        """
    static let end = "]}}\n"

    func entry(of hop: HARExchange.Hop, in exchange: HARExchange, error: String?, at now: Date) -> JSON {
        let redaction = hop.request.redaction(extending: redaction)
        let timings = HARTimings(hop.metrics)
        var start = hop.start
        // The recorder may have received the hop's first event late, and its last one in time.
        if let total = hop.metrics?.total { start = min(start, now.addingTimeInterval(-total.inSeconds)) }
        var members: [(String, JSON)] = [
            ("startedDateTime", .string(Self.text(of: start))),
            ("time", Self.number(timings.time)),
            ("request", request(hop, redaction)),
            ("response", response(hop, redaction, error)),
            ("cache", [:]),
            ("timings", timings.json),
        ]
        if let address = hop.metrics?.remoteAddress { members.append(("serverIPAddress", .string(address))) }
        members += [
            ("_request", .string("\(exchange.request.id)")),
            ("_attempt", JSON(exchange.attempt)),
            ("_hop", JSON(exchange.hopNumber)),
        ]
        if let cache = hop.cache { members.append(("_cache", .string("\(cache)"))) }
        if let error { members.append(("_error", .string(error))) }
        if let trailers = hop.trailers { members.append(("_trailers", fields(trailers, redaction))) }
        if !hop.messages.isEmpty { members.append(("_webSocketMessages", .array(hop.messages.map(message)))) }
        return .object(JSON.Object(members))
    }

    private func message(_ message: HARExchange.Message) -> JSON {
        [
            "type": .string(message.isSent ? "send" : "receive"),
            "time": JSON(message.time.timeIntervalSince1970),
            "_size": JSON(message.size),
        ]
    }

    // MARK: Request

    private func request(_ hop: HARExchange.Hop, _ redaction: Redaction) -> JSON {
        let request = hop.request
        let url = redaction.url(request.url)
        var members: [(String, JSON)] = [
            ("method", .string(request.method.rawValue)),
            ("url", .string(url)),
            ("httpVersion", .string(version(hop))),
            ("cookies", []),
            ("headers", fields(request.headers, redaction)),
            ("queryString", query(of: url)),
            ("headersSize", -1),
            ("bodySize", request.body.length.map { JSON($0) } ?? -1),
        ]
        if request.body.length != 0 {
            let type = request.headers["Content-Type"]
            var content = text(
                hop.sentBody.bytes, isWhole: isWhole(hop.sentBody, request.body.length), type, redaction,
                isEncoded: Self.isEncoded(request.headers))
            if case .stream = request.body, hop.sentBody.bytes.isEmpty { content.comment = "the body was not recorded" }
            var data: [(String, JSON)] = [
                ("mimeType", .string(self.type(in: request.headers, redaction) ?? "")), ("params", []),
                ("text", .string(content.text ?? "")),
            ]
            if content.isBase64 { data.append(("_encoding", "base64")) }
            if let comment = content.comment { data.append(("comment", .string(comment))) }
            members.append(("postData", .object(JSON.Object(data))))
        }
        return .object(JSON.Object(members))
    }

    private func query(of url: String) -> JSON {
        guard let start = url.firstIndex(of: "?") else { return [] }
        let pairs = url[start...].dropFirst().split(separator: "&")
        return .array(
            pairs.map { pair in
                let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
                    Self.unescaped($0)
                }
                return ["name": .string(sides[0]), "value": .string(sides.count > 1 ? sides[1] : "")]
            })
    }

    /// Returns the text without percent escapes and plus signs; unchanged if the result is not UTF-8.
    private static func unescaped(_ text: Substring) -> String {
        var bytes = Data()
        var rest = Array(text)[...]
        while let character = rest.popFirst() {
            let digits = rest.prefix(2).compactMap { $0.isASCII ? $0.hexDigitValue : nil }
            switch character {
            case "%" where digits.count == 2:
                bytes.append(UInt8(digits[0] << 4 | digits[1]))
                rest = rest.dropFirst(2)
            case "+": bytes.append(UInt8(ascii: " "))
            default: bytes.append(contentsOf: character.utf8)
            }
        }
        return String(data: bytes, encoding: .utf8) ?? String(text)
    }

    private func fields(_ fields: some Sequence<HTTPHeader>, _ redaction: Redaction) -> JSON {
        .array(fields.map { ["name": .string($0.name), "value": .string(redaction.value(of: $0))] })
    }

    // MARK: Response

    /// Returns the response. Without a head the status is 0, as in the archives of browsers.
    private func response(_ hop: HARExchange.Hop, _ redaction: Redaction, _ error: String?) -> JSON {
        let headers = hop.head?.headers ?? [:]
        let location = headers.first { $0.name.lowercased() == "location" }
        return [
            "status": JSON(hop.head?.status ?? 0),
            "statusText": "",
            "httpVersion": .string(version(hop)),
            "cookies": [],
            "headers": fields(headers, redaction),
            "content": content(hop, redaction),
            "redirectURL": .string(location.map { redaction.value(of: $0) } ?? ""),
            "headersSize": -1,
            "bodySize": hop.head == nil ? -1 : JSON(hop.received),
        ]
    }

    private func content(_ hop: HARExchange.Hop, _ redaction: Redaction) -> JSON {
        let type = hop.head?["Content-Type"]
        let mimeType = hop.head.flatMap { self.type(in: $0.headers, redaction) }
        let received = hop.receivedBody
        let isReceived = isWhole(received, UInt64(hop.received))
        let decoded = hop.head?.decoded(received.bytes, of: hop.request, upTo: 4 * bodyLimit)
        let isWhole = isReceived && decoded?.isWhole ?? true
        let bytes = decoded?.bytes ?? received.bytes
        let isEncoded = hop.head.map { !$0.bodyIsDecoded && Self.isEncoded($0.headers) } ?? false
        var content = text(
            bytes, isWhole: isWhole, type, redaction, isEncoded: isEncoded && bytes == received.bytes)
        if decoded == nil, hop.head != nil, !received.bytes.isEmpty {
            content.comment = "the body could not be decoded"
        }
        let size = isWhole ? decoded?.bytes.count ?? hop.received : max(hop.received, decoded?.bytes.count ?? 0)
        var members: [(String, JSON)] = [("size", JSON(size)), ("mimeType", .string(mimeType ?? "x-unknown"))]
        if isWhole, size != hop.received { members.append(("compression", JSON(size - hop.received))) }
        if let text = content.text { members.append(("text", .string(text))) }
        if content.isBase64 { members.append(("encoding", "base64")) }
        if let comment = content.comment { members.append(("comment", .string(comment))) }
        return .object(JSON.Object(members))
    }

    // MARK: Bodies

    private func isWhole(_ body: HARBody, _ length: UInt64?) -> Bool {
        !body.hasGap && length.map { UInt64(body.bytes.count) >= $0 } ?? (body.bytes.count < bodyLimit)
    }

    private struct Text {
        var text: String?
        var isBase64 = false
        var comment: String?
    }

    private static func isEncoded(_ headers: HTTPHeaders) -> Bool {
        headers.values(for: "Content-Encoding").contains { $0.lowercased() != "identity" }
    }

    private func type(in headers: HTTPHeaders, _ redaction: Redaction) -> String? {
        headers.first { $0.name.lowercased() == "content-type" }.map { redaction.value(of: $0) }
    }

    /// Returns the reason to leave out a body that cannot be redacted reliably; nil if there is none.
    private func reasonToOmit(_ bytes: Data, isWhole: Bool, _ type: String?, isEncoded: Bool) -> String? {
        if isEncoded { return "the body is encoded, and was left out" }
        let first = bytes.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        let isJSON =
            type?.lowercased().contains("json") ?? false || first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
        if isJSON, !isWhole || (try? JSON(data: bytes)) == nil {
            return "the body is JSON that is not complete or not valid, and was left out"
        }
        return nil
    }

    /// Returns the redacted text of a body, or its bytes in base64 if they are not UTF-8.
    private func text(
        _ bytes: Data, isWhole: Bool, _ type: String?, _ redaction: Redaction, isEncoded: Bool
    ) -> Text {
        let comment = isWhole ? nil : "the recorded body is not complete"
        guard !bytes.isEmpty else { return Text(comment: comment) }
        if redaction != .none, let reason = reasonToOmit(bytes, isWhole: isWhole, type, isEncoded: isEncoded) {
            return Text(comment: reason)
        }
        let shown = redaction.body(bytes, type: type)
        if let text = Self.text(shown, isCut: !isWhole) { return Text(text: text, comment: comment) }
        // Text that is not UTF-8 cannot be redacted reliably.
        let kind = type?.lowercased() ?? "text/"
        if redaction != .none, ["json", "xml", "text/", "form"].contains(where: kind.contains) {
            return Text(comment: "the body is text that is not UTF-8, and was left out")
        }
        return Text(text: shown.base64EncodedString(), isBase64: true, comment: comment)
    }

    /// Returns the bytes as text; nil if they are not UTF-8. A cut text may end within a character.
    private static func text(_ bytes: Data, isCut: Bool) -> String? {
        if bytes.contains(0) { return nil }
        for left in 0...(isCut ? min(3, bytes.count) : 0) {
            if let text = String(data: bytes.dropLast(left), encoding: .utf8) { return text }
        }
        return nil
    }

    // MARK: Values

    private func version(_ hop: HARExchange.Hop) -> String {
        switch hop.metrics?.protocolName {
        case "h2": "HTTP/2"
        case "h3": "HTTP/3"
        case let name?: name.uppercased()
        case nil: hop.head?.version ?? ""
        }
    }

    static func text(of date: Date) -> String {
        Date.ISO8601FormatStyle(includingFractionalSeconds: true).format(date)
    }

    static func number(_ value: Double) -> JSON { JSON((value * 1_000).rounded() / 1_000) }
}

/// The phases of a hop in milliseconds.
struct HARTimings {
    private(set) var json: JSON
    /// The sum of the phases.
    private(set) var time = 0.0

    init(_ metrics: TransportMetrics?) {
        var last = Duration.zero
        var sum = 0.0
        /// Returns the time since the last known moment; nil if this moment is not known.
        func phase(to end: Duration?) -> Double? {
            guard let end else { return nil }
            defer { last = max(last, end) }
            let length = max(0, (end - last).inSeconds * 1_000)
            sum += length
            return length
        }
        let blocked = metrics?.queued.map { max(0, $0.inSeconds * 1_000) }
        sum += blocked ?? 0
        let lookup = phase(to: metrics?.nameLookup)
        let connection = phase(to: metrics?.connected)
        let tls = phase(to: metrics?.secured)
        let connect = connection == nil && tls == nil ? nil : (connection ?? 0) + (tls ?? 0)
        let send = phase(to: metrics?.requestSent) ?? 0
        var wait = phase(to: metrics?.firstByte) ?? 0
        var receive = phase(to: metrics?.total) ?? 0
        if metrics?.firstByte == nil { (wait, receive) = (wait + receive, 0) }
        json = [
            "blocked": HARFormat.number(blocked ?? -1),
            "dns": HARFormat.number(lookup ?? -1),
            "connect": HARFormat.number(connect ?? -1),
            "ssl": HARFormat.number(tls ?? -1),
            "send": HARFormat.number(send),
            "wait": HARFormat.number(wait),
            "receive": HARFormat.number(receive),
        ]
        time = sum
    }
}

extension Duration {
    fileprivate var inSeconds: Double { self / .seconds(1) }
}
