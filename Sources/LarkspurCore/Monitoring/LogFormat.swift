/// The text that a ``LogMonitor`` writes about an exchange. The same exchange always results in the same text.
struct LogFormat: Sendable {
    let level: LogMonitor.Level
    let redaction: Redaction
    let bodyLimit: Int
    var hasColors = false

    private enum Color: Int { case red = 31, green = 32, yellow = 33, gray = 90 }

    // MARK: Lines and blocks

    /// Returns the summary and, from the level `headers` on, the indented details.
    func block(about exchange: CompletedExchange, of id: RequestID) -> String {
        var lines = ["\(id) \(summary(of: exchange))"]
        if level >= .headers { lines += details(of: exchange).map { "  \($0)" } }
        return lines.map { "\($0)\n" }.joined()
    }

    /// Returns a line about the failure of a serializer. The failure is not part of the exchange, so the block about
    /// the exchange does not contain it.
    func line(about error: RequestError, of request: any Request) -> String {
        "\(request.id) \(request.request.map(target) ?? "a request") → \(failure(error))\n"
    }

    private func summary(of exchange: CompletedExchange) -> String {
        let history = exchange.history
        var facts: [String] = []
        if let status = exchange.head?.status { facts.append(painted(status)) }
        if let error = exchange.error { facts.append(failure(error)) }
        if facts.isEmpty { facts.append("done") }
        facts += [
            counted(history.count - 1, "retry", "retries"),
            counted(exchange.redirects.count, "redirect", "redirects"),
            exchange.error?.retryRefusal.map { "not retried: \($0.printable)" },
            sent(exchange).map { "\($0.byteText) sent" }, received(exchange), cached(exchange), time(of: history),
        ].compactMap(\.self)
        let request = exchange.request ?? history.last { $0.request != nil }?.request
        return "\(request.map(target) ?? "a request that was not built") → \(facts.joined(separator: ", "))"
    }

    private func details(of exchange: CompletedExchange) -> [String] {
        var lines: [String] = []
        let history = exchange.history
        for (index, attempt) in history.enumerated() {
            let isLast = index == history.count - 1
            lines += (isLast ? attempt.hops.dropLast() : attempt.hops[...]).map(line)
            if !isLast, let error = attempt.error {
                let delay = attempt.delay.flatMap { $0 > .zero ? " after \($0.brief)" : nil }
                lines.append("again\(delay ?? ""): \(failure(error))")
            }
        }
        // A server may repeat the secrets of the request, so the request's redaction rules apply to the response too.
        let redaction = exchange.request?.redaction(extending: redaction) ?? redaction
        if let request = exchange.request {
            lines += block(">", request.headers, redaction, body: body(of: request, redaction))
        }
        for head in exchange.hop?.informationalResponses ?? [] {
            lines += block("<", first: "\(head.version) \(head.status)", head.headers, redaction, body: [])
        }
        if let head = exchange.head {
            let first = "\(head.version) \(head.status)"
            lines += block("<", first: first, head.headers, redaction, body: body(of: exchange, head, redaction))
        }
        if let trailers = exchange.trailers { lines += block("<", first: "(trailers)", trailers, redaction, body: []) }
        return lines
    }

    private func line(_ hop: Hop) -> String {
        let outcome = hop.head.map { painted($0.status) } ?? hop.error.map { paint($0.description.printable, .red) }
        let time = hop.metrics.flatMap { $0.time > .zero ? $0.time.brief : nil }
        let facts = [outcome ?? "no response", time].compactMap(\.self)
        return "\(target(hop.request)) → \(facts.joined(separator: ", "))"
    }

    private func block(
        _ mark: String, first: String? = nil, _ headers: HTTPHeaders, _ redaction: Redaction, body: [String]
    ) -> [String] {
        var lines = first.map { [$0] } ?? []
        lines += headers.map { "\($0.name): \(redaction.value(of: $0))".printable }
        if level >= .body, !body.isEmpty { lines += [""] + body }
        return lines.map { paint(mark, .gray) + ($0.isEmpty ? "" : " \($0)") }
    }

    // MARK: Bodies

    private func body(of request: OutgoingRequest, _ redaction: Redaction) -> [String] {
        switch request.body {
        case .none: []
        case .data(let data): preview(data, request.headers["Content-Type"], redaction)
        case .file(let path, let length, _): ["(the file \(path), \(length.byteText))".printable]
        case .stream(let source): ["(a stream\(source.length.map { " of \($0.byteText)" } ?? ""))"]
        }
    }

    private func body(of exchange: CompletedExchange, _ head: ResponseHead, _ redaction: Redaction) -> [String] {
        if let file = exchange.fileURL { return ["(the file \(file.path))".printable] }
        return preview(exchange.data ?? exchange.error?.responseData ?? Data(), head["Content-Type"], redaction)
    }

    private func preview(_ data: Data, _ type: String?, _ redaction: Redaction) -> [String] {
        level < .body ? [] : BodyPreview(redaction: redaction, limit: bodyLimit).lines(of: data, type: type)
    }

    // MARK: Parts of a line

    private func target(_ request: OutgoingRequest) -> String {
        "\(request.method) \(redaction.url(request.url))".printable
    }

    private func failure(_ error: RequestError) -> String {
        if error.isCancelled { return paint("cancelled", .yellow) }
        let problem = error.serverProblem.map { ": \($0)" } ?? ""
        // Omit the error's message, because it repeats the status that is already in the line.
        if error.code == .unacceptableStatus { return paint(StatusText.problem(error.statusCode) + problem, .red) }
        let what = error.message.isEmpty ? error.code.rawValue : error.message
        return paint("\(error.stage == nil ? "" : "\(error.opening): ")\(what)\(problem)".printable, .red)
    }

    private func counted(_ count: Int, _ one: String, _ many: String) -> String? {
        count > 0 ? "\(count) \(count == 1 ? one : many)" : nil
    }

    private func cached(_ exchange: CompletedExchange) -> String? {
        switch exchange.cache {
        case nil: nil
        case .miss?, .bypassed?, .unavailable?: exchange.cache.map { "cache \($0)" }
        case let outcome?: "from the cache: \(outcome)"
        }
    }

    private func sent(_ exchange: CompletedExchange) -> UInt64? {
        let counted = exchange.metrics?.requestBodyBytes ?? 0
        let count = counted > 0 || exchange.head == nil ? counted : exchange.request?.body.length ?? 0
        return count > 0 ? count : nil
    }

    private func received(_ exchange: CompletedExchange) -> String? {
        let there = UInt64(exchange.data?.count ?? 0)
        guard let counted = exchange.metrics?.responseBodyBytes, counted > 0 else {
            return there > 0 ? there.byteText : nil
        }
        return counted.byteText + (there > counted ? " (\(there.byteText) decoded)" : "")
    }

    /// Returns the sum of the durations of all hops and the delays between attempts.
    private func time(of history: [Attempt]) -> String? {
        let hops = history.flatMap(\.hops).compactMap { $0.metrics?.time }.reduce(.zero, +)
        let time = history.compactMap(\.delay).reduce(hops, +)
        return time > .zero ? time.brief : nil
    }

    private func painted(_ status: Int) -> String {
        paint("\(status)", status < 400 ? .green : status < 500 ? .yellow : .red)
    }

    private func paint(_ text: String, _ color: Color) -> String {
        hasColors ? "\u{1B}[\(color.rawValue)m\(text)\u{1B}[0m" : text
    }
}
