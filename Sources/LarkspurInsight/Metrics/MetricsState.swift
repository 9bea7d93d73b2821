import Larkspur
internal import LarkspurAnnex

/// The counts of a ``PrometheusMonitor``, and the requests in flight that they depend on.
struct MetricsState: Sendable {
    /// The labels of one series. Unused labels are zero.
    struct Labels: Hashable, Sendable {
        /// The position in ``hosts``.
        var host: UInt32 = 0
        /// The position in ``methods``.
        var method: UInt8 = 0
        /// The first digit of the status, or 0 without a response.
        var status: UInt8 = 0
        /// The position in the values of the family's last label.
        var outcome: UInt8 = 0

        func hash(into hasher: inout Hasher) {
            hasher.combine(UInt64(host) << 32 | UInt64(method) << 16 | UInt64(status) << 8 | UInt64(outcome))
        }
    }

    struct Histogram: Sendable {
        /// The number of values in each bucket, not cumulative. The last bucket has no bound.
        var counts: [UInt64]
        var sum = 0.0

        mutating func add(_ seconds: Double, to bucket: Int) {
            counts[bucket] &+= 1
            sum += seconds
        }
    }

    /// A request between its start and its finish.
    private struct Live: Sendable {
        let start: Duration
        /// The labels of the request: the host of its first URL.
        var labels = Labels()
        var isCreated = false
        /// The labels of its current hop, which a redirect may send to another host.
        var hop = Labels()
        var url: RequestURL?
        /// Whether the response of the current hop comes from the cache, so that nothing was measured.
        var isStored = false

        mutating func beginHop(method: UInt8) {
            hop.method = method
            (hop.status, labels.status, isStored) = (0, 0, false)
        }
    }

    static let methods = ["other"] + KnownMethods.names

    // Guarded by the monitor's lock
    private(set) var counters = [[Labels: UInt64]](repeating: [:], count: MetricFamily.Counter.allCases.count)
    private(set) var histograms = [[Labels: Histogram]](repeating: [:], count: MetricFamily.Duration.allCases.count)
    /// The labels of hosts. The first is for requests without a known host, the second for all hosts beyond the limit.
    private(set) var hosts = ["none", "other"]
    private var hostNumbers: [String: UInt32] = ["none": 0, "other": 1]
    private var live: [ObjectIdentifier: Live] = [:]
    var missed: UInt64 = 0

    // Constant
    private let buckets: [Double]
    private let maximumHosts: Int

    init(buckets: [Double], maximumHosts: Int) { (self.buckets, self.maximumHosts) = (buckets, maximumHosts) }

    var inFlight: Int { live.count }

    // MARK: Events

    // Each event looks its request up once, and changes it in place.

    mutating func start(_ id: ObjectIdentifier, at time: Duration) { live[id] = Live(start: time) }

    mutating func create(_ id: ObjectIdentifier, _ created: OutgoingRequest, _ host: String) {
        guard let position = live.index(forKey: id) else { return }
        let labels = Labels(host: number(of: host), method: Self.number(of: created.method))
        live.values[position].hop = labels
        live.values[position].url = created.url
        if !live.values[position].isCreated {
            live.values[position].labels = labels
            live.values[position].isCreated = true
        }
        add(1, to: .attempts, labels)
    }

    mutating func failCreation(_ id: ObjectIdentifier) {
        guard let position = live.index(forKey: id) else { return }
        live.values[position].labels.status = 0
        count(live.values[position].hop, .attempts)
    }

    /// Begins a hop. Returns whether its host is known, because the URL has not changed, or because the request is not
    /// counted.
    mutating func beginHop(_ id: ObjectIdentifier, _ sent: OutgoingRequest) -> Bool {
        guard let position = live.index(forKey: id) else { return true }
        live.values[position].beginHop(method: Self.number(of: sent.method))
        return live.values[position].url == sent.url
    }

    mutating func aim(_ id: ObjectIdentifier, at url: RequestURL, _ host: String) {
        guard let position = live.index(forKey: id) else { return }
        live.values[position].hop.host = number(of: host)
        live.values[position].url = url
    }

