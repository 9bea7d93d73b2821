extension String {
    /// The text on one line, with control and bidirectional formatting characters escaped.
    package var printable: String {
        guard unicodeScalars.contains(where: \.isUnprintable) else { return self }
        return unicodeScalars.map { $0.isUnprintable ? $0.escaped(asASCII: true) : String($0) }.joined()
    }
}

extension Unicode.Scalar {
    fileprivate var isUnprintable: Bool {
        if value < 0x7F { return value < 0x20 }
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate: return true
        default: return properties.isBidiControl
        }
    }
}

extension Duration {
    /// The duration with a unit: `0.3 ms`, `27.0 ms`, `1.02 s`.
    package var brief: String {
        let hundredths = Int64(min(self / .microseconds(10), 1e18))
        guard hundredths >= 100_000 else { return "\(hundredths / 100).\(hundredths % 100 / 10) ms" }
        let (seconds, rest) = (hundredths / 100_000, hundredths % 100_000 / 1_000)
        return "\(seconds).\(rest < 10 ? "0" : "")\(rest) s"
    }
}

extension UInt64 {
    /// The number of bytes with a decimal unit: `27 B`, `1.3 kB`, `2.0 GB`.
    package var byteText: String {
        guard self >= 1_000 else { return "\(self) B" }
        var (rest, unit) = (self, 0)
        let units = ["kB", "MB", "GB", "TB", "PB", "EB"]
        while rest >= 1_000_000 { (rest, unit) = (rest / 1_000, unit + 1) }
        return "\(rest / 1_000).\(rest % 1_000 / 100) \(units[unit])"
    }
}
