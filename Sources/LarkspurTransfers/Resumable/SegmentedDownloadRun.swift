struct SegmentedDownloadPlan: Sendable {
    let session: Session
    let target: any URLConvertible
    let file: URL
    let segments: Int
    let headers: HTTPHeaders
    let options: [DownloadOption]
    let retryLimit: Int
    let schedule: RetrySchedule
    let interceptor: (any RequestInterceptor)?
}

/// The requests of one segmented download, on the download's task and its child tasks.
///
/// The first request asks for the whole file. If its response shows that the file can be divided, other connections
/// request the later segments, and the first one ends after the first segment. Otherwise the first response is the
/// download.
struct SegmentedDownloadRun {
    /// An error: the bytes received so far cannot be continued, so the file is requested again as one.
    private struct StartOver: Error {
        /// The response with the whole file, if the server has sent it already.
        var response: DataStreamResponse?
    }

    /// A segment with fewer new bytes has made no progress, so that a server cannot cause an endless number of retries.
    private static let leastProgress: UInt64 = 64 << 10

    private let plan: SegmentedDownloadPlan
    private let file: SegmentedFile

    init(_ plan: SegmentedDownloadPlan, _ feed: ProgressFeed) {
        self.plan = plan
        let limit = plan.session.configuration.options.maximumBodySize ?? .max
        file = SegmentedFile(plan.file, plan.options, limit: limit, feed, on: plan.session.context.files)
    }

    /// Performs the download and returns the URL of its file.
    ///
    /// - Parameter keepsBytes: Returns whether a failed download keeps its bytes.
    func run(keepingBytes keepsBytes: () -> Bool) async throws -> URL {
        do {
            try await transfer()
            try Task.checkCancellation()
            try await file.complete()
            return plan.file
        } catch {
            let code = (error as? RequestError)?.code
            let isUsable = code.map { ![.checksumMismatch, .contentTooLarge, .unexpectedRange].contains($0) } ?? true
            await file.close(keeping: isUsable && keepsBytes())
            let url = try? plan.session.absoluteURL(of: plan.target).withoutUserInfo
            throw (error as? RequestError)?.adding(url: url) ?? error
        }
    }

    private func transfer() async throws {
        let url = try plan.session.absoluteURL(of: plan.target).withoutUserInfo.text
        var response: DataStreamResponse?
        if try await !file.open(url, count: plan.segments) {
            response = try await begin(plan.segments > 1 ? requestWholeRange() : nil)
        }
        var count = plan.segments
        var restarts = 0
        while true {
            // The response is not kept here: if it is not read, its connection has to end before the next request.
            let first = response.take()
            do { return try await transferSegments(first, count, failures: restarts) } catch let end as StartOver {
                restarts += 1
                guard restarts <= plan.retryLimit + 1 else {
                    throw RequestError(.unexpectedRange, "the server's file has changed \(restarts) times meanwhile")
                }
                response = try await begin(end.response)
                count = 1
            }
        }
    }

    // MARK: The first response

    /// Requests the whole file as a range, so that the response shows whether the server supports ranges. Returns nil
    /// if its range is not the whole file, or if the file has no bytes.
    private func requestWholeRange() async throws -> DataStreamResponse? {
        do {
            let response = try await requestWhole(["Range": "bytes=0-"])
            return response.statusCode != 206 || Self.total(of: response.head) != nil ? response : nil
        } catch let error as RequestError where error.statusCode == 416 {
            return nil
        }
    }

    private func requestWhole(_ fields: HTTPHeaders) async throws -> DataStreamResponse {
        var failures = 0
        while true {
            do { return try await send(fields, isRetry: failures > 0) } catch let error as RequestError {
                try await waitForRetry(failures, error)
                failures += 1
            }
        }
    }

    /// Empties the file for the first response, and returns the response. Without one, requests the whole file.
    private func begin(_ first: DataStreamResponse?) async throws -> DataStreamResponse {
        let response = if let first { first } else { try await requestWhole([:]) }
        let head = response.head
        if first != nil, head.status == 206, let total = Self.total(of: head) {
            try await file.begin(total: total, validator: head.strongValidator, count: plan.segments)
            return response
        }
        guard head.status != 206 else {
            throw RequestError(
                .unexpectedRange, "the server sent a part of the file, but the request was for all of it")
        }
        let total = head.isPlain ? head.contentLength.flatMap { $0 <= SegmentLayout.maximumTotal ? $0 : nil } : nil
        let hasRanges = head["Accept-Ranges"]?.lowercased() != "none"
        try await file.begin(total: total, validator: hasRanges ? head.strongValidator : nil, count: 1)
        return response
    }

    /// Returns the length of a file whose bytes from byte 0 on are the response; nil if they are another part, or have
    /// a content coding.
    private static func total(of head: ResponseHead) -> UInt64? {
        let validator = head.strongValidator ?? head["Last-Modified"] ?? ""
        guard case .rest(let total) = Resumption(offset: 0, validator: validator, total: nil).answer(in: head),
            total <= SegmentLayout.maximumTotal
        else { return nil }
        return total
    }

