import Testing

/// The text format of Prometheus, read as a scraper reads it. It fails on whatever the format does not allow.
struct Exposition {
    struct Mistake: Error {
        let line: String
    }

    /// The value of each series by its name and labels, as written, without the bounds of buckets.
    private(set) var samples: [String: Double] = [:]
    /// The names and labels in the order of the text.
    private(set) var order: [String] = []
    private(set) var types: [String: String] = [:]

    init(_ text: String) throws {
        guard text.hasSuffix("\n") else { throw Mistake(line: "the last line has no end") }
        var described: Set<String> = []
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 3).map(String.init)
            if line.hasPrefix("# HELP ") {
                guard described.insert(words[2]).inserted else { throw Mistake(line: String(line)) }
            } else if line.hasPrefix("# TYPE ") {
                guard described.contains(words[2]), types.updateValue(words[3], forKey: words[2]) == nil else {
                    throw Mistake(line: String(line))
                }
            } else {
                try add(String(line))
            }
        }
    }

    private mutating func add(_ line: String) throws {
        guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]) else {
            throw Mistake(line: line)
        }
        let series = String(line[..<space])
        let name = String(series.prefix { $0 != "{" })
        let family =
            ["_bucket", "_sum", "_count"].first { name.hasSuffix($0) && types[String(name.dropLast($0.count))] != nil }
            .map { String(name.dropLast($0.count)) } ?? name
        guard types[family] != nil, samples.updateValue(value, forKey: series) == nil else { throw Mistake(line: line) }
        order.append(series)
    }

    subscript(series: String) -> Double? { samples[series] }

    /// The sum of all series of a name, with these labels among theirs.
    func sum(_ name: String, _ labels: String...) -> Double {
        samples.filter { series, _ in
            series.prefix { $0 != "{" } == name && labels.allSatisfy { series.contains($0) }
        }.values.reduce(0, +)
    }
}
