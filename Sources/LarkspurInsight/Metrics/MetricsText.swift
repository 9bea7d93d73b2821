/// The text format of Prometheus, version 0.0.4.
struct MetricsText {
    private(set) var text = ""
    private let state: MetricsState
    private let options: PrometheusMonitor.Options

    init(of state: MetricsState, _ options: PrometheusMonitor.Options) {
        (self.state, self.options) = (state, options)
        for family in MetricFamily.Counter.allCases { add(family) }
        add("requests_in_flight", "gauge", "Requests that have started and not finished.", "\(state.inFlight)")
        add("missed_requests_total", "counter", "Requests that the monitor was too slow to count.", "\(state.missed)")
        for family in MetricFamily.Duration.allCases { add(family) }
    }

    private mutating func add(_ name: String, _ type: String, _ help: String, _ value: String) {
        begin(name, type, help)
        text += "\(options.prefix)_\(name) \(value)\n"
    }

    private mutating func begin(_ name: String, _ type: String, _ help: String) {
        text += "# HELP \(options.prefix)_\(name) \(Self.escaped(help, quotes: false))\n"
        text += "# TYPE \(options.prefix)_\(name) \(type)\n"
    }

    private mutating func add(_ family: MetricFamily.Counter) {
        let series = state.counters[family.rawValue]
        guard !series.isEmpty else { return }
        begin(family.name, "counter", family.help)
        let lines = series.map { labels, count in
            (labels: self.labels(labels, family.labels, of: family), count: count)
        }
        for line in lines.sorted(by: { $0.labels < $1.labels }) {
            text += "\(options.prefix)_\(family.name){\(line.labels)} \(line.count)\n"
        }
    }

    private mutating func add(_ family: MetricFamily.Duration) {
        let series = state.histograms[family.rawValue]
        guard !series.isEmpty else { return }
        begin(family.name, "histogram", family.help)
        let name = "\(options.prefix)_\(family.name)"
        let blocks = series.map { (labels: labels($0, family.labels, of: nil), histogram: $1) }
        for (labels, histogram) in blocks.sorted(by: { $0.labels < $1.labels }) {
            var count: UInt64 = 0
            for (bound, inBucket) in zip(options.buckets.map { "\($0)" } + ["+Inf"], histogram.counts) {
                count += inBucket
                text += "\(name)_bucket{\(labels),le=\"\(bound)\"} \(count)\n"
            }
            text += "\(name)_sum{\(labels)} \(histogram.sum)\n"
            text += "\(name)_count{\(labels)} \(count)\n"
        }
    }

    private func labels(
        _ labels: MetricsState.Labels, _ names: [MetricFamily.Label], of family: MetricFamily.Counter?
    ) -> String {
        names.map { name in
            let value = name.value(in: labels, of: family, hosts: state.hosts)
            return "\(name.rawValue)=\"\(Self.escaped(value, quotes: true))\""
        }.joined(separator: ",")
    }

    /// Returns the text with escapes for the backslash and the line feed, and for quotes in the value of a label.
    static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): escaped += [byte, byte]
            case UInt8(ascii: "\n"): escaped += Array(#"\n"#.utf8)
            case UInt8(ascii: "\"") where quotes: escaped += [UInt8(ascii: "\\"), byte]
            default: escaped.append(byte)
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }
}
