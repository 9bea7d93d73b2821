extension Request {
    /// Adds ``ResponseValidator/standard``, which accepts the statuses 200..<300 and the content types that the
    /// request's `Accept` field allows.
    ///
    /// The session's validators run first, and then the request's validators in the order in which they were added. The
    /// first validator that fails ends the attempt with its error. A stream or a download is validated by its head,
    /// before the first byte is delivered.
    ///
    /// Attach validators before the request finishes. A later validator has no effect, and monitors get the event
    /// `ignoreOption`.
    @discardableResult
    public func validate() -> Self { validate(using: .standard) }

    /// Adds a validator that accepts only these status codes; other status codes fail with `.unacceptableStatus`.
    @discardableResult
    public func validate(statusCode acceptable: some Sequence<Int> & Sendable) -> Self {
        validate(using: .status(acceptable))
    }

    /// Adds a validator that accepts only these content types, such as `application/json` or `text/*`; other content
    /// types fail with `.unacceptableContentType`.
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

    /// Adds a validator, which runs after the session's validators and the request's earlier validators.
    @discardableResult
    public func validate(using validator: ResponseValidator) -> Self {
        handle.core.set("validator") { $0.validators.append(validator) }
        return self
    }
}

extension RequestCore {
    /// Adds a check of the library, which comes before all validators.
    package func validateFirst(_ check: @escaping @Sendable (CompletedExchange) throws -> Void) {
        set("validator") { $0.validators.insert(ResponseValidator(library: check), at: 0) }
    }
}
