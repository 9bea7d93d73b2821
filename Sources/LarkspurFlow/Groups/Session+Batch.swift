/// The consequence of a failed request for the other requests of its batch or group.
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum GroupFailure: Sendable, Hashable {
    /// The other requests are sent, except those of a group that wait for the failed request.
    case collect
    /// All other requests are cancelled.
    case stop
}

extension Session {
    /// A closure that gets the progress of a batch.
    public typealias BatchProgress = @Sendable (GroupProgress) async -> Void

    /// Sends the requests of the endpoints, at most `atOnce` at the same time, and returns their responses in the order
    /// of the endpoints.
    ///
    ///     let users = await session.batch(ids.map { Endpoint.user($0) }, atOnce: 8)
    ///     for case .success(let user) in users.map(\.result) { print(user.name) }
    ///
    /// If the calling task is cancelled, the requests in flight are cancelled and the others are not sent. Each
    /// cancelled or unsent request has a response with a cancellation error.
    ///
    /// - Parameters:
    ///   - endpoints: The endpoints; an empty array gives an empty result.
    ///   - atOnce: The maximum number of requests in flight; at least 1.
    ///   - onFailure: Whether a failed request cancels the others; by default it does not.
    ///   - progress: A closure that gets the progress of the whole. Calls do not overlap, and each gets the latest
    ///     value. The function returns after the last call, which reports all requests as finished.
    public nonisolated func batch<Response>(
        _ endpoints: [Endpoint<Response>], atOnce: Int = 8, onFailure: GroupFailure = .collect,
        progress: BatchProgress? = nil
    ) async -> [DataResponse<Response>] {
        var responses = [DataResponse<Response>?](repeating: nil, count: endpoints.count)
        let run = BatchRun(self, endpoints, atOnce, onFailure, progress)
        await run.all { responses[$0] = $1 }
        return responses.map { $0 ?? .notSent }
    }

    /// Sends the requests of the endpoints, at most `atOnce` at the same time, and delivers each response as soon as it
    /// arrives, with the index of its endpoint.
    ///
    ///     for await (index, response) in session.responses(to: endpoints, atOnce: 8) { show(response, at: index) }
    ///
    /// The requests start immediately. If the iteration ends early, or its task is cancelled, the other requests are
    /// cancelled. Responses that are not read yet are kept in memory.
    ///
    /// - Parameters:
    ///   - endpoints: The endpoints.
    ///   - atOnce: The maximum number of requests in flight; at least 1.
    ///   - onFailure: Whether a failed request cancels the others; by default it does not.
    ///   - progress: A closure that gets the progress of the whole. Calls do not overlap, and each gets the latest
    ///     value. The stream ends after the last call, which reports all requests as finished. If the iteration ends
    ///     early, the requests that were cancelled or not sent are counted as failed.
    public nonisolated func responses<Response>(
        to endpoints: [Endpoint<Response>], atOnce: Int = 8, onFailure: GroupFailure = .collect,
        progress: BatchProgress? = nil
    ) -> AsyncStream<(index: Int, response: DataResponse<Response>)> {
        AsyncStream { continuation in
            // The task is unstructured, because the reader of the stream may end at any time. It ends with the stream.
            let task = Task {
                let run = BatchRun(self, endpoints, atOnce, onFailure, progress)
                await run.all { continuation.yield(($0, $1)) }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}

/// The requests of a batch.
private struct BatchRun<Response: Sendable> {
    private let session: Session
    private let endpoints: [Endpoint<Response>]
    private let atOnce: Int
    private let onFailure: GroupFailure
    private let meter: GroupMeter?
    private let progress: Session.BatchProgress?

    init(
        _ session: Session, _ endpoints: [Endpoint<Response>], _ atOnce: Int, _ onFailure: GroupFailure,
        _ progress: Session.BatchProgress?
    ) {
        (self.session, self.endpoints, self.atOnce) = (session, endpoints, max(1, atOnce))
        (self.onFailure, self.progress) = (onFailure, progress)
        meter = progress.map { _ in GroupMeter(total: endpoints.count) }
    }

    /// Sends all endpoints, and passes each response with its index to the closure. Returns after the last report of
    /// the progress.
    func all(_ deliver: (Int, DataResponse<Response>) -> Void) async {
        guard let progress, let meter else { return await send(deliver) }
        // The task is unstructured, so that the last report also comes if the calling task is cancelled.
        let reports = Task {
            for await value in meter.sequence where value.finished < value.total {
                await progress(value)
            }
            await progress(meter.progress)
        }
        await send(deliver)
        meter.end()
        await reports.value
    }

    private func send(_ deliver: (Int, DataResponse<Response>) -> Void) async {
        await withTaskGroup(of: (Int, DataResponse<Response>).self) { group in
            var next = 0
            var isStopped = false
            while next < min(atOnce, endpoints.count) {
                add(next, to: &group)
                next += 1
            }
            while let (index, response) = await group.next() {
                meter?.finish(failed: response.error != nil)
                deliver(index, response)
                if response.error != nil, onFailure == .stop, isStopped.setOnce() { group.cancelAll() }
                guard next < endpoints.count else { continue }
                add(next, to: &group)
                next += 1
            }
        }
    }

    private func add(_ index: Int, to group: inout TaskGroup<(Int, DataResponse<Response>)>) {
        group.addTask {
            guard !Task.isCancelled else { return (index, .notSent) }
            let endpoint = endpoints[index]
            let request = await session.request(endpoint)
            let counting = meter?.follow(request, number: index) ?? []
            let response = await endpoint.serialize(request).response
            for task in counting { await task.value }
            return (index, response)
        }
    }
}

extension DataResponse {
    /// The response of a request that was not sent, because its batch was cancelled or stopped.
    fileprivate static var notSent: DataResponse {
        DataResponse(exchange: CompletedExchange(error: .requestCancelled), result: .failure(.requestCancelled))
    }
}
