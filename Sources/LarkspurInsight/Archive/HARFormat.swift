import Larkspur

/// An entry, and the fields of its heads as they are written.
struct HARRecord: Sendable {
    var entry: HARArchive.Entry
    var requestFields: [UInt8]?
    var responseFields: [UInt8]?
}

/// Builds the entries of a recorder from hops, and hides their secrets.
struct HARFormat: Sendable {
    let redaction: Redaction
    let bodyLimit: Int
    /// The fields of earlier heads; nil for a single entry.
    var memory: HARFieldMemory?

    func entry(of hop: HARExchange.Hop, startedAt start: Date, error: String?) -> HARArchive.Entry {
        record(of: hop, startedAt: start, error: error).entry
    }

    func record(of hop: HARExchange.Hop, startedAt start: Date, error: String?) -> HARRecord {
        let hasOwnRules = Self.hasOwnRules(hop.request)
        let redaction = hasOwnRules ? hop.request.redaction(extending: redaction) : redaction
        // The fields of earlier heads were searched by the rules of the recorder.
        let memory = hasOwnRules ? nil : memory
        let sent = fields(of: hop.request, redaction, memory)
        let received = hop.head.map { fields(of: $0, redaction, memory) }
        var entry = HARArchive.Entry(
            startedAt: start, request: request(hop, sent, redaction), response: response(hop, received, redaction),
            timings: HARArchive.Timings(hop.metrics))
        entry.serverAddress = hop.metrics?.remoteAddress
        entry.cacheOutcome = hop.cache?.name
        entry.error = error
        entry.messages = hop.messages.map { message($0, redaction) }
        return HARRecord(entry: entry, requestFields: sent.json, responseFields: received?.json)
    }

    /// Returns whether a request has names of secrets that the rules need not have.
    private static func hasOwnRules(_ request: OutgoingRequest) -> Bool {
        !request.options.confidentialHeaders.isEmpty || !request.options.confidentialQueryItems.isEmpty
            || request.headers.contains(where: \.isSecret)
    }

    private func fields(of request: OutgoingRequest, _ redaction: Redaction, _ memory: HARFieldMemory?) -> HARFields {
        guard let memory else { return HARFields(request: request.headers, redaction) }
        return memory.fields(of: request.headers) { HARFields(request: request.headers, redaction) }
    }

    private func fields(of head: ResponseHead, _ redaction: Redaction, _ memory: HARFieldMemory?) -> HARFields {
        guard let memory else { return HARFields(response: head, redaction) }
        return memory.fields(of: head) { HARFields(response: head, redaction) }
    }

    // MARK: Parts

    private func request(
        _ hop: HARExchange.Hop, _ fields: HARFields, _ redaction: Redaction
    ) -> HARArchive.Request {
        let request = hop.request
        var recorded = HARArchive.Request(
            method: request.method.rawValue, url: redaction.url(request.url), headers: fields.shown)
        recorded.version = version(hop)
        recorded.bodySize = request.body.length.map { Int(clamping: $0) }
        recorded.cookies = fields.cookies
        guard request.body.length != 0 else { return recorded }
        let isWhole = isWhole(hop.sentBody, request.body.length)
        var body = body(
            hop.sentBody.bytes, isWhole: isWhole, fields.type, redaction, isEncoded: fields.isEncoded)
        body.mimeType = fields.shownType ?? ""
        if let bytes = body.bytes { body.fields = HARFormFields.ofBody(bytes, mimeType: fields.type ?? "") }
        if case .stream = request.body, hop.sentBody.bytes.isEmpty { body.comment = "the body was not recorded" }
        recorded.body = body
        return recorded
    }

    /// Returns the response. Without a head the status is 0, as in the archives of browsers.
    private func response(
        _ hop: HARExchange.Hop, _ fields: HARFields?, _ redaction: Redaction
    ) -> HARArchive.Response {
        var response = HARArchive.Response(
            status: hop.head?.status ?? 0, statusText: hop.head?.statusText ?? "", headers: fields?.shown ?? [:],
            body: body(of: hop, fields, redaction))
        response.version = version(hop)
        response.bodySize = hop.head == nil ? nil : hop.received
        response.trailers = hop.trailers.map {
            HTTPHeaders($0.map { HTTPHeader(name: $0.name, value: redaction.value(of: $0)) })
        }
        response.redirectURL = fields?.redirectURL ?? ""
        response.cookies = fields?.cookies ?? []
        return response
    }

    private func body(of hop: HARExchange.Hop, _ fields: HARFields?, _ redaction: Redaction) -> HARArchive.Body {
        let received = hop.receivedBody
        let isReceived = isWhole(received, UInt64(hop.received))
        // Without a head there is no body, and without a coding its bytes are the content.
        let decoded =
            fields?.isCoded == true
            ? hop.head?.decoded(received.bytes, of: hop.request, upTo: 4 * bodyLimit) : (received.bytes, true)
        let isWhole = isReceived && decoded?.isWhole ?? true
        let bytes = decoded?.bytes ?? received.bytes
        var body = body(
            bytes, isWhole: isWhole, fields?.type, redaction,
            isEncoded: fields?.isEncoded == true && bytes == received.bytes)
        if decoded == nil, hop.head != nil, !received.bytes.isEmpty { body.comment = "the body could not be decoded" }
        body.mimeType = fields?.shownType ?? ""
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

    // MARK: Bodies

    private func isWhole(_ body: HARBody, _ length: UInt64?) -> Bool {
        !body.hasGap && length.map { UInt64(body.bytes.count) >= $0 } ?? (body.bytes.count < bodyLimit)
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
        case "http/1.1": "HTTP/1.1"
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
