/// What becomes of a request whose response has begun.
public enum ResponseDisposition: Sendable {
    /// The request goes on.
    case allow
    /// The request is cancelled: its serializers end with an error that `isCancelled`.
    case cancel
}

/// Looks at a response's head and says what becomes of the request.
typealias ResponseGate = @Sendable (ResponseHead) async -> ResponseDisposition

extension Request {
    /// Asks the closure, once for each attempt that gets a response, whether to go on with it, before validators see it.
    ///
    ///     request.onResponseHead { head in head["X-Maintenance"] == nil ? .allow : .cancel }
    ///
    /// The response is the one that counts: not a redirect that was followed. A body that is kept in memory is collected
    /// meanwhile; of one that is read while it comes no byte is handed on before. Of several closures each is asked in the
    /// order of their attachment, until one cancels.
    @discardableResult
    public func onResponseHead(perform gate: @escaping @Sendable (ResponseHead) async -> ResponseDisposition) -> Self {
        handle.core.set("response gate", of: self) { $0.gates.append(gate) }
        return self
    }
}

extension RequestPipeline {
    /// Asks the gates about the response that is the answer. Leaves the pipeline if one of them cancels.
    func passGates(_ exchange: CompletedExchange) async throws(RequestCore.Exit) {
        guard let head = exchange.head else { return }
        for gate in core.enter(.validating, with: { $0.settings.gates }) {
            let disposition = await gate(head)
            // One that was left behind has no say any more.
            guard core.isWithPipeline, !Task.isCancelled else { throw .abandon }
            guard disposition == .allow else {
                core.cancel(face)
                throw .abandon
            }
        }
    }
}
