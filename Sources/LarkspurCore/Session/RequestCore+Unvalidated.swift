extension RequestCore {
    /// Reports a remark, unless the session has reported one of its kind.
    private func advise(_ kind: Advice.Kind, _ text: @autoclosure () -> String) {
        guard context.advice.isFirst(kind) else { return }
        let advice = Advice(kind: kind, description: text())
        emit(.advise(advice))
        #if DEBUG
            if AdviceRecord.ofProcess.isFirst(kind) { LogSink.standardError.write("Larkspur: \(advice)\n") }
        #endif
    }

    /// Reports that nothing has looked at the status of a response, if the request has a part that expects it.
    ///
    /// A response without an error status costs one comparison.
    @inline(__always)
    func reportUnvalidated(_ exchange: CompletedExchange, _ interceptors: @autoclosure () -> [any RequestInterceptor]) {
        guard exchange.error == nil, let head = exchange.head, head.status >= 400 else { return }
        reportUnvalidated(head.status, interceptors())
    }

    /// Reports the settings of a `URLRequest` that have no effect.
    @inline(__always)
    func reportIgnoredSettings(of request: OutgoingRequest) {
        #if Foundation || canImport(Darwin)
            if !request.options.added.isEmpty { reportIgnored(request[IgnoredURLRequestSettings.self].names, request) }
        #endif
    }

    @inline(never)
    private func reportIgnored(_ names: [String], _ request: OutgoingRequest) {
        guard !names.isEmpty else { return }
        advise(
            .ignoredURLRequestSettings,
            "\(request): the URLRequest's settings \(names.joined(separator: " and ")) have no effect, because the "
                + "transport decides about the network. Set them on the URLSessionConfiguration of a URLSessionTransport."
        )
    }

    @inline(never)
    private func reportUnvalidated(_ status: Int, _ interceptors: [any RequestInterceptor]) {
        let isSaved = receiver is DownloadFile
        let retriers = interceptors.flatMap(\.parts).filter { $0.isMeant(for: status) }
        guard isSaved || !retriers.isEmpty else { return }
        let sent = read { $0.lastHop?.request }
        let request = sent.map { "\($0.method) \($0.url.withoutQuery)" } ?? "a request"
        let start =
            "\(request) was answered with the status \(StatusText.described(status)), which is a success here, because "
            + "no validator checks the status"
        let remedy =
            "Add .validate() to the request, or make the session with SessionConfiguration.validated. To accept every "
            + "status on purpose, add the validator .anyStatus."
        if isSaved {
            advise(.unvalidatedDownload, "\(start): the body of the error is the downloaded file. \(remedy)")
        } else {
            let names = Set(retriers.map { "\(type(of: $0))".prefix { $0 != "<" } }).sorted()
            let asked = names.count == 1 ? "\(names[0]) was" : "\(names.joined(separator: " and ")) were"
            advise(.unvalidatedRetry, "\(start): \(asked) not asked about it. \(remedy)")
        }
    }
}

extension RequestInterceptor {
    /// Whether the retrier is meant for responses with this status.
    fileprivate func isMeant(for status: Int) -> Bool {
        (self as? any StatusExpecting)?.expects(status) ?? RetryPolicy.expectedStatuses.contains(status)
    }

    fileprivate var parts: [any RequestInterceptor] {
        (self as? Interceptor)?.interceptors?.flatMap(\.parts) ?? [self]
    }
}