    mutating func receive(_ id: ObjectIdentifier, status: Int) {
        guard let position = live.index(forKey: id) else { return }
        let digit = (100..<600).contains(status) ? UInt8(status / 100) : 0
        live.values[position].hop.status = digit
        live.values[position].labels.status = digit
    }

    /// Counts an event of the current hop, with its host and method.
    mutating func count(_ id: ObjectIdentifier, _ family: MetricFamily.Counter) {
        guard let position = live.index(forKey: id) else { return }
        count(live.values[position].hop, family)
    }

    private mutating func count(_ hop: Labels, _ family: MetricFamily.Counter) {
        add(1, to: family, Labels(host: hop.host, method: hop.method))
    }

    mutating func count(_ id: ObjectIdentifier, _ outcome: CacheOutcome) {
        guard let position = live.index(forKey: id) else { return }
        live.values[position].isStored = ["hit", "stale"].contains(outcome.name)
        let number = MetricFamily.cacheOutcomes.firstIndex(of: outcome.name) ?? 0
        add(1, to: .cacheOutcomes, Labels(host: live.values[position].hop.host, outcome: UInt8(number)))
    }

    mutating func measure(_ id: ObjectIdentifier, _ metrics: TransportMetrics) {
        guard let position = live.index(forKey: id), !live.values[position].isStored else { return }
        let labels = Labels(host: live.values[position].hop.host)
        if metrics.requestBodyBytes > 0 { add(metrics.requestBodyBytes, to: .requestBytes, labels) }
        if metrics.responseBodyBytes > 0 { add(metrics.responseBodyBytes, to: .responseBytes, labels) }
        if let isReused = metrics.connectionWasReused {
            add(1, to: .connections, Labels(host: labels.host, outcome: isReused ? 1 : 0))
        }
        record(metrics.queued, in: .queued, labels)
        record(metrics.nameLookup, in: .nameLookup, labels)
        record(metrics.connected, since: metrics.nameLookup, in: .connect, labels)
        record(metrics.secured, since: metrics.connected, in: .tls, labels)
        record(metrics.firstByte, in: .firstByte, labels)
        record(metrics.total, in: .hop, labels)
    }

    mutating func endHop(_ id: ObjectIdentifier, _ error: TransportError?) {
        guard let position = live.index(forKey: id) else { return }
        var labels = live.values[position].hop
        labels.outcome = MetricFamily.outcome(of: error.map { RequestOutcome($0) } ?? .success)
        add(1, to: .hops, labels)
    }

    mutating func finish(_ id: ObjectIdentifier, _ error: RequestError?, at time: Duration) {
        guard let request = live.removeValue(forKey: id) else { return }
        var labels = request.labels
        labels.outcome = MetricFamily.outcome(of: error.map { RequestOutcome($0) } ?? .success)
        add(1, to: .requests, labels)
        labels.outcome = 0
        record(time - request.start, in: .request, labels)
    }

    // MARK: Series

    private mutating func add(_ count: UInt64, to family: MetricFamily.Counter, _ labels: Labels) {
        counters[family.rawValue][labels, default: 0] &+= count
    }

    private mutating func record(
        _ time: Duration?, since start: Duration? = nil, in family: MetricFamily.Duration, _ labels: Labels
    ) {
        guard let time else { return }
        let seconds = max(0, (time - (start ?? .zero)) / .seconds(1))
        let bucket = buckets.firstIndex { seconds <= $0 } ?? buckets.count
        guard let position = histograms[family.rawValue].index(forKey: labels) else {
            var histogram = Histogram(counts: Array(repeating: 0, count: buckets.count + 1))
            histogram.add(seconds, to: bucket)
            histograms[family.rawValue][labels] = histogram
            return
        }
        histograms[family.rawValue].values[position].add(seconds, to: bucket)
    }

    private mutating func number(of host: String) -> UInt32 {
        if let number = hostNumbers[host] { return number }
        guard hosts.count - 2 < maximumHosts else { return 1 }
        hosts.append(host)
        hostNumbers[host] = UInt32(hosts.count - 1)
        return UInt32(hosts.count - 1)
    }

    private static func number(of method: HTTPMethod) -> UInt8 {
        UInt8(methods.firstIndex(of: method.rawValue) ?? 0)
    }
}
