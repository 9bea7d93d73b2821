extension Request {
    /// The requests of all hops, in order, including those of redirects, answered challenges and retries.
    ///
    ///     for await sent in request.requests { print(sent.method, sent.url) }
    public var requests: RequestSequence<OutgoingRequest> { RequestSequence(self, .requests) }

    /// The heads of all hops' responses as they arrive, including those of redirects and of failed attempts.
    ///
    ///     for await head in request.heads { print(head.status) }
    public var heads: RequestSequence<ResponseHead> { RequestSequence(self, .heads) }

    /// The requests of all hops as shell commands, with secrets hidden by ``Redaction/standard``. For other rules use
    /// ``requests`` and ``OutgoingRequest/cURLDescription(redacting:)``.
    public var cURLDescriptions: AsyncMapSequence<RequestSequence<OutgoingRequest>, String> {
        requests.map { $0.cURLDescription() }
    }
}

extension RequestTopic {
    static var requests: RequestTopic<OutgoingRequest> {
        RequestTopic<OutgoingRequest>(followers: \.requests, buffering: .unbounded) { state, sent in
            state.allHops.dropFirst(sent.count).map(\.request)
        }
    }

    static var heads: RequestTopic<ResponseHead> {
        RequestTopic<ResponseHead>(followers: \.heads, buffering: .unbounded) { state, sent in
            Array(state.allHops.compactMap(\.head).dropFirst(sent.count))
        }
    }
}
