/// Requests that belong together: some wait for others, and the group ends after all of them.
///
///     let group = RequestGroup(session, atOnce: 4)
///     let login = await session.request("login", method: .post, body: .json(user)).validate()
///     let films = await session.request("films").validate()
///     try group.add(login)
///     try group.add(films, after: [login])
///     films.responseDecodable(of: [Film].self) { response in show(response) }
///     try await group.run()
///
/// A request of the group starts when the group runs, when the requests before it have succeeded, and when fewer than
/// `atOnce` others are in flight. Until then it is suspended, so serializers and closures can be attached after
/// ``add(_:after:)`` without starting it.
///
/// Without validation every status is a success, so requests that wait for a 401 are sent. A serializer's failure is
/// not a failure of the request.
public final class RequestGroup: Sendable {
    private struct State {
        var order: GroupState
        var members: [any SerializableRequest] = []
        var numbers: [ObjectIdentifier: Int] = [:]
        var hasBegun = false
        var isCancelled = false
        var firstError: RequestError?
        /// The tasks that count the bytes of the requests.
        var counting: [Task<Void, Never>] = []
    }

    // Immutable
    private let session: Session
    private let meter = GroupMeter(total: 0)

    // Mutable state, guarded by the lock of `Protected`
    private let box: Protected<State>

    /// Creates an empty group.
    ///
    /// - Parameters:
    ///   - session: The session of all requests of the group.
    ///   - atOnce: The maximum number of requests in flight; at least 1.
    ///   - onFailure: Whether a failed request cancels the others. By default only those fail that wait for it.
    public init(_ session: Session, atOnce: Int = 4, onFailure: GroupFailure = .collect) {
        self.session = session
        box = Protected(State(order: GroupState(atOnce: atOnce, onFailure: onFailure)))
    }

    /// The progress of the whole, updated while the group runs. If several tasks read it, each value goes to one of
    /// them. A slow reader gets only the latest value. The sequence ends with the group.
    public var progress: GroupProgressSequence { meter.sequence }

    /// The progress at this moment.
    public var currentProgress: GroupProgress { meter.progress }

    /// Adds a request, which must not have started, or adds further requests to those that it waits for.
    ///
    /// If one of the others fails, the request is not sent and fails with `.dependencyFailed`.
    ///
    /// - Parameters:
    ///   - request: A request of the group's session.
    ///   - others: Requests of the group that have to succeed before.
    /// - Throws: A ``RequestError``: `.foreignRequest` if the request is of another session, or if one of the others is
    ///   not in the group; `.dependencyCycle` if one of the others waits for the request; `.alreadyStarted` if the
    ///   request or the group has started. Then nothing is added.
    public func add(_ request: some SerializableRequest, after others: [any SerializableRequest] = []) throws {
        guard request.handle.core.context === session.context else {
            throw RequestError(.foreignRequest, "the request belongs to another session than the group")
        }
        let isCyclic = try box.withLock { state in
            guard !state.hasBegun else {
                throw RequestError(.alreadyStarted, "the group has started, so no request can be added")
            }
            let known = state.numbers[ObjectIdentifier(request)]
            guard known != nil || request.handle.core.isIdle else {
                throw RequestError(
                    .alreadyStarted, "the request has started; add it to the group before you attach a serializer")
            }
            let before = try others.map { other in
                if other === request { return known ?? state.order.count }
                guard let number = state.numbers[ObjectIdentifier(other)] else {
                    throw RequestError(.foreignRequest, "the request would wait for a request that is not in the group")
                }
                return number
            }
            guard let number = state.order.add(known, after: before) else { return true }
            if known == nil {
                state.members.append(request)
                state.numbers[ObjectIdentifier(request)] = number
            }
            return false
        }
        guard !isCyclic else {
            throw RequestError(
                .dependencyCycle,
                "\(request.handle.core.plannedLine) would wait for a request that waits for it: "
                    + "\(others.map(\.handle.core.plannedLine).joined(separator: ", "))")
        }
        request.suspend()
        meter.setTotal(box.withLock { $0.order.count })
    }

    /// Runs the group, and returns when all its requests have ended and all their closures have returned.
    ///
    /// If the calling task is cancelled, all requests are cancelled.
    ///
    /// - Throws: The error of the request that failed first, or `CancellationError` if it was cancelled.
    public func run() async throws {
        let first = try box.withLock { state in
            guard state.hasBegun.setOnce() else {
                throw RequestError(.alreadyStarted, "the group has started before; create another group")
            }
            return state.order.begin()
        }
        // The task is unstructured, so that a cancelled group still waits for the ends of its requests.
        let work = Task { await follow(first) }
        await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            cancel()
        }
        for task in box.withLock({ $0.counting }) { await task.value }
        meter.end()
        guard let error = box.withLock({ $0.firstError }) else { return }
        throw error.isCancelled ? CancellationError() : error
    }

    /// Cancels all requests of the group.
    public func cancel() {
        let members = box.withLock { state in
            state.isCancelled = true
            return state.members
        }
        for member in members { member.cancel() }
    }

    private func follow(_ first: GroupState.Step) async {
        let (ends, continuation) = AsyncStream.makeStream(of: (Int, RequestError?).self)
        perform(first, continuation)
        if box.withLock({ $0.order.isOver }) { return }
        for await (number, error) in ends {
            meter.finish(failed: error != nil)
            let (step, isOver) = box.withLock { state in
                state.firstError = state.firstError ?? error
                return (state.order.end(number, failed: error != nil), state.order.isOver)
            }
            if step.cancelsAll { cancel() }
            perform(step, continuation)
            if isOver { return }
        }
    }

    private func perform(
        _ step: GroupState.Step, _ continuation: AsyncStream<(Int, RequestError?)>.Continuation
    ) {
        let (members, isCancelled) = box.withLock { ($0.members, $0.isCancelled) }
        for (number, isSkipped) in step.start.map({ ($0, false) }) + step.skip.map({ ($0, true) }) {
            let member = members[number]
            let core = member.handle.core
            let counting = meter.follow(member, number: number)
            box.withLock { $0.counting += counting }
            // The last closure of the request: it is called after all closures that were attached before.
            core.attach(EndSerializer()) { continuation.yield((number, $0.error)) }
            // A request that waits for a cancelled one ends as it does, even if `cancel()` has not reached it yet.
            if isSkipped, isCancelled {
                member.cancel()
            } else if isSkipped {
                core.cancel(
                    RequestError(.dependencyFailed, "the request was not sent, because a request before it failed"))
            }
            member.resume()
        }
    }
}

/// A serializer whose response only tells that the request has ended.
private struct EndSerializer: ResponseSerializer {
    func serialize(_ exchange: CompletedExchange) {}
    var readsDownloadedFile: Bool { false }
}
