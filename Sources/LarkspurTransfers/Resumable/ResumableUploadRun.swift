struct ResumableUploadPlan: Sendable {
    let session: Session
    let file: URL
    let target: any URLConvertible
    let method: ResumableUploadProtocol
    let metadata: [String: String]
    let headers: HTTPHeaders
    let chunkSize: UInt64
    let schedule: RetrySchedule
    let interceptor: (any RequestInterceptor)?
    let record: ResumableUploadRecord?
}

/// The requests of one upload, in order, on the upload's task: create the upload, request its offset, send the rest of
/// the file.
///
/// The offset is the number of bytes that the server has confirmed, and the run sends bytes only from there on. After
/// each failure, the run requests the offset from the server again. So a byte may be sent twice, but never to a wrong
/// position.
struct ResumableUploadRun {
    private typealias Response = DataResponse<Data>

    private let upload: ResumableUpload
    private var plan: ResumableUploadPlan { upload.plan }

    /// The upload on the server; nil until the server has created it. `isElsewhere` is true if the upload's URL has
    /// another origin than the URL that creates uploads.
    private var created: (record: ResumableUploadRecord, url: RequestURL, isElsewhere: Bool)?
    /// The offset of the next byte to send; nil if it must be requested from the server.
    private var offset: UInt64?
    /// The number of failures since the server's offset last advanced.
    private var failures = 0
    /// Whether the next request follows a failure.
    private var isRetry = false
    private var mayStartOver = true
    /// The upload's URL that a 104 has announced before the response to the creating request.
    private var announced: (location: String, base: RequestURL)?

    /// Accepts all statuses except 401. The run itself handles the accepted statuses. A 401 is passed to the retriers,
    /// which may refresh a token.
    private static let handledStatuses = ResponseValidator.status((100..<1_000).filter { $0 != 401 })

    init(_ upload: ResumableUpload) { self.upload = upload }

    mutating func run() async throws(RequestError) -> DataResponse<Data> {
        let file = try ResumableFile(plan.file, expecting: plan.record)
        if let record = plan.record { try resume(record) }
        while true {
            let answer: Response?
            do throws(RequestError) { answer = try await step(file) } catch {
                try await recover(from: error, file)
                continue
            }
            if let answer {
                if let error = answer.error ?? Self.refusal(answer) { throw error }
                return answer
            }
        }
    }

    /// Performs one request. Returns the response if the upload has ended with it, else nil.
    private mutating func step(_ file: ResumableFile) async throws(RequestError) -> Response? {
        guard let created else { return try await create(file) }
        guard let offset else { return try await ask(created.url, file) }
        return try await append(created.url, file, offset)
    }

    // MARK: The three requests

    private mutating func create(_ file: ResumableFile) async throws(RequestError) -> Response? {
        let headers = try plan.method.creation(
            plan.headers, length: file.length, metadata: plan.metadata, file: file.url.lastPathComponent)
        let source = RequestSource(.parts(plan.target, .post, headers))
        let endpoint = try endpoint(of: source)
        var record = ResumableUploadRecord(
            method: plan.method, uploadURL: "", length: file.length, modification: file.version.modification, offset: 0)
        let response: Response
        do throws(RequestError) { response = try await send(source) } catch {
            // The server has created the upload, and only its response was lost.
            guard error.isConnectivity, let announced else { throw error }
            record.uploadURL = announced.location
            try adopt(record, endpoint, announced.base)
            throw error
        }
        guard let head = response.head, let last = response.request?.url else { return nil }
        record.uploadURL = head["Location"] ?? announced?.location ?? ""
        try adopt(record, endpoint, head["Location"] == nil ? announced?.base ?? last : last)
        return try updateOffset(0, file, response) ? response : nil
    }

    private mutating func ask(_ url: RequestURL, _ file: ResumableFile) async throws(RequestError) -> Response? {
        let response = try await send(source(.head, url, plan.method.question(plan.headers)))
        guard let head = response.head, let reported = head.count("Upload-Offset") else {
            throw Self.inconsistent("reports no offset", response)
        }
        if let length = head.count("Upload-Length"), length != file.length {
            throw Self.inconsistent("reports a length of \(length) bytes, and the file has \(file.length)", response)
        }
        return try updateOffset(reported, file, response) ? response : nil
    }

    private mutating func append(
        _ url: RequestURL, _ file: ResumableFile, _ start: UInt64
    ) async throws(RequestError) -> Response? {
        let end = start + min(plan.chunkSize, file.length - start)
        let isLast = end == file.length
        let headers = plan.method.append(plan.headers, at: start, isLast: isLast)
        let response = try await send(
            source(.patch, url, headers, file.bytes(start..<end)), sending: start, of: file, isLast: isLast)
        guard let head = response.head else { return nil }
        guard let reported = plan.method.offset(in: head, afterSendingTo: end), reported <= end else {
            throw Self.inconsistent("reports no valid offset", response)
        }
        if try updateOffset(reported, file, response) { return response }
        guard reported > start else {
            throw RequestError(.uploadStalled, "the server accepts the requests, but its offset does not advance")
        }
        return nil
    }

    // MARK: Common parts