    // MARK: Segments

    /// Transfers all missing bytes. The first error ends all connections.
    private func transferSegments(_ first: DataStreamResponse?, _ count: Int, failures: Int) async throws {
        let segments = await file.connect(atMost: count)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for segment in segments {
                group.addTask {
                    var next: Int? = segment
                    var response = segment == 0 ? first : nil
                    while let segment = next, try await transfer(segment, response, failures) {
                        (next, response) = (await file.take(), nil)
                    }
                }
            }
            for try await _ in group {}
        }
    }

    /// Transfers the missing bytes of a segment, with retries. Returns false if another connection has to do it.
    private func transfer(_ segment: Int, _ first: DataStreamResponse?, _ failures: Int) async throws -> Bool {
        var (first, failures) = (first, failures)
        let isResumable = await file.version != nil
        while true {
            let missing = await file.missing(segment)
            // The connection was lost after the last byte.
            if missing.isEmpty, first == nil { return true }
            let failure: RequestError
            do {
                let goesOn = first == nil ? false : await file.isDivided
                let response = if let first { first } else { try await requestRest(of: missing, isRetry: failures > 0) }
                first = nil
                if try await receive(response, segment, goesOn: goesOn) { return true }
                // Some servers send less than a large range. The next request asks for the rest.
                if isResumable, await isProgress(segment, since: missing) { continue }
                failure = RequestError(
                    .truncated, "the server sent no more than a part of the bytes up to \(missing.upperBound)")
            } catch let error as RequestError {
                failure = error
            }
            first = nil
            if Self.isOverload(failure), await file.leave(segment) { return false }
            if isResumable, await isProgress(segment, since: missing) { failures = 0 }
            try await waitForRetry(failures, failure)
            failures += 1
            if !isResumable { throw StartOver() }
        }
    }

    private func isProgress(_ segment: Int, since missing: Range<UInt64>) async -> Bool {
        await file.missing(segment).lowerBound - missing.lowerBound >= Self.leastProgress
    }

    /// Writes the body of a response. Returns whether the segment is complete.
    private func receive(_ response: DataStreamResponse, _ segment: Int, goesOn: Bool) async throws -> Bool {
        for try await bytes in response.bytes {
            let isComplete = try await file.append(bytes, to: segment, goesOn: goesOn)
            // The rest of the first response belongs to other segments. Leaving the loop ends its request.
            if goesOn, isComplete { return true }
        }
        return await file.end(segment)
    }

    /// Requests the missing bytes of a segment, on the condition that the server's file is the same.
    private func requestRest(of missing: Range<UInt64>, isRetry: Bool) async throws -> DataStreamResponse {
        guard let version = await file.version else { throw StartOver() }
        let range = "bytes=\(missing.lowerBound)-\(missing.upperBound - 1)"
        let response: DataStreamResponse
        do {
            response = try await send(["Range": range, "If-Range": version.validator], isRetry: isRetry)
        } catch let error as RequestError where error.statusCode == 416 || error.statusCode == 412 {
            throw StartOver()
        }
        let asked = Resumption(offset: missing.lowerBound, validator: version.validator, total: version.total)
        if case .rest = asked.answer(in: response.head) { return response }
        throw StartOver(response: response.statusCode == 206 ? nil : response)
    }

    // MARK: Requests

    private func send(_ fields: HTTPHeaders, isRetry: Bool) async throws -> DataStreamResponse {
        var headers = plan.headers
        headers.update(name: "Accept-Encoding", value: "identity")
        for name in ["Range", "If-Range"] { headers.remove(name: name) }
        for field in fields { headers.update(field) }
        let hasLimits = plan.session.configuration.options.decodingLimits != nil
        let request = await plan.session.streamRequest(
            plan.target, headers: headers, bufferSize: 512 << 10, interceptor: plan.interceptor,
            startsAutomatically: true
        ) { request in
            // The default limit for the decoded size protects memory, but a download writes its bytes to disk.
            guard !hasLimits else { return }
            request.options.decodingLimits = DecodingLimits()
            request.options.decodingLimits?.maximumSize = .max
        }
        request.handle.core.depositForRetries(isRetry: isRetry)
        return try await request.validate(statusCode: [200, 203, 206]).response()
    }

    /// Waits until a failed request may be sent again. Throws the error if no retry would help or is allowed.
    private func waitForRetry(_ number: Int, _ error: RequestError) async throws {
        try Task.checkCancellation()
        guard error.isConnectivity || Self.isTemporary(error) else { throw error }
        try await plan.session.waitForRetry(number: number, of: plan.schedule, after: error)
        try Task.checkCancellation()
    }

    private static func isTemporary(_ error: RequestError) -> Bool {
        guard error.code == .unacceptableStatus, let status = error.statusCode else { return false }
        return [408, 423, 425, 429].contains(status) || (500..<600).contains(status)
    }

    /// Whether the server refuses a further connection.
    private static func isOverload(_ error: RequestError) -> Bool {
        error.code == .unacceptableStatus && (error.statusCode == 429 || error.statusCode == 503)
    }
}
