extension Request {
    /// Each request that is sent: the first one, those that redirects ask for, and all of them again for each retry.
    ///
    ///     for await sent in request.requests { print(sent.method, sent.url) }
    public var requests: RequestSequence<OutgoingRequest> { RequestSequence(self, .requests) }

    /// Each response's head as it arrives, before its body: of redirects and of attempts that fail, too.
    public var responses: RequestSequence<ResponseHead> { RequestSequence(self, .responses) }

    /// Each request that is sent as a command for a shell, with secrets hidden by `Redaction.standard`; `requests` has
    /// them for another redaction.
    public var cURLDescriptions: AsyncMapSequence<RequestSequence<OutgoingRequest>, String> {
        requests.map { $0.cURLDescription() }
    }
}

extension RequestTopic {
    static var requests: RequestTopic<OutgoingRequest> {
        RequestTopic<OutgoingRequest>(followers: \.requests, buffering: .unbounded) { state, told in
            state.allHops.dropFirst(told.count).map(\.request)
        }
    }

    static var responses: RequestTopic<ResponseHead> {
        RequestTopic<ResponseHead>(followers: \.responses, buffering: .unbounded) { state, told in
            Array(state.allHops.compactMap(\.head).dropFirst(told.count))
        }
    }
}
