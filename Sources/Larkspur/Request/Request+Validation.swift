extension Request {
    /// Validates with `ResponseValidator.standard`: status 200..<300 and a content type the request accepts.
    ///
    /// Validators run in the order of their attachment, the session's first; the first failure ends it. What is read
    /// while it comes is validated by its head, before anybody is given the first byte.
    @discardableResult
    public func validate() -> Self { validate(using: .standard) }

    /// Accepts these status codes only.
    @discardableResult
    public func validate(statusCode acceptable: some Sequence<Int> & Sendable) -> Self {
        validate(using: .status(acceptable))
    }

    /// Accepts these content types only, such as `application/json` or `text/*`.
    @discardableResult
    public func validate(contentType acceptable: some Sequence<String>) -> Self {
        validate(using: .contentType(acceptable))
    }

    /// Validates with a closure: what it throws is the request's error.
    @discardableResult
    public func validate(_ validation: @escaping @Sendable (CompletedExchange) async throws -> Void) -> Self {
        validate(using: ResponseValidator(validation))
    }

    /// Adds a validator after the session's and those added before.
    @discardableResult
    public func validate(using validator: ResponseValidator) -> Self {
        handle.core.set("validator") { $0.validators.append(validator) }
        return self
    }
}
