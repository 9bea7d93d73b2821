/// The phases of one hop with their durations, as far as the hop's ``Hop/metrics`` contain them.
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
public struct HopTimeline: Sendable {
    /// A phase of a hop.
    #if compiler(>=6.3)
        @nonexhaustive(warn)
    #endif
    public enum Phase: String, Sendable, CaseIterable {
        /// Waits for admissions, limits and a connection slot. This phase is before the hop's start.
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

    /// The number of the attempt, starting at 1.
    public let attempt: Int
    /// The hop, with its request, response head, metrics and error.
    public let hop: Hop
    private let metrics: TransportMetrics

    init?(_ hop: Hop, attempt: Int) {
        guard let metrics = hop.metrics else { return nil }
        (self.attempt, self.hop, self.metrics) = (attempt, hop, metrics)
    }

    /// The phases of the hop, in order. On a reused connection there are no lookup, connection and TLS phases. If the
    /// transport sent the hop again after a lost connection, the phases are those of the last sending. The final phase
    /// then also includes the time of the earlier sendings.
    public var intervals: [Interval] {
        var marks: [(Phase, Duration?)] = [
            (.lookup, metrics.nameLookup), (.connection, metrics.connected), (.tls, metrics.secured),
            (.sending, metrics.requestSent), (.waiting, metrics.firstByte),
        ]
        if let lastPhase { marks.append((lastPhase, metrics.total)) }
        var intervals = metrics.queued.map { [Interval(phase: .queue, start: .zero - $0, end: .zero)] } ?? []
        var start = Duration.zero
        for case (let phase, let mark?) in marks {
            // A response may begin before the whole request is sent. The mark of the first byte is then earlier than
            // the mark before.
            let end = max(start, mark)
            intervals.append(Interval(phase: phase, start: start, end: end))
            start = end
        }
        return intervals
    }

    /// The phase in which the hop ended: receiving if there was a response, otherwise the phase in which the hop
    /// failed.
    private var lastPhase: Phase? {
        if hop.head != nil || metrics.firstByte != nil { return .receiving }
        if metrics.requestSent != nil { return .waiting }
        if metrics.secured != nil || metrics.connectionWasReused == true { return .sending }
        if metrics.connected != nil { return hop.request.url.isHTTPS ? .tls : .sending }
        return metrics.nameLookup == nil ? nil : .connection
    }
}

extension HopTimeline: CustomStringConvertible {
    private static let width = 40

    /// A summary of the hop and a line with a bar for each phase. Secrets in the URL are redacted.
    public var description: String {
        let outcome = hop.head.map { String($0.status) } ?? hop.error?.code.rawValue ?? "no response"
        let facts = [
            outcome, metrics.total?.brief,
            metrics.requestBodyBytes > 0 ? "\(metrics.requestBodyBytes.byteText) sent" : nil,
            metrics.responseBodyBytes > 0 ? "\(metrics.responseBodyBytes.byteText) received" : nil,
            metrics.protocolName, metrics.remoteAddress.map { "to \($0)" },
            metrics.connectionWasReused == true ? "on a reused connection" : nil,
        ].compactMap(\.self)
        let target = "\(hop.request.method) \(Redaction.standard.url(hop.request.url))"
        let head = "attempt \(attempt): \(target) → \(facts.joined(separator: ", "))".printable
        return ([head] + intervals.map { "  \(line($0))" }).joined(separator: "\n")
    }

    private func line(_ interval: Interval) -> String {
        let name = (interval.phase.rawValue + String(repeating: " ", count: 10)).prefix(10)
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
    /// The timelines of all hops that have ended, in all attempts. Hops without metrics have no timeline.
    public var timeline: [HopTimeline] { attempts.timeline }
}

extension DataResponse {
    /// The timelines of all hops, in all attempts. Hops without metrics have no timeline.
    public var timeline: [HopTimeline] { attempts.timeline }
}

extension [Attempt] {
    fileprivate var timeline: [HopTimeline] {
        enumerated().flatMap { number, attempt in
            attempt.hops.compactMap { HopTimeline($0, attempt: number + 1) }
        }
    }
}

extension TransportMetrics {
    /// The whole duration of the hop, including the wait in the transport's queue.
    var time: Duration { (queued ?? .zero) + (total ?? .zero) }
}
