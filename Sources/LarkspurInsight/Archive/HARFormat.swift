import Larkspur

/// Builds the entries of a recorder from hops, and hides their secrets.
struct HARFormat: Sendable {
    let redaction: Redaction
    let bodyLimit: Int

    func entry(of hop: HARExchange.Hop, startedAt start: Date, error: String?) -> HARArchive.Entry {
        let redaction = hop.request.redaction(extending: redaction)
        var entry = HARArchive.Entry(
            startedAt: start, request: request(hop, redaction), response: response(hop, redaction),
            timings: HARArchive.Timings(hop.metrics))
        entry.serverAddress = hop.metrics?.remoteAddress
        entry.cacheOutcome = hop.cache?.name
        entry.error = error
        entry.messages = hop.messages.map { message($0, redaction) }
        return entry
    }

    // MARK: Parts

    private func request(_ hop: HARExchange.Hop, _ redaction: Redaction) -> HARArchive.Request {
        let request = hop.request
        var recorded = HARArchive.Request(
            method: request.method.rawValue, url: redaction.url(request.url),
            headers: fields(request.headers, redaction))
        recorded.version = version(hop)
        recorded.bodySize = request.body.length.map { Int(clamping: $0) }
        for field in request.headers where field.name.utf8.count == 6 && field.name.lowercased() == "cookie" {
            recorded.cookies += HARFormFields.cookies(field.value, hidden: hidden(field, redaction))
        }
        guard request.body.length != 0 else { return recorded }
        let type = request.headers["Content-Type"]
        let isWhole = isWhole(hop.sentBody, request.body.length)
        var body = body(
            hop.sentBody.bytes, isWhole: isWhole, type, redaction, isEncoded: Self.isEncoded(request.headers))
        body.mimeType = self.type(in: request.headers, redaction) ?? ""
        if let bytes = body.bytes { body.fields = HARFormFields.ofBody(bytes, mimeType: type ?? "") }
        if case .stream = request.body, hop.sentBody.bytes.isEmpty { body.comment = "the body was not recorded" }
        recorded.body = body
        return recorded
    }

    /// Returns the response. Without a head the status is 0, as in the archives of browsers.
    private func response(_ hop: HARExchange.Hop, _ redaction: Redaction) -> HARArchive.Response {
        let headers = hop.head?.headers ?? [:]
        var response = HARArchive.Response(
            status: hop.head?.status ?? 0, statusText: hop.head?.statusText ?? "", headers: fields(headers, redaction),
            body: body(of: hop, headers, redaction))
        response.version = version(hop)
        response.bodySize = hop.head == nil ? nil : hop.received
        response.trailers = hop.trailers.map { fields($0, redaction) }
        for (field, shown) in zip(headers, response.headers) {
            switch field.name.utf8.count {
            case 8 where response.redirectURL.isEmpty && field.name.lowercased() == "location":
                response.redirectURL = shown.value
            case 10 where field.name.lowercased() == "set-cookie":
                let cookie = HARFormFields.cookie(settingBy: field.value, hidden: hidden(field, redaction))
                response.cookies.append(cookie)
            default: break
            }
        }
        return response
    }

    private func body(of hop: HARExchange.Hop, _ headers: HTTPHeaders, _ redaction: Redaction) -> HARArchive.Body {
        let received = hop.receivedBody
        let isReceived = isWhole(received, UInt64(hop.received))
        let decoded = hop.head?.decoded(received.bytes, of: hop.request, upTo: 4 * bodyLimit)
        let isWhole = isReceived && decoded?.isWhole ?? true
        let bytes = decoded?.bytes ?? received.bytes
        let isEncoded = hop.head.map { !$0.bodyIsDecoded && Self.isEncoded(headers) } ?? false
        var body = body(
            bytes, isWhole: isWhole, headers["Content-Type"], redaction,
            isEncoded: isEncoded && bytes == received.bytes)
        if decoded == nil, hop.head != nil, !received.bytes.isEmpty { body.comment = "the body could not be decoded" }
        body.mimeType = type(in: headers, redaction) ?? ""
        body.size = isWhole ? decoded?.bytes.count ?? hop.received : max(hop.received, decoded?.bytes.count ?? 0)
        return body
    }

    private func message(_ message: HARExchange.Message, _ redaction: Redaction) -> HARArchive.Message {
        let isWhole = message.bytes?.count == message.size
        let type = message.isText ? nil : "application/octet-stream"
        let content = message.bytes.map { body($0, isWhole: isWhole, type, redaction, isEncoded: false) }
        let isEmpty = message.size == 0
        return HARArchive.Message(
            isSent: message.isSent, isText: message.isText, time: message.time,
            bytes: content?.bytes ?? (isEmpty ? Data() : nil), size: message.size)
    }

