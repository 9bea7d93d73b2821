// Each serializer in two forms: `serializingX` gives a handle to await, `responseX` calls a closure.
//
// Closures of one request are called in the order of their attachment, one after another, after the last serializer
// has ended. A closure may be isolated to an actor (`{ @MainActor response in … }`) and may attach further serializers.

extension SerializableRequest {
    public func serializingResponse<Serializer: ResponseSerializer>(
        using serializer: Serializer, automaticallyCancelling: Bool = true
    ) -> DataTask<Serializer.SerializedObject> {
        handle.core.task(serializer, for: self, automaticallyCancelling)
    }

    @discardableResult
    public func response<Serializer: ResponseSerializer>(
        using serializer: Serializer,
        completion: @escaping @Sendable (DataResponse<Serializer.SerializedObject>) async -> Void
    ) -> Self {
        handle.core.attach(serializer, to: self, handler: completion)
        return self
    }

    // MARK: Data

    public func serializingData(automaticallyCancelling: Bool = true) -> DataTask<Data> {
        handle.core.task(DataResponseSerializer(), for: self, automaticallyCancelling)
    }

    @discardableResult
    public func responseData(completion: @escaping @Sendable (DataResponse<Data>) async -> Void) -> Self {
        response(using: .data, completion: completion)
    }

    // MARK: String

    /// - Parameter encoding: nil takes the charset that the response names, or else UTF-8, or else Latin-1.
    public func serializingString(
        encoding: String.Encoding? = nil, automaticallyCancelling: Bool = true
    ) -> DataTask<String> {
        handle.core.task(StringResponseSerializer(encoding: encoding), for: self, automaticallyCancelling)
    }

    @discardableResult
    public func responseString(
        encoding: String.Encoding? = nil, completion: @escaping @Sendable (DataResponse<String>) async -> Void
    ) -> Self {
        response(using: .string(encoding: encoding), completion: completion)
    }

    // MARK: JSON

    public func serializingJSON(automaticallyCancelling: Bool = true) -> DataTask<JSON> {
        handle.core.task(JSONResponseSerializer(), for: self, automaticallyCancelling)
    }

    @discardableResult
    public func responseJSON(completion: @escaping @Sendable (DataResponse<JSON>) async -> Void) -> Self {
        response(using: .json, completion: completion)
    }

    // MARK: Decodable

    public func serializingDecodable<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, decoder: any DataDecoder = JSONDecoder(), automaticallyCancelling: Bool = true
    ) -> DataTask<Value> {
        handle.core.task(DecodableResponseSerializer<Value>(decoder: decoder), for: self, automaticallyCancelling)
    }

    @discardableResult
    public func responseDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, decoder: any DataDecoder = JSONDecoder(),
        completion: @escaping @Sendable (DataResponse<Value>) async -> Void
    ) -> Self {
        response(using: .decodable(of: type, decoder: decoder), completion: completion)
    }
}

extension SerializableRequest {
    /// Validates with `ResponseValidator.standard`: status 200..<300 and a content type the request accepts.
    ///
    /// Validators run in the order of their attachment, the session's first; the first failure ends it.
    @discardableResult
    public func validate() -> Self {
        validate(using: .standard)
    }

    @discardableResult
    public func validate(statusCode acceptable: some Sequence<Int> & Sendable) -> Self {
        validate(using: .status(acceptable))
    }

    @discardableResult
    public func validate(contentType acceptable: [String]) -> Self {
        validate(using: .contentType(acceptable))
    }

    /// Validates with a closure: what it throws is the request's error.
    @discardableResult
    public func validate(_ validation: @escaping @Sendable (CompletedExchange) async throws -> Void) -> Self {
        validate(using: ResponseValidator(validation))
    }

    @discardableResult
    public func validate(using validator: ResponseValidator) -> Self {
        handle.core.set("validator", of: self) { $0.validators.append(validator) }
        return self
    }
}
