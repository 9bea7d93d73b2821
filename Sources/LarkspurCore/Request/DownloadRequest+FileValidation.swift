extension DownloadRequest {
    /// A check of a downloaded file. The first argument is the complete file, which is not at its destination yet.
    public typealias FileValidation = @concurrent @Sendable (URL, CompletedExchange) async throws -> Void

    /// Adds a check of the downloaded file. It runs when the file is complete and its checksum is right, before the
    /// file is moved to its destination.
    ///
    ///     request.validateFile { file, exchange in
    ///         guard try archive(at: file).isSigned else { throw MissingSignature() }
    ///     }
    ///
    /// If the closure throws an error, the bytes are removed, the attempt fails in the stage `validating`, and retriers
    /// are asked. Other validators check the head before the first byte is received. The closure must not move the file
    /// or change it.
    @discardableResult
    public func validateFile(_ validation: @escaping FileValidation) -> Self {
        file.validations.withLock { $0.append(validation) }
        return self
    }
}
