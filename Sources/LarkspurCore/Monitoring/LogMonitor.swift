/// A monitor that writes a readable line or block about each request when it has finished.
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
/// The redaction given to the initializer hides secrets. User, password and fragment of a URL are never shown. Control
/// characters from a server are escaped, so that they cannot break a line or control a terminal. The monitor formats
/// bodies on its own thread, which does not delay requests.
public struct LogMonitor: EventMonitor {
    /// The amount of detail in the log.
    public enum Level: Int, Sendable, Comparable, CaseIterable {
        /// Writes nothing.
        case off
        /// Writes one line for each request: method, URL, status or error, retries, redirects, sizes, time on the
        /// network.
        case basic
        /// Adds a block with each hop, the errors of failed attempts, and the header fields of the last request and its
        /// response.
        case headers
        /// Adds the beginnings of text bodies, and the sizes of all other bodies.
        case body

        public static func < (lhs: Level, rhs: Level) -> Bool { lhs.rawValue < rhs.rawValue }
    }

    private let format: LogFormat
    private let sink: LogSink

    /// Creates a monitor that writes to the sink.
    ///
    /// - Parameters:
    ///   - level: The amount of detail; by default one line for each request.
    ///   - sink: The destination of the log; by default the standard error.
    ///   - redaction: The rules for hiding secrets. You can extend `.standard` by names and words of your own. The log
    ///     also hides header fields that are marked as secret, and a request's `confidentialHeaders` and
    ///     `confidentialQueryItems`.
    ///   - bodyLimit: The maximum number of characters shown of a body; 4,000 by default.
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
        case .serialize(let event):
            if let error = event.error { sink.write(format.line(about: error, of: request)) }
        case .advise(let advice): sink.write("\(request.id) \(advice)\n")
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
