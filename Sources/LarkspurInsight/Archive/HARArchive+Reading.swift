import Larkspur

extension HARArchive {
    /// Reads an archive from a regular file. Folders, pipes and devices are refused.
    ///
    /// - Throws: `RequestError` with the code `.invalidFileURL`, `.fileUnreadable` or `.fileNotRegular`, or as
    ///   ``init(data:)``.
    public init(contentsOf file: URL) throws(RequestError) { try self.init(data: HARInput.bytes(of: file)) }

    /// Reads an archive from a JSON document.
    ///
    /// Archives of all versions and programs are read, also if they lack members that HAR 1.2 requires. An entry needs
    /// a date, and a request with a method and a URL.
    ///
    /// - Throws: `RequestError` with the code `.invalidArchive`. Its text names the entry and the member.
    public init(data: Data) throws(RequestError) {
        let document: JSON.Document
        // Some programs write a byte order mark, which JSON does not allow.
        let bytes = data.starts(with: [0xEF, 0xBB, 0xBF]) ? data.dropFirst(3) : data
        do { document = try JSON.Document(data: bytes) } catch {
            throw RequestError(.invalidArchive, "the archive is not JSON: \(error)", underlying: error)
        }
        let log = document["log"]
        guard log["entries"].isArray else {
            throw RequestError(
                .invalidArchive, "the archive has no list log.entries; is the file an HTTP archive (HAR)?")
        }
        self.init()
        entries.reserveCapacity(log["entries"].elements.count)
        for entry in log["entries"].elements {
            entries.append(try HAREntryReader(number: entries.count).entry(entry))
        }
    }
}

/// A reader of one entry.
private struct HAREntryReader {
    /// The position of the entry in the archive, from 0.
    let number: Int

    private func problem(_ member: String, _ expected: String) -> RequestError {
        RequestError(.invalidArchive, "entry \(number) of the archive: \(member) is not \(expected)")
    }

    func entry(_ json: JSON.Document) throws(RequestError) -> HARArchive.Entry {
        guard let start = json["startedDateTime"].string.flatMap(HARDate.date) else {
            throw problem("startedDateTime", "a date such as 2026-11-26T10:02:08.250Z")
        }
        let timings = timings(json["timings"])
        var entry = HARArchive.Entry(
            startedAt: start, time: milliseconds(json["time"]), request: try request(json["request"]),
            response: try response(json["response"]), timings: timings)
        entry.serverAddress = json["serverIPAddress"].string.flatMap { $0.isEmpty ? nil : $0 }
        entry.requestID = json["_request"].string
        (entry.attempt, entry.hop) = (json["_attempt"].int, json["_hop"].int)
        entry.cacheOutcome = json["_cache"].string
        entry.resourceType = json["_resourceType"].string
        // Chrome has its error in the response.
        entry.error = json["_error"].string ?? json["response"]["_error"].string.flatMap { $0.isEmpty ? nil : $0 }
        if json["_trailers"].isArray { entry.response.trailers = fields(json["_trailers"]) }
        for message in json["_webSocketMessages"].elements { entry.messages.append(try self.message(message)) }
        return entry
    }

    private func request(_ json: JSON.Document) throws(RequestError) -> HARArchive.Request {
        guard let method = json["method"].string, !method.isEmpty else { throw problem("request.method", "a method") }
        guard let url = json["url"].string, !url.isEmpty else { throw problem("request.url", "a URL") }
        var request = HARArchive.Request(method: method, url: url, headers: fields(json["headers"]))
        request.version = json["httpVersion"].string ?? ""
        request.cookies = cookies(json["cookies"])
        request.bodySize = size(json["bodySize"])
        let data = json["postData"]
        guard !data.isNull else { return request }
        let type = data["mimeType"].string ?? ""
        var body = HARArchive.Body(mimeType: type)
        body.fields = data["params"].elements.map { field in
            HARArchive.FormField(
                name: field["name"].string ?? "", value: field["value"].string, fileName: field["fileName"].string,
                mimeType: field["contentType"].string)
        }
        body.comment = data["comment"].string
        body.bytes = try bytes(data, data["_encoding"], "request.postData.text")
        let isForm = type.lowercased().hasPrefix("application/x-www-form-urlencoded")
        if isForm, body.bytes?.isEmpty ?? true, !body.fields.isEmpty {
            // HAR 1.2 allows the text or the fields.
            body.bytes = Data(HARFormFields.text(of: body.fields).utf8)
        }
        // An empty text with a remark takes the place of bytes that the archive does not have.
        if body.comment != nil, body.bytes?.isEmpty == true { body.bytes = nil }
        body.size = size(data["_size"]) ?? body.bytes?.count
        request.body = body
        return request
    }

