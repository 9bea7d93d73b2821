/// The hook for openings.
extension WebSocketCore {
    /// Runs the hook for openings, if there is one. Returns false if the connection has ended before the hook has
    /// returned.
    ///
    /// The hook has a task of its own. When the connection ends, the task is cancelled and left behind, so that user
    /// code cannot hold up the next connection or the end of the request.
    func greet(_ head: ResponseHead, _ agreement: WebSocketAgreement?, _ number: Int) async throws -> Bool {
        guard let hook = options.reconnection?.onOpen else { return true }
        let attempt = link.withLock { $0.attempt }
        let opening = WebSocketOpening(
            head: head, negotiatedProtocol: agreement?.protocol, number: number, socket: self, attempt: attempt)
        return try await suspended { (continuation: Continuation<Result<Bool, any Error>>) in
            let begins = link.withLock { $0.begin(WebSocketLink.Hook(attempt: attempt, continuation: continuation)) }
            guard begins else { return continuation.resume(returning: .success(false)) }
            let task = Task {
                let result: Result<Bool, any Error>
                do {
                    try await hook(opening)
                    result = .success(true)
                } catch {
                    result = .failure(error)
                }
                link.withLock { $0.takeHook(of: attempt) }?.continuation.resume(returning: result)
            }
            if !link.withLock({ $0.keep(task) }) { task.cancel() }
        }.get()
    }

    /// Cancels the hook and continues without it.
    ///
    /// - Parameter attempt: The attempt of the hook; nil for any.
    func leaveHook(of attempt: UInt64? = nil) {
        guard let hook = link.withLock({ $0.takeHook(of: attempt) }) else { return }
        hook.task?.cancel()
        hook.continuation.resume(returning: .success(false))
    }
}
