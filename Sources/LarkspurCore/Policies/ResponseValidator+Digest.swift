extension ResponseValidator {
    /// A validator that compares the body with the hash that the server sent in `Content-Digest` or `Repr-Digest` (RFC
    /// 9530), in the head or after the body.
    ///
    ///     let report = await session.request(url) { $0.options.decodesContent = false }
    ///         .validate(using: .contentDigest)
    ///
    /// The algorithms are SHA-256 and SHA-512; every hash with one of them must match. The request fails with
    /// `.checksumMismatch` if a hash differs, or if the response has none. The hash covers the encoded bytes. If the
    /// body was decoded, it cannot be compared, and the request fails with `.invalidRequest`. The same is true for
    /// streams and downloads, whose body has not arrived when they are validated. ``DownloadOption/checksum(_:_:)``
    /// checks a file.
    public static let contentDigest = ResponseValidator(library: { try checkDigest(of: $0) })

    private static func checkDigest(of exchange: CompletedExchange) throws {
        guard let hop = exchange.hop, let head = hop.head, hop.request.method != .head, head.status != 304 else {
            return
        }
        guard let data = exchange.data else {
            throw RequestError(
                .invalidRequest, "a content digest can be compared only with a body that is kept in memory")
        }
        guard hop.codings.isEmpty || data.isEmpty, !head.bodyIsDecoded else {
            throw RequestError(
                .invalidRequest,
                "the content digest is of the encoded body, which was decoded; set options.decodesContent to false")
        }
        // `Repr-Digest` is of the whole representation, of which a 206 has only a part.
        let names = head.status == 206 ? ["Content-Digest"] : ["Content-Digest", "Repr-Digest"]
        let values = names.flatMap { head.values(for: $0) + (hop.trailers?.values(for: $0) ?? []) }
        let digests = values.flatMap { parsed($0) }
        guard !digests.isEmpty else {
            throw RequestError(
                .checksumMismatch,
                "the response has no Content-Digest or Repr-Digest with sha-256 or sha-512, so its body was not checked"
            )
        }
        for (algorithm, digest) in digests where algorithm.digest(of: data) != digest {
            throw RequestError(
                .checksumMismatch, "the body does not match the \(algorithm.rawValue) digest that the server sent")
        }
    }

    /// Returns the digests in a field's value, such as `sha-256=:…:, sha-512=:…:`. Other algorithms are skipped. A
    /// broken digest is returned empty, so that it matches no body.
    private static func parsed(_ value: String) -> [(DigestAlgorithm, Data)] {
        value.split(separator: ",").compactMap { member in
            let sides = member.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = sides[0].trimmingSpaces.lowercased()
            guard let algorithm = DigestAlgorithm(rawValue: name) else { return nil }
            let text = sides.count == 2 ? sides[1].prefix { $0 != ";" }.trimmingSpaces : ""
            guard text.count > 2, text.first == ":", text.last == ":" else { return (algorithm, Data()) }
            return (algorithm, Data(base64Encoded: String(text.dropFirst().dropLast())) ?? Data())
        }
    }
}
