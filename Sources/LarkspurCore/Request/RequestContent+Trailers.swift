extension RequestContent {
    /// Returns the content with fields that follow it (trailers), such as a checksum. See
    /// ``TransportBody/trailers(_:make:)``.
    public func trailers(
        _ names: String..., make: @escaping @Sendable () async throws -> HTTPHeaders
    ) -> RequestContent {
        RequestContent { request in
            try write(&request)
            request.body = request.body.followed(by: names, make)
        }
    }

    /// Returns the content followed by a `Content-Digest` field with the hash of its bytes. See
    /// ``TransportBody/contentDigest(_:)``.
    public func contentDigest(_ algorithm: DigestAlgorithm = .sha256) -> RequestContent {
        RequestContent { request in
            try write(&request)
            request.body = request.body.contentDigest(algorithm)
        }
    }
}
