extension Request {
    /// The heads of the interim responses of all hops as they arrive, such as 103 (Early Hints). Iterating the sequence
    /// starts the request.
    ///
    ///     for await head in request.informationalResponses { print(head.status, head.values(for: "Link")) }
    ///
    /// A server may send up to 64 interim responses before each response. 100 and 101 are not among the heads.
    /// ``Hop/informationalResponses`` has them after the request. See <doc:TrailersAndInterimResponses>.
    public var informationalResponses: RequestSequence<ResponseHead> { RequestSequence(self, .information) }

    /// Calls the closure with the head of each interim response.
    ///
    ///     request.onInformationalResponse { head in print(head.status, head.values(for: "Link")) }
    ///
    /// The closure runs in its own task, or on the actor that it belongs to. Calls do not overlap, and each head is
    /// delivered once, in order. The response does not wait for the closure. Attaching the closure does not start the
    /// request. The closure is released when the request has finished or is released.
    @discardableResult
    public func onInformationalResponse(perform handler: @escaping @Sendable (ResponseHead) async -> Void) -> Self {
        let stream = handle.core.follow(.information)
        // Start an unstructured task, because the caller does not wait for the closure. The task ends with the request.
        Task { for await head in stream { await handler(head) } }
        return self
    }
}

extension RequestTopic {
    static var information: RequestTopic<ResponseHead> {
        RequestTopic<ResponseHead>(followers: \.information, buffering: .unbounded) { state, sent in
            Array(state.allHops.flatMap(\.informationalResponses).dropFirst(sent.count))
        }
    }
}
