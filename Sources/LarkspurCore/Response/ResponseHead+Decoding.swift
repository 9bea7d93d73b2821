extension ResponseHead {
    /// Returns the codings that the client must decode in the body of a response to this request, in the order in which
    /// the server applied them.
    func codings(for request: OutgoingRequest) -> [String] {
        if bodyIsDecoded { return [] }
        // Transfer codings belong to the connection, so they are decoded even if the user wants the encoded content.
        let isPlain = self["Transfer-Encoding"].map { HTTPHeaders.areEqual($0, "chunked") } ?? true
        let transfer = isPlain ? [] : ContentCoding.transferNames(in: self)
        guard status != 206, request.options.decodesContent ?? true, self["Content-Encoding"] != nil else {
            return transfer
        }
        return ContentCoding.names(in: values(for: "Content-Encoding")) + transfer
    }

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
        let codings = codings(for: request)
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