    private func fields(_ fields: some Sequence<HTTPHeader>, _ redaction: Redaction) -> HTTPHeaders {
        HTTPHeaders(fields.map { HTTPHeader(name: $0.name, value: redaction.value(of: $0)) })
    }

    /// Returns the text that takes the place of a cookie's value; nil if the values of the field are shown.
    private func hidden(_ field: HTTPHeader, _ redaction: Redaction) -> String? {
        redaction.value(of: field) == field.value ? nil : Redaction.replacement
    }

    // MARK: Bodies

    private func isWhole(_ body: HARBody, _ length: UInt64?) -> Bool {
        !body.hasGap && length.map { UInt64(body.bytes.count) >= $0 } ?? (body.bytes.count < bodyLimit)
    }

    private static func isEncoded(_ headers: HTTPHeaders) -> Bool {
        headers.values(for: "Content-Encoding").contains { $0.lowercased() != "identity" }
    }

    private func type(in headers: HTTPHeaders, _ redaction: Redaction) -> String? {
        headers.first { $0.name.utf8.count == 12 && $0.name.lowercased() == "content-type" }
            .map { redaction.value(of: $0) }
    }

    /// Returns the redacted bytes of a body, or the reason why they are left out.
    private func body(
        _ bytes: Data, isWhole: Bool, _ type: String?, _ redaction: Redaction, isEncoded: Bool
    ) -> HARArchive.Body {
        var body = HARArchive.Body()
        body.comment = isWhole ? nil : "the recorded body is not complete"
        guard !bytes.isEmpty else { return body }
        if redaction != .none, let reason = reasonToOmit(bytes, isWhole: isWhole, type, isEncoded: isEncoded) {
            body.comment = reason
            return body
        }
        let shown = redaction.body(bytes, type: type)
        if let text = Self.wholeCharacters(of: shown, isCut: !isWhole) {
            body.bytes = text
            return body
        }
        // Text that is not UTF-8 cannot be redacted reliably.
        let kind = type?.lowercased() ?? "text/"
        if redaction != .none, ["json", "xml", "text/", "form"].contains(where: kind.contains) {
            body.comment = "the body is text that is not UTF-8, and was left out"
        } else {
            body.bytes = shown
        }
        return body
    }

    /// Returns the reason to leave out a body that cannot be redacted reliably; nil if there is none.
    private func reasonToOmit(_ bytes: Data, isWhole: Bool, _ type: String?, isEncoded: Bool) -> String? {
        if isEncoded { return "the body is encoded, and was left out" }
        let first = bytes.withUnsafeBytes { $0.first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D } }
        let isJSON = first == UInt8(ascii: "{") || first == UInt8(ascii: "[") || type.map(Self.namesJSON) ?? false
        if isJSON, !isWhole || (try? JSON.Document(data: bytes)) == nil {
            return "the body is JSON that is not complete or not valid, and was left out"
        }
        return nil
    }

    /// Returns whether a media type contains `json`, in any case.
    private static func namesJSON(_ type: String) -> Bool {
        var found = 0
        let word: StaticString = "json"
        return word.withUTF8Buffer { word in
            for byte in type.utf8 {
                // The letters of the word differ, so a text that does not fit can begin the word at most.
                found = byte | 0x20 == word[found] ? found + 1 : byte | 0x20 == word[0] ? 1 : 0
                if found == word.count { return true }
            }
            return false
        }
    }

    /// Returns the bytes if they are UTF-8, otherwise nil. A cut text may end within a character, which is left out.
    private static func wholeCharacters(of bytes: Data, isCut: Bool) -> Data? {
        if bytes.withUnsafeBytes({ $0.contains(0) }) { return nil }
        if bytes.withUnsafeBytes({ $0.allSatisfy { $0 < 0x80 } }) { return bytes }
        for left in 0...(isCut ? min(3, bytes.count) : 0) {
            let part = bytes.dropLast(left)
            if String(data: part, encoding: .utf8) != nil { return part }
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
}

extension HARArchive.Timings {
    /// The phases of a hop.
    init(_ metrics: TransportMetrics?) {
        self.init()
        var last = Duration.zero
        /// Returns the time since the last known moment; nil if this moment is not known.
        func phase(to end: Duration?) -> Duration? {
            guard let end else { return nil }
            defer { last = max(last, end) }
            return max(.zero, end - last)
        }
        blocked = metrics?.queued.map { max(.zero, $0) }
        dns = phase(to: metrics?.nameLookup)
        let connection = phase(to: metrics?.connected)
        tls = phase(to: metrics?.secured)
        connect = connection == nil && tls == nil ? nil : (connection ?? .zero) + (tls ?? .zero)
        send = phase(to: metrics?.requestSent) ?? .zero
        let first = phase(to: metrics?.firstByte)
        let rest = phase(to: metrics?.total) ?? .zero
        (wait, receive) = first.map { ($0, rest) } ?? (rest, .zero)
    }
}
