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

/// The way of one upload, top to bottom, on its task: create it, ask how far it is, send the rest.
///
/// All that counts is what the server says it has. After each failure it is asked, and bytes are only ever sent from there
/// on: so a byte may go out twice, but never to another place than its own.
struct ResumableUploadRun {
    private typealias Response = DataResponse<Data>

    private let upload: ResumableUpload
    private var plan: ResumableUploadPlan { upload.plan }

    /// What the server has made, and where; nil until then.
    private var made: (record: ResumableUploadRecord, url: RequestURL, isElsewhere: Bool)?
    /// From where on to send; nil if the server is to be asked.
    private var offset: UInt64?
    /// How often something has failed since the server got a byte that it did not have.
    private var failures = 0
    /// Whether the next request follows a failure.
    private var isRetry = false
    private var mayStartOver = true

    /// All other statuses are dealt with here; a 401 asks the retriers, who may have fresh tokens.
    private static let dealtWith = ResponseValidator.status((100..<1_000).filter { $0 != 401 })

    init(_ upload: ResumableUpload) { self.upload = upload }

    mutating func run() async throws(RequestError) -> DataResponse<Data> {
        let file = try ResumableFile(plan.file, expecting: plan.record)
        if let record = plan.record { try enter(record, RequestURL(record: record.endpoint)) }
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

    /// One request. Gives its answer if that ends the upload.
    private mutating func step(_ file: ResumableFile) async throws(RequestError) -> Response? {
        guard let made else { return try await create(file) }
        guard let offset else { return try await ask(made.url, file) }
        return try await append(made.url, file, offset)
    }

    // MARK: The three requests

    private mutating func create(_ file: ResumableFile) async throws(RequestError) -> Response? {
        let headers = try plan.method.creation(
            plan.headers, length: file.length, metadata: plan.metadata, file: file.url.lastPathComponent)
        let source = RequestSource(.parts(plan.target, .post, headers))
        // As it was asked for: what adapters add to it may be a key, which has no place in a record.
        let endpoint = try source.build(in: plan.session.context).url.withoutUserInfo
        let response = try await send(source)
        guard let head = response.head, let last = response.request?.url else { return nil }
        let record = ResumableUploadRecord(
            method: plan.method, endpoint: endpoint.text, uploadURL: head["Location"] ?? "", metadata: plan.metadata,
            length: file.length, modification: file.version.modification, offset: 0)
        try enter(record, endpoint, last)
        return try learn(0, file, response) ? response : nil
    }

    private mutating func ask(_ url: RequestURL, _ file: ResumableFile) async throws(RequestError) -> Response? {
        let response = try await send(source(.head, url, plan.method.question(plan.headers)))
        guard let head = response.head, let told = head.count("Upload-Offset") else {
            throw Self.inconsistent("does not say how much it has", response)
        }
        if let length = head.count("Upload-Length"), length != file.length {
            throw Self.inconsistent("has an upload of \(length) bytes there, and not of \(file.length)", response)
        }
        return try learn(told, file, response) ? response : nil
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
        guard let told = plan.method.offset(in: head, afterSendingTo: end), told <= end else {
            throw Self.inconsistent("does not say rightly how much it has", response)
        }
        if try learn(told, file, response) { return response }
        guard told > start else {
            throw RequestError(.uploadStalled, "the server takes no bytes, and does not say why")
        }
        return nil
    }

    // MARK: What they have in common

    private func source(
        _ method: HTTPMethod, _ url: RequestURL, _ headers: HTTPHeaders, _ body: TransportBody = .none
    ) -> RequestSource {
        var request = OutgoingRequest(method: method, url: url, headers: headers, body: body)
        // To send a part elsewhere than it was made for would be a guess.
        request.options.redirects = .deliver
        return RequestSource(.convertible(request), isElsewhere: made?.isElsewhere == true)
    }

    /// Sends a request of the upload, and gives what is not a failure; the progress is that of bytes from `start` on.
    private mutating func send(
        _ source: RequestSource, sending start: UInt64? = nil, of file: ResumableFile? = nil, isLast: Bool = false
    ) async throws(RequestError) -> Response {
        let core = await plan.session.makeCore(source, plan.interceptor, nil)
        core.depositForRetries(isRetry: isRetry)
        isRetry = false
        let request = UploadRequest(core: core).validate(using: Self.dealtWith)
        if Task.isCancelled { throw .requestCancelled }
        let task = request.serializingData()
        request.resume()
        if let start, let file {
            for await progress in request.uploadProgress {
                upload.feed.advance(to: start + progress.completed, of: file.length)
            }
        }
        let response = await task.response
        if let error = response.error, !error.isValidation { throw error }
        // What the target says of the whole file is the answer, whatever it is.
        if isLast, let head = response.head, plan.method.isOfTarget(head) { return response }
        if let refusal = Self.refusal(response) { throw refusal }
        return response
    }

    /// Takes what the server has made, or a record says of it.
    private mutating func enter(
        _ record: ResumableUploadRecord, _ endpoint: RequestURL, _ base: RequestURL? = nil
    ) throws(RequestError) {
        let url = try (base ?? endpoint).upload(at: record.uploadURL, isSecure: endpoint.isHTTPS)
        var record = record
        record.uploadURL = url.text
        made = (record, url, isElsewhere: url.origin != endpoint.origin)
        upload.keep(record)
    }

    /// Goes on from what the server says it has; true if that is the end.
    private mutating func learn(
        _ told: UInt64, _ file: ResumableFile, _ response: Response
    ) throws(RequestError) -> Bool {
        guard let known = made?.record.offset, told >= known, told <= file.length else {
            throw Self.inconsistent("has more than there is, or less than it has had", response)
        }
        if told > known { failures = 0 }
        made?.record.offset = told
        offset = told
        if let record = made?.record { upload.keep(record) }
        upload.feed.advance(to: told, of: file.length)
        guard let head = response.head, plan.method.isComplete(head, offset: told, of: file.length) else {
            return false
        }
        guard told == file.length else { throw Self.inconsistent("takes a part for the whole", response) }
        return true
    }

    // MARK: Failures

    /// Decides what follows a failure: the server is asked after a delay, or it makes the upload anew, or it is the end.
    private mutating func recover(from error: RequestError, _ file: ResumableFile) async throws(RequestError) {
        if Task.isCancelled { throw .requestCancelled }
        try file.check()
        offset = nil
        if made != nil, error.code == .unacceptableStatus, error.statusCode == 404 || error.statusCode == 410 {
            guard mayStartOver else {
                throw RequestError(.uploadGone, "the server has forgotten the upload, a second time", underlying: error)
            }
            (made, mayStartOver) = (nil, false)
            return
        }
        guard mayPass(error) else { throw error }
        switch plan.schedule.step(retry: failures, after: error.responseHead) {
        case .stop: throw error
        case .refuse(let refusal): throw error.refusingRetry(refusal.reason)
        case .retry(let delays):
            if let refusal = plan.session.context.withdrawRetry() { throw error.refusingRetry(refusal.reason) }
            let configuration = plan.session.configuration
            failures += 1
            isRetry = true
            try? await configuration.clock.sleep(for: configuration.random.duration(in: delays))
        }
    }

    private func mayPass(_ error: RequestError) -> Bool {
        if error.isConnectivity || error.code == .uploadStalled { return true }
        guard error.code == .unacceptableStatus, let status = error.statusCode else { return false }
        switch status {
        case 409: return made != nil  // the bytes belong elsewhere, and the server says where if it is asked
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
        RequestError(.uploadInconsistent, "what the server says of the upload cannot be: it \(problem)")
            .adding(to: response.exchange, requestID: nil)
    }
}
