/// Where the time of one hop went, as a line of phases: the same on every transport, as far as it can tell.
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
    /// What a hop does in its phases.
    public enum Phase: String, Sendable, CaseIterable {
        /// Waits for a place among the transport's hops, before the hop's time begins.
        case queue
        /// Asks for the host's addresses.
        case lookup
        /// Connects to one of them.
        case connection
        /// Agrees on keys, and sees who the peer is.
        case tls = "TLS"
        /// Sends the request, its body included.
        case sending
        /// The request is sent, and the response has not begun.
        case waiting
        /// Takes the response, from its first byte to its last.
        case receiving
    }

    /// A phase from its beginning to its end, counted from the hop's start.
    public struct Interval: Sendable, Equatable {
        /// What the hop does in it.
        public let phase: Phase
        /// From the hop's start on.
        public let start: Duration
        /// From the hop's start on, too.
        public let end: Duration
        /// From its beginning to its end.
        public var duration: Duration { end - start }
    }

    /// The number of the attempt, from 1.
    public let attempt: Int
    /// What was sent.
    public let request: OutgoingRequest
    /// Nil if there was no response.
    public let status: Int?
    /// Why the hop failed, if it did.
    public let error: TransportError?
    /// What the transport has measured.
    public let transport: TransportMetrics

    init?(_ hop: Hop, attempt: Int) {
        guard let metrics = hop.metrics else { return nil }
        (self.attempt, request, status, error, transport) = (attempt, hop.request, hop.head?.status, hop.error, metrics)
    }

    /// The phases that there were, in order. A kept connection has no lookup, no connection and no TLS. Of a hop that was sent
    /// again they are those of the last sending, and the last one has the time that was lost, too.
    public var intervals: [Interval] {
        var marks: [(Phase, Duration?)] = [
            (.lookup, transport.nameLookup), (.connection, transport.connected), (.tls, transport.secured),
            (.sending, transport.requestSent), (.waiting, transport.firstByte),
        ]
        if let lastPhase { marks.append((lastPhase, transport.total)) }
        var intervals = transport.queued.map { [Interval(phase: .queue, start: .zero - $0, end: .zero)] } ?? []
        var start = Duration.zero
        for case (let phase, let mark?) in marks {
            // An answer may begin before all of the request is sent.
            let end = max(start, mark)
            intervals.append(Interval(phase: phase, start: start, end: end))
            start = end
        }
        return intervals
    }

    /// What the hop did when it ended: a response was received, or it was given up on the way there.
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

    /// A line about the hop, and one for each phase, drawn along the time. Secrets in the URL are hidden.
    public var description: String {
        let outcome = status.map(String.init) ?? error?.code.rawValue ?? "no response"
        let facts = [
            outcome, transport.total?.brief,
            transport.requestBodyBytes > 0 ? "\(transport.requestBodyBytes.byteText) sent" : nil,
            transport.responseBodyBytes > 0 ? "\(transport.responseBodyBytes.byteText) received" : nil,
            transport.protocolName, transport.remoteAddress.map { "to \($0)" },
            transport.connectionWasReused == true ? "on a kept connection" : nil,
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
    /// The time of every hop that has ended, over all attempts.
    public var timeline: [TransactionMetrics] { attempts.timeline }
}

extension DataResponse {
    /// The time of every hop, over all attempts.
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
    /// All of it, with the wait for a place.
    var time: Duration { (queued ?? .zero) + (total ?? .zero) }
}
