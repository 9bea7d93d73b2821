import Larkspur
internal import LarkspurAnnex

/// A monitor that counts and measures the requests of its sessions, in the text format of Prometheus.
///
///     let metrics = PrometheusMonitor()
///     let session = Session(eventMonitors: [metrics])
///
/// A handler of `GET /metrics` answers with ``text`` and ``contentType``. Several sessions can share a monitor.
///
/// The number of series is limited. Hosts beyond ``Options/maximumHosts`` have the label `other`, and so have methods
/// that HTTP does not know. Requests are counted if the monitor has seen their start.
public final class PrometheusMonitor: EventMonitor {
    /// The media type of ``text``.
    public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// The settings of a monitor.
    public struct Options: Sendable {
        /// The beginning of all names; `larkspur` by default.
        public var prefix = "larkspur"
        /// The upper bounds of the buckets of all durations, in seconds and in ascending order. The bucket `+Inf` is
        /// added.
        public var buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
        /// The maximum number of values of the label `host`; 100 by default.
        public var maximumHosts = 100
        /// Returns the label `host` of a request; the host of the URL by default. It is called on a thread for monitors
        /// when an attempt's request is created and when a hop to another URL begins.
        public var host: @Sendable (OutgoingRequest) -> String = { $0.url.host.map(String.init) ?? "" }

        /// Creates the default options and passes them to the closure for changes.
        public init(_ configure: (inout Options) -> Void = { _ in }) { configure(&self) }
    }

    /// The reason why options are not valid.
    public struct InvalidOptions: Error, Sendable, CustomStringConvertible {
        /// One line that names the option and the mistake.
        public let description: String
    }

    private let options: Options
    private let now: @Sendable () -> Duration
    private let box: Guarded<MetricsState>

    /// Creates a monitor with default options.
    public convenience init() { self.init(checked: Options()) }

    /// Creates a monitor.
    ///
    /// - Throws: ``InvalidOptions`` if the prefix is not a name of Prometheus, if the buckets are not finite and
    ///   ascending, or if the number of hosts is negative.
    public convenience init(_ options: Options) throws(InvalidOptions) {
        try options.check()
        self.init(checked: options)
    }

    /// - Parameter now: The time since a fixed instant.
    init(checked options: Options, now: (@Sendable () -> Duration)? = nil) {
        let start = ContinuousClock.now
        self.options = options
        self.now = now ?? { start.duration(to: .now) }
        box = Guarded(MetricsState(buckets: options.buckets, maximumHosts: options.maximumHosts))
    }

    /// All metrics in the text format of Prometheus, version 0.0.4. Families and series are in a stable order.
    public var text: String {
        let state = box.withLock { $0 }
        return MetricsText(of: state, options).text
    }

    public func didMiss(_ requests: Int) { box.withLock { $0.missed += UInt64(max(0, requests)) } }

    public func request(_ request: any Request, did event: RequestEvent) {
        let id = ObjectIdentifier(request)
        switch event {
        case .start:
            let time = now()
            box.withLock { $0.start(id, at: time) }
        case .create(let created):
            let host = options.host(created)
            box.withLock { $0.create(id, created, host) }
        case .failCreation: box.withLock { $0.failCreation(id) }
        case .beginHop(let sent):
            let isKnown = box.withLock { $0.beginHop(id, sent) }
            guard !isKnown else { return }
            let host = options.host(sent)
            box.withLock { $0.aim(id, at: sent.url, host) }
        case .receiveHead(let head): box.withLock { $0.receive(id, status: head.status) }
        case .cache(let outcome): box.withLock { $0.count(id, outcome) }
        case .gatherMetrics(let metrics): box.withLock { $0.measure(id, metrics) }
        case .endHop(let error): box.withLock { $0.endHop(id, error) }
        case .redirect: box.withLock { $0.count(id, .redirects) }
        case .retry: box.withLock { $0.count(id, .retries) }
        case .finish(let error):
            let time = now()
            box.withLock { $0.finish(id, error, at: time) }
        default: break
        }
    }
}

extension PrometheusMonitor.Options {
    func check() throws(PrometheusMonitor.InvalidOptions) {
        let name = Array(prefix.utf8)
        let isName = name.allSatisfy { Self.isLetter($0) || (0x30...0x39).contains($0) }
        guard isName, let first = name.first, Self.isLetter(first) else {
            throw PrometheusMonitor.InvalidOptions(
                description: "prefix: \(prefix.debugDescription) is not a name of letters, digits, _ and :, "
                    + "which begins with no digit")
        }
        guard !buckets.isEmpty, buckets.allSatisfy(\.isFinite), zip(buckets, buckets.dropFirst()).allSatisfy(<) else {
            throw PrometheusMonitor.InvalidOptions(
                description: "buckets: the bounds must be finite and in ascending order, and at least one is needed")
        }
        guard maximumHosts >= 0 else {
            throw PrometheusMonitor.InvalidOptions(description: "maximumHosts: \(maximumHosts) is negative")
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x5F || byte == 0x3A
    }
}
