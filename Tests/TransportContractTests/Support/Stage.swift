import Larkspur

/// A transport with its peer, and a factory for the tasks of a test.
struct Stage: Sendable {
    let subject: ContractSubject
    let peer: any ContractPeer
    private let numbers = Protected<UInt64>(0)

    /// - Parameter clock: The clock that measures the transport's timeouts; nil stands for the system's clock.
    init(_ subject: ContractSubject, clock: EngineClock? = nil) async throws {
        self.subject = subject
        peer = try await subject.makePeer(clock)
    }

    /// Returns a body of this many buffers, a few bytes shorter so that the last buffer is not full.
    func body(buffers: Int) -> [UInt8] { .pattern(buffers * subject.buffer - 3) }

    /// Makes a task; the test starts it.
    func exchange(
        _ script: [PeerStep], method: String = "GET", fields: [HTTPHeader] = [], body: TransportBody = .none,
        allowance: UInt64 = .max, timeouts: TransportTimeouts = .long, id: TransportTaskID? = nil,
        delegate: RecordingDelegate = RecordingDelegate()
    ) throws -> Exchange {
        let url = try peer.url(playing: script)
        var request = TransportRequest(
            method: method, url: url, fields: fields, body: body, initialAllowance: allowance)
        request.timeouts = timeouts
        let task = peer.transport.task(for: request, id: id ?? nextID(), delegate: delegate)
        delegate.steer(task)
        return Exchange(peer: peer, url: url, task: task, delegate: delegate)
    }

    /// Makes a task with a hook that runs inside `received`.
    func exchange(
        _ script: [PeerStep], body: TransportBody = .none, allowance: UInt64 = .max,
        hook: @escaping RecordingDelegate.Hook
    ) throws -> Exchange {
        let method = if case .none = body { "GET" } else { "POST" }
        return try exchange(
            script, method: method, body: body, allowance: allowance, delegate: RecordingDelegate(hook: hook))
    }

    /// Performs a few other exchanges over the same transport.
    ///
    /// A test cannot wait for an event that must not happen. But after whole exchanges the transport has had the time
    /// to deliver it wrongly.
    func settle() async throws {
        for _ in 0..<4 {
            let other = try exchange(.response(body: .pattern(8)))
            other.task.resume()
            try await other.finished()
        }
    }

    private func nextID() -> TransportTaskID {
        numbers.withLock { number in
            number += 1
            return TransportTaskID(number)
        }
    }
}

/// A task with its peer and its delegate.
struct Exchange: Sendable {
    let peer: any ContractPeer
    let url: RequestURL
    let task: any TransportTask
    let delegate: RecordingDelegate

    /// The requests that have arrived at the peer.
    var requests: [ReceivedRequest] { peer.requests(at: url) }

    /// The events delivered so far.
    var trace: Trace { delegate.recorded }

    @discardableResult
    func wait(until isReached: @escaping @Sendable (Trace) -> Bool) async throws -> Trace {
        try await delegate.wait(until: isReached)
    }

    @discardableResult
    func finished() async throws -> Trace {
        try await delegate.wait { $0.isCompleted && $0.depth == 0 }
    }

    /// Starts the task and waits for its end.
    @discardableResult
    func run() async throws -> Trace {
        task.resume()
        return try await finished()
    }
}

/// Runs the closures concurrently, each in its own task.
func concurrently(_ pieces: [@Sendable () -> Void]) async {
    await withTaskGroup(of: Void.self) { group in
        for piece in pieces { group.addTask { piece() } }
    }
}
