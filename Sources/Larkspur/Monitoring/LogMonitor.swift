/// Writes a line or a block about each request when it has finished, for people to read.
///
///     let session = Session(eventMonitors: [LogMonitor(level: .headers)])
///
///     #3 GET https://api.example.com/users/7 → 200, 1 retry, 27 B, 1.02 s
///       GET https://api.example.com/users/7 → 503, 4.1 ms
///       again after 1.00 s: Service Unavailable
///       > Accept: application/json
///       > Authorization: Bearer REDACTED
///       < HTTP/2 200
///       < Content-Type: application/json
///
/// Secrets are hidden by the redaction's rules; user, password and fragment of URLs are never shown. What a peer sends cannot
/// break a line or steer a terminal. A body is decoded and laid out on the monitor's own time, and costs requests nothing.
public struct LogMonitor: EventMonitor {
    /// How much is written.
    public enum Level: Int, Sendable, Comparable, CaseIterable {
        /// Nothing.
        case off
        /// A line for each request: method, URL, status or error, retries, redirects, sizes, time on the network.
        case basic
        /// And a block with each hop, why attempts failed, and the header fields of the last request and its response.
        case headers
        /// And the beginnings of bodies that are text; of all others their sizes.
        case body

        public static func < (lhs: Level, rhs: Level) -> Bool { lhs.rawValue < rhs.rawValue }
    }

    private let format: LogFormat
    private let sink: LogSink

    /// A monitor that tells as much as the level says.
    ///
    /// - Parameters:
    ///   - sink: Where it is written to.
    ///   - redaction: What is hidden, beside a request's `confidentialHeaders` and `confidentialQueryItems`, and fields that
    ///     are marked as secrets. `.standard` can be extended by names and words.
    ///   - bodyLimit: Of a longer body, so many characters are shown.
    public init(
        level: Level = .basic, to sink: LogSink = .standardError, redacting redaction: Redaction = .standard,
        bodyLimit: Int = 4_000
    ) {
        self.sink = sink
        format = LogFormat(level: level, redaction: redaction, bodyLimit: max(0, bodyLimit), hasColors: sink.hasColors)
    }

    public func request(_ request: any Request, did event: RequestEvent) {
        guard format.level != .off else { return }
        switch event {
        case .finish:
            guard let exchange = request.handle.core.read({ $0.exchange }) else { return }
            sink.write(format.block(about: exchange, of: request.id))
        case .serialize(let error?): sink.write(format.line(about: error, of: request))
        case .ignoreOption(let name): sink.write("\(request.id) too late, after the finish: \(name)\n")
        default: break
        }
    }

    public func didMiss(_ requests: Int) {
        if format.level != .off { sink.write("… \(requests) requests are not logged, because the log was too slow\n") }
    }

    public func sessionDidInvalidate(_ error: (any Error)?) {
        guard format.level != .off else { return }
        sink.write("the session was invalidated\(error.map { ": \($0)".printable } ?? "")\n")
    }
}
