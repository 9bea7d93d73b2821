extension Request {
    /// Adds ``ResponseValidator/standard``, which accepts status 200..<300 and a content type that the request accepts.
    ///
    /// Validators run in the order in which they were added, after the session's. The first failure fails the attempt.
    /// A stream or a download is validated by its head, before the first byte is delivered.
    ///
    /// Attach validators before the request finishes. Later ones have no effect, and monitors get
    /// `ignoreOption`.
    @discardableResult
    public func validate() -> Self { validate(using: .standard) }

    /// Adds a validator that accepts only these status codes; others fail with `.unacceptableStatus`.
    @discardableResult
    public func validate(statusCode acceptable: some Sequence<Int> & Sendable) -> Self {
        validate(using: .status(acceptable))
    }

    /// Adds a validator that accepts only these content types, such as `application/json` or `text/*`; others fail with
    /// `.unacceptableContentType`.
    @discardableResult
    public func validate(contentType acceptable: some Sequence<String>) -> Self {
        validate(using: .contentType(acceptable))
    }

    /// Adds a validator that calls a closure. An error that the closure throws fails the attempt.
    ///
    ///     request.validate { exchange in
    ///         guard exchange.head?["X-Signature"] != nil else { throw MissingSignature() }
    ///     }
    @discardableResult
    public func validate(_ validation: @escaping @Sendable (CompletedExchange) async throws -> Void) -> Self {
        validate(using: ResponseValidator(validation))
    }

    /// Adds a validator after the session's validators and those added earlier.
    @discardableResult
    public func validate(using validator: ResponseValidator) -> Self {
        handle.core.set("validator") { $0.validators.append(validator) }
        return self
    }
}
