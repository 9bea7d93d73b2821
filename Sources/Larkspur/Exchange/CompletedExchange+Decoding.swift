extension RequestPipeline {
    /// Returns the exchange with its body decoded. If decoding fails, returns a failed exchange with the encoded body.
    func decoded(_ exchange: CompletedExchange) -> CompletedExchange {
        do {
            let decoded = try exchange.decoded()
            if decoded !== exchange {
                core.emit(.decode(exchange.codings, from: exchange.data?.count ?? 0, to: decoded.data?.count ?? 0))
            }
            return decoded
        } catch {
            return failed(RequestError(wrapping: error, as: .undecodableContent, stage: .sending), exchange)
        }
    }
}

extension Hop {
    /// The codings that the client must decode, in the order in which the server applied them.
    var codings: [String] {
        guard let head, !head.bodyIsDecoded else { return [] }
        // Transfer codings belong to the connection, so they are decoded even if the user wants the encoded content.
        let isPlain = head["Transfer-Encoding"].map { HTTPHeaders.areEqual($0, "chunked") } ?? true
        let transfer = isPlain ? [] : ContentCoding.transferNames(in: head)
        guard head.status != 206, request.options.decodesContent ?? true, head["Content-Encoding"] != nil else {
            return transfer
        }
        return ContentCoding.names(in: head.values(for: "Content-Encoding")) + transfer
    }
}

extension CompletedExchange {
    /// The codings that the client must decode in the body in memory; empty if there is no such body.
    var codings: [String] {
        guard let hop, let data, !data.isEmpty else { return [] }
        return hop.codings
    }

    /// Returns the exchange with its body decoded. The pipeline calls this in a task, because decoding a large body
    /// takes long.
    func decoded() throws -> CompletedExchange {
        let codings = codings
        guard !codings.isEmpty, let data else { return self }
        var decoder = try ContentDecoder(
            codings: codings, limits: hop?.request.options.decodingLimits ?? DecodingLimits())
        var decoded = Data()
        try data.withUnsafeBytes { bytes in
            try decoder.decode(bytes) { piece in
                try Task.checkCancellation()  // a cancelled task no longer needs the response
                decoded.append(contentsOf: piece)
            }
        }
        try decoder.finish()
        return with(decoded)
    }
}