    private func response(_ json: JSON.Document) throws(RequestError) -> HARArchive.Response {
        let content = json["content"]
        var body = HARArchive.Body(mimeType: content["mimeType"].string.flatMap { $0 == "x-unknown" ? nil : $0 } ?? "")
        body.bytes = try bytes(content, content["encoding"], "response.content.text")
        body.size = size(content["size"]) ?? body.bytes?.count
        body.comment = content["comment"].string
        var response = HARArchive.Response(
            status: json["status"].int.flatMap { (0...999).contains($0) ? $0 : nil } ?? 0,
            statusText: json["statusText"].string ?? "", headers: fields(json["headers"]), body: body)
        response.version = json["httpVersion"].string ?? ""
        response.cookies = cookies(json["cookies"])
        response.bodySize = size(json["bodySize"])
        response.redirectURL = json["redirectURL"].string ?? ""
        return response
    }

    private func message(_ json: JSON.Document) throws(RequestError) -> HARArchive.Message {
        let isText = json["opcode"].int != 2
        let data: Data?
        switch json["data"].string {
        case let text? where isText: data = Data(text.utf8)
        case let text?:
            guard let decoded = Data(base64Encoded: text) else { throw problem("a WebSocket message", "in base64") }
            data = decoded
        case nil: data = nil
        }
        return HARArchive.Message(
            isSent: json["type"].string == "send", isText: isText,
            time: Date(timeIntervalSince1970: json["time"].double ?? 0), bytes: data, size: size(json["_size"]))
    }

    // MARK: Values

    private func bytes(
        _ content: JSON.Document, _ encoding: JSON.Document, _ member: String
    ) throws(RequestError) -> Data? {
        guard let text = content["text"].string else { return nil }
        guard encoding.string?.lowercased() == "base64" else { return Data(text.utf8) }
        guard let data = Data(base64Encoded: text, options: .ignoreUnknownCharacters) else {
            throw problem(member, "in base64")
        }
        return data
    }

    /// Returns the header fields without those that begin with a colon: browsers list the pseudo-fields of HTTP/2.
    private func fields(_ json: JSON.Document) -> HTTPHeaders {
        HTTPHeaders(
            json.elements.compactMap { field in
                guard let name = field["name"].string, let value = field["value"].string, !name.isEmpty,
                    !name.hasPrefix(":")
                else { return nil }
                return HTTPHeader(name: name, value: value)
            })
    }

    private func cookies(_ json: JSON.Document) -> [HARArchive.Cookie] {
        json.elements.map { item in
            var cookie = HARArchive.Cookie(name: item["name"].string ?? "", value: item["value"].string ?? "")
            (cookie.path, cookie.domain) = (item["path"].string, item["domain"].string)
            cookie.expires = item["expires"].string.flatMap(HARDate.date)
            (cookie.isHTTPOnly, cookie.isSecure) = (item["httpOnly"].bool ?? false, item["secure"].bool ?? false)
            return cookie
        }
    }

    private func timings(_ json: JSON.Document) -> HARArchive.Timings {
        var timings = HARArchive.Timings()
        timings.blocked = milliseconds(json["blocked"])
        timings.dns = milliseconds(json["dns"])
        timings.connect = milliseconds(json["connect"])
        timings.tls = milliseconds(json["ssl"])
        timings.send = milliseconds(json["send"])
        timings.wait = milliseconds(json["wait"])
        timings.receive = milliseconds(json["receive"])
        return timings
    }

    /// Returns the duration; nil if it is missing, negative or longer than a century.
    private func milliseconds(_ json: JSON.Document) -> Duration? {
        guard let value = json.double, value >= 0, value < 3.2e12 else { return nil }
        return .microseconds(Int64((value * 1_000).rounded()))
    }

    private func size(_ json: JSON.Document) -> Int? {
        json.double.flatMap { $0 >= 0 && $0 < 9e15 ? Int($0) : nil }
    }
}

extension JSON.Document {
    fileprivate var isArray: Bool { elements.count > 0 || value == .array([]) }
}

extension RequestError.Code {
    /// A file is not an HTTP archive that can be read.
    public static let invalidArchive = RequestError.Code(rawValue: "invalidArchive")
}
