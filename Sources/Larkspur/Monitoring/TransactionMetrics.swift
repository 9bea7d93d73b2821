/// The durations of the phases of one hop, as far as the transport reports them.
///
///     print(request.timeline.map(\.description).joined(separator: "\n"))
///
///     attempt 1: GET https://example.com/ → 200, 83.1 ms, 1.3 kB received, h2, to 192.0.2.7
///       queue        0.2 ms
///       lookup       4.0 ms  ██
///       connection  19.8 ms    ██████████
///       TLS         22.7 ms              ███████████
///       sending      0.1 ms                         █
///       waiting     30.2 ms                         ███████████████
///       receiving    6.3 ms                                        ███
public struct TransactionMetrics: Sendable {
    /// A phase of a hop.
    public enum Phase: String, Sendable, CaseIterable {
        /// Waits for a free slot of the transport, before the hop's time begins.
        case queue
        /// Resolves the host's name.
        case lookup
        /// Connects to one of the host's addresses.
        case connection
        /// Performs the TLS handshake.
        case tls = "TLS"
        /// Sends the request with its body.
        case sending
        /// Waits for the first byte of the response.
        case waiting
        /// Receives the response, from its first to its last byte.
        case receiving
    }

    /// A phase with its start and end, relative to the hop's start.
    public struct Interval: Sendable, Equatable {
        /// The phase of the hop.
        public let phase: Phase
        /// The start, relative to the hop's start.
        public let start: Duration
        /// The end, relative to the hop's start.
        public let end: Duration
        /// The time from start to end.
        public var duration: Duration { end - start }
    }

    /// The number of the attempt; the first one is 1.
    public let attempt: Int
    /// The request that was sent.
    public let request: OutgoingRequest
    /// The status of the response; nil without a response.
    public let status: Int?
    /// The reason why the hop failed; nil if it succeeded.
    public let error: TransportError?
    /// The values that the transport measured.
    public let transport: TransportMetrics

    init?(_ hop: Hop, attempt: Int) {
        guard let metrics = hop.metrics else { return nil }
        (self.attempt, request, status, error, transport) = (attempt, hop.request, hop.head?.status, hop.error, metrics)
    }

    /// The phases of the hop, in order. On a reused connection there are no lookup, connection and TLS phases. If the
    /// hop was sent again, the phases are those of the last sending, and the last phase includes the time lost.
    public var intervals: [Interval] {
        var marks: [(Phase, Duration?)] = [
            (.lookup, transport.nameLookup), (.connection, transport.connected), (.tls, transport.secured),
            (.sending, transport.requestSent), (.waiting, transport.firstByte),
        ]
        if let lastPhase { marks.append((lastPhase, transport.total)) }
        var intervals = transport.queued.map { [Interval(phase: .queue, start: .zero - $0, end: .zero)] } ?? []
        var start = Duration.zero
        for case (let phase, let mark?) in marks {
            // A response may begin before the whole request is sent.
            let end = max(start, mark)
            intervals.append(Interval(phase: phase, start: start, end: end))
            start = end
        }
        return intervals
    }

    /// The phase in which the hop ended: receiving if there was a response, else the phase in which it failed.
    private var lastPhase: Phase? {
        if status != nil || transport.firstByte != nil { return .receiving }
        if transport.requestSent != nil { return .waiting }
        if transport.secured != nil || transport.connectionWasReused == true { return .sending }
        if transport.connected != nil { return request.url.isHTTPS ? .tls : .sending }
        return transport.nameLookup == nil ? nil : .connection
    }
}

extension TransactionMetrics: CustomStringConvertible {
    private static let width = 40

    /// A summary of the hop and a line with a bar for each phase. Secrets in the URL are redacted.
    public var description: String {
        let outcome = status.map(String.init) ?? error?.code.rawValue ?? "no response"
        let facts = [
            outcome, transport.total?.brief,
            transport.requestBodyBytes > 0 ? "\(transport.requestBodyBytes.byteText) sent" : nil,
            transport.responseBodyBytes > 0 ? "\(transport.responseBodyBytes.byteText) received" : nil,
            transport.protocolName, transport.remoteAddress.map { "to \($0)" },
            transport.connectionWasReused == true ? "on a reused connection" : nil,
        ].compactMap(\.self)
        let target = "\(request.method) \(Redaction.standard.url(request.url))"
        let head = "attempt \(attempt): \(target) → \(facts.joined(separator: ", "))".printable
        return ([head] + intervals.map { "  \(line($0))" }).joined(separator: "\n")
    }

    private func line(_ interval: Interval) -> String {
        let name = interval.phase.rawValue.padding(toLength: 10, withPad: " ", startingAt: 0)
        let time = interval.duration.brief
        let text = "\(name) \(String(repeating: " ", count: max(0, 9 - time.count)))\(time)"
        guard interval.phase != .queue, let whole = intervals.last?.end, whole > .zero, interval.duration > .zero else {
            return text
        }
        let start = min(Self.width - 1, Int(interval.start / whole * Double(Self.width)))
        let length = max(1, Int((interval.duration / whole * Double(Self.width)).rounded()))
        let bar = String(repeating: "█", count: min(length, Self.width - start))
        return "\(text)  \(String(repeating: " ", count: start))\(bar)"
    }
}

extension Request {
    /// The metrics of every hop that has ended, over all attempts.
    public var timeline: [TransactionMetrics] { attempts.timeline }
}

extension DataResponse {
    /// The metrics of every hop, over all attempts.
    public var timeline: [TransactionMetrics] { attempts.timeline }
}

extension [Attempt] {
    fileprivate var timeline: [TransactionMetrics] {
        enumerated().flatMap { number, attempt in
            attempt.hops.compactMap { TransactionMetrics($0, attempt: number + 1) }
        }
    }
}

extension TransportMetrics {
    /// The whole duration, including the wait in the transport's queue.
    var time: Duration { (queued ?? .zero) + (total ?? .zero) }
}
