extension URLEncodedFormEncoder {
    /// Returns the pairs of the form with their names and values as they are before percent-encoding.
    ///
    ///     try URLEncodedFormEncoder().queryItems(of: ["tags": ["a b", "c"]])  // tags[]: a b, tags[]: c
    ///
    /// Throws if the outermost value has no keys.
    public func queryItems(of value: some Encodable) throws -> [URLQueryItem] {
        // Ampersands, equals signs, plus signs and percent signs of names and values are always encoded.
        try encode(value).split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return URLQueryItem(name: String(parts[0]).formDecoded, value: String(parts[1]).formDecoded)
        }
    }
}
