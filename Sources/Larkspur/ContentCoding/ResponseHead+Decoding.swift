extension ResponseHead {
    /// Returns the content of a body, or of the first part of a body, without its content codings.
    ///
    /// Recorders call this function with the bytes of ``RequestEvent/copyBody(_:)``. Bytes that are damaged, end
    /// early or exceed the request's `decodingLimits` are decoded as far as possible.
    ///
    /// - Parameters:
    ///   - request: The request of the response.
    ///   - limit: The maximum number of decoded bytes.
    /// - Returns: The decoded bytes, and whether they are the whole content. Nil if a coding is not supported. Bytes
    ///   without a coding are returned unchanged.
    public func decoded(_ body: Data, of request: OutgoingRequest, upTo limit: Int) -> (bytes: Data, isWhole: Bool)? {
        let codings = Hop(request: request, head: self).codings
        guard !codings.isEmpty, !body.isEmpty else { return (body, true) }
        let limits = request.options.decodingLimits ?? DecodingLimits()
        guard var decoder = try? ContentDecoder(codings: codings, limits: limits) else { return nil }
        struct Full: Error {}
        var decoded = Data()
        do {
            try body.withUnsafeBytes { bytes in
                try decoder.decode(bytes) { piece in
                    decoded.append(contentsOf: piece.prefix(max(0, limit - decoded.count)))
                    if decoded.count >= limit { throw Full() }
                }
            }
            try decoder.finish()
            return (decoded, true)
        } catch {
            return (decoded, false)
        }
    }
}
