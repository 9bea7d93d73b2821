extension RequestPipeline {
    /// The exchange with its body decoded, for validators and serializers; or failed, with the body as it came.
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
    /// The codings that are to be undone, in the order in which they were applied; none for most bodies.
    var codings: [String] {
        guard let head, !head.bodyIsDecoded else { return [] }
        // Transfer codings belong to the connection and not to the content, so they are undone whatever was asked for.
        let isPlain = head["Transfer-Encoding"].map { HTTPHeaders.areEqual($0, "chunked") } ?? true
        let transfer = isPlain ? [] : ContentCoding.transferNames(in: head)
        guard head.status != 206, request.options.decodesContent ?? true, head["Content-Encoding"] != nil else {
            return transfer
        }
        return ContentCoding.names(in: head.values(for: "Content-Encoding")) + transfer
    }
}

extension CompletedExchange {
    /// The content codings that are to be undone of the body that is there.
    var codings: [String] {
        guard let hop, let data, !data.isEmpty else { return [] }
        return hop.codings
    }

    /// Runs on the pipeline's task: it takes time, and what a peer sends decides how much.
    func decoded() throws -> CompletedExchange {
        let codings = codings
        guard !codings.isEmpty, let data else { return self }
        var decoder = try ContentDecoder(
            codings: codings, limits: hop?.request.options.decodingLimits ?? DecodingLimits())
        var decoded = Data()
        try data.withUnsafeBytes { bytes in
            try decoder.decode(bytes) { piece in
                try Task.checkCancellation()  // the response is no longer needed
                decoded.append(contentsOf: piece)
            }
        }
        try decoder.finish()
        return with(decoded)
    }
}