    private func source(
        _ method: HTTPMethod, _ url: RequestURL, _ headers: HTTPHeaders, _ body: TransportBody = .none
    ) -> RequestSource {
        var request = OutgoingRequest(method: method, url: url, headers: headers, body: body)
        // Redirects are not followed, because the file's bytes must be sent to the upload's URL only.
        request.options.redirects = .deliver
        return RequestSource(.convertible(request), isElsewhere: created?.isElsewhere == true)
    }

    /// Sends a request of the upload, and throws if it fails. If `start` is given, reports the progress of the sent
    /// bytes, counted from that offset on.
    private mutating func send(
        _ source: RequestSource, sending start: UInt64? = nil, of file: ResumableFile? = nil, isLast: Bool = false
    ) async throws(RequestError) -> Response {
        let core = await plan.session.makeCore(source, plan.interceptor, nil)
        core.depositForRetries(isRetry: isRetry)
        isRetry = false
        let request = UploadRequest(core: core).validate(using: Self.handledStatuses)
        if Task.isCancelled { throw .requestCancelled }
        let task = request.serializingData()
        request.resume()
        if let start, let file {
            for await progress in request.uploadProgress {
                upload.feed.advance(to: start + progress.completed, of: file.length)
            }
        }
        let response = await task.response
        if created == nil { announced = plan.method.announcedUpload(in: response) }
        if let error = response.error, !error.isValidation { throw error }
        // The response of the resource that received the complete file is the upload's final response, even if its
        // status is an error.
        if isLast, let head = response.head, plan.method.isOfTarget(head) { return response }
        if let refusal = Self.refusal(response) { throw refusal }
        return response
    }

    /// Returns the URL that creates uploads, without the changes of adapters, because an adapter may add a secret key
    /// to the URL.
    private func endpoint(of source: RequestSource) throws(RequestError) -> RequestURL {
        try source.build(in: plan.session.context).url.withoutUserInfo
    }

    private mutating func resume(_ record: ResumableUploadRecord) throws(RequestError) {
        guard record.method == plan.method else {
            throw RequestError(
                .invalidRequest,
                "the record is of an upload with another protocol; pass the protocol that it began with")
        }
        try adopt(record, endpoint(of: RequestSource(.parts(plan.target, .post, plan.headers))))
    }

    /// Stores an upload that the server has just created, or that a record describes.
    private mutating func adopt(
        _ record: ResumableUploadRecord, _ endpoint: RequestURL, _ base: RequestURL? = nil
    ) throws(RequestError) {
        let url = try (base ?? endpoint).upload(at: record.uploadURL, isSecure: endpoint.isHTTPS)
        var record = record
        record.uploadURL = url.text
        created = (record, url, isElsewhere: url.origin != endpoint.origin)
        upload.keep(record)
    }

    /// Stores the server's offset. Returns true if the upload is complete. Throws if the offset is not possible.
    private mutating func updateOffset(
        _ reported: UInt64, _ file: ResumableFile, _ response: Response
    ) throws(RequestError) -> Bool {
        guard let known = created?.record.offset, reported >= known, reported <= file.length else {
            throw Self.inconsistent("reports an offset beyond the file, or below an earlier one", response)
        }
        if reported > known { failures = 0 }
        created?.record.offset = reported
        offset = reported
        if let record = created?.record { upload.keep(record) }
        upload.feed.advance(to: reported, of: file.length)
        guard let head = response.head, plan.method.isComplete(head, offset: reported, of: file.length) else {
            return false
        }
        guard reported == file.length else {
            throw Self.inconsistent("reports an incomplete upload as complete", response)
        }
        return true
    }

    // MARK: Failures

    /// Handles a failed request. If the server has lost the upload, prepares to start over, but only once. After a
    /// temporary error, waits for the retry. Otherwise throws the error.
    private mutating func recover(from error: RequestError, _ file: ResumableFile) async throws(RequestError) {
        if Task.isCancelled { throw .requestCancelled }
        try file.check()
        offset = nil
        if created != nil, error.code == .unacceptableStatus, error.statusCode == 404 || error.statusCode == 410 {
            guard mayStartOver else {
                throw RequestError(.uploadGone, "the server has lost the upload for the second time", underlying: error)
            }
            (created, mayStartOver) = (nil, false)
            return
        }
        guard isTemporary(error) else { throw error }
        try await plan.session.waitForRetry(number: failures, of: plan.schedule, after: error)
        failures += 1
        isRetry = true
    }

    private func isTemporary(_ error: RequestError) -> Bool {
        if error.isConnectivity || error.code == .uploadStalled { return true }
        guard error.code == .unacceptableStatus, let status = error.statusCode else { return false }
        switch status {
        case 409: return created != nil  // the offset was wrong; the server reports the right one on request
        case 408, 423, 429, 500..<600: return true
        default: return false
        }
    }

    private static func refusal(_ response: Response) -> RequestError? {
        guard let status = response.head?.status, !(200..<300).contains(status) else { return nil }
        return RequestError(.unacceptableStatus, "the server answered with status \(status)")
            .adding(to: response.exchange, requestID: nil)
    }

    private static func inconsistent(_ problem: String, _ response: Response) -> RequestError {
        RequestError(.uploadInconsistent, "the server's state of the upload is inconsistent: it \(problem)")
            .adding(to: response.exchange, requestID: nil)
    }
}
