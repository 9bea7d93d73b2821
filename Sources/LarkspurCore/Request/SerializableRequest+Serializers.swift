// Each serializer has two forms: `serializingX` returns a handle to await, `responseX` calls a closure. Both attach one
// `SerializerJob` to the request's queue. `serializingX` passes the serializer's concrete type to `core.task`, so that
// the compiler can choose the overload for `PromptSerializer`. A serializer that this overload attaches runs without a
// Swift task.
//
// The closures of a request are called one after another, in the order in which they were attached, after the last
// serializer has ended. A closure may be isolated to an actor (`{ @MainActor response in … }`) and may attach further
// serializers.

extension SerializableRequest {
    /// Attaches a serializer of your own, and returns a handle to await its response. Attaching the first serializer
    /// starts the request, unless automatic start is disabled.
    ///
    /// - Parameter automaticallyCancelling: Whether cancelling the awaiting task also cancels the request, if the
    ///   request has no other serializer, handler or awaiter; true by default.
    public func serializingResponse<Serializer: ResponseSerializer>(
        using serializer: Serializer, automaticallyCancelling: Bool = true
    ) -> DataTask<Serializer.SerializedObject> {
        handle.core.task(serializer, automaticallyCancelling)
    }

    /// Attaches a serializer of your own, and calls the closure with the serializer's response. The closure runs on the
    /// request's task, or on an actor with `{ @MainActor response in … }`.
    @discardableResult
    public func response<Serializer: ResponseSerializer>(
        using serializer: Serializer,
        completion: @escaping @Sendable (DataResponse<Serializer.SerializedObject>) async -> Void
    ) -> Self {
        handle.core.attach(serializer, handler: completion)
        return self
    }

    /// Returns a handle to await the body as data.
    public func serializingData(
        preprocessor: any DataPreprocessor = .passthrough, automaticallyCancelling: Bool = true
    ) -> DataTask<Data> {
        handle.core.task(DataResponseSerializer(preprocessor: preprocessor), automaticallyCancelling)
    }

    /// Calls the closure with the body as data.
    @discardableResult
    public func responseData(
        preprocessor: any DataPreprocessor = .passthrough,
        completion: @escaping @Sendable (DataResponse<Data>) async -> Void
    ) -> Self {
        response(using: .data(preprocessor: preprocessor), completion: completion)
    }

    /// Returns a handle to await the body as text.
    ///
    /// - Parameter encoding: The encoding of the text. Nil, the default, means the charset of the response. A response
    ///   without a charset is read as UTF-8, or as Latin-1 if its body is not valid UTF-8.
    public func serializingString(
        encoding: String.Encoding? = nil, preprocessor: any DataPreprocessor = .passthrough,
        automaticallyCancelling: Bool = true
    ) -> DataTask<String> {
        handle.core.task(
            StringResponseSerializer(encoding: encoding, preprocessor: preprocessor),
            automaticallyCancelling)
    }

    /// Calls the closure with the body as text.
    @discardableResult
    public func responseString(
        encoding: String.Encoding? = nil, preprocessor: any DataPreprocessor = .passthrough,
        completion: @escaping @Sendable (DataResponse<String>) async -> Void
    ) -> Self {
        response(using: .string(encoding: encoding, preprocessor: preprocessor), completion: completion)
    }

    /// Returns a handle to await the body as a ``JSON`` value. An empty body becomes `.null` if the status or the
    /// method allows an empty body; otherwise the serializer fails with `.emptyBody`.
    ///
    /// - Parameters:
    ///   - preprocessor: The preprocessor of the body. Nil, the default, uses the session's
    ///     ``SessionConfiguration/serializers``, as do the next two parameters.
    ///   - emptyResponseCodes: The statuses that allow an empty body.
    ///   - emptyRequestMethods: The methods that allow an empty body.
    ///   - automaticallyCancelling: Whether cancelling the awaiting task also cancels the request, if the request has
    ///     no other serializer, handler or awaiter; true by default.
    public func serializingJSON(
        preprocessor: (any DataPreprocessor)? = nil, emptyResponseCodes: Set<Int>? = nil,
        emptyRequestMethods: Set<HTTPMethod>? = nil, automaticallyCancelling: Bool = true
    ) -> DataTask<JSON> {
        let serializer = JSONResponseSerializer(
            handle.core.context.serializers.body(preprocessor, emptyResponseCodes, emptyRequestMethods))
        return handle.core.task(serializer, automaticallyCancelling)
    }

    /// Calls the closure with the body as a ``JSON`` value.
    @discardableResult
    public func responseJSON(
        preprocessor: (any DataPreprocessor)? = nil, emptyResponseCodes: Set<Int>? = nil,
        emptyRequestMethods: Set<HTTPMethod>? = nil,
        completion: @escaping @Sendable (DataResponse<JSON>) async -> Void
    ) -> Self {
        let serializer = JSONResponseSerializer(
            handle.core.context.serializers.body(preprocessor, emptyResponseCodes, emptyRequestMethods))
        return response(using: serializer, completion: completion)
    }

    /// Returns a handle to await the body as a value of your type. The session's decoder decodes the body, unless you
    /// pass another decoder. An empty body fails with `.emptyBody`, unless the status or the method allows an empty
    /// body and the type is an ``EmptyResponse``.
    ///
    /// - Parameter failure: The type as which the server's error body is decoded if validation rejects the response;
    ///   see ``RequestError/failure(as:)``.
    public func serializingDecodable<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, failure: (any (Decodable & Error & Sendable).Type)? = nil,
        decoder: (any DataDecoder)? = nil, preprocessor: (any DataPreprocessor)? = nil,
        emptyResponseCodes: Set<Int>? = nil, emptyRequestMethods: Set<HTTPMethod>? = nil,
        automaticallyCancelling: Bool = true
    ) -> DataTask<Value> {
        let context = handle.core.context
        let serializer = DecodableResponseSerializer<Value>(
            failure: failure, decoder: decoder ?? context.configuration.decoder,
            context.serializers.body(preprocessor, emptyResponseCodes, emptyRequestMethods))
        return handle.core.task(serializer, automaticallyCancelling)
    }

    /// Calls the closure with the body as a value of your type. The session's decoder decodes the body, unless you pass
    /// another decoder.
    @discardableResult
    public func responseDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, failure: (any (Decodable & Error & Sendable).Type)? = nil,
        decoder: (any DataDecoder)? = nil, preprocessor: (any DataPreprocessor)? = nil,
        emptyResponseCodes: Set<Int>? = nil, emptyRequestMethods: Set<HTTPMethod>? = nil,
        completion: @escaping @Sendable (DataResponse<Value>) async -> Void
    ) -> Self {
        let context = handle.core.context
        let serializer = DecodableResponseSerializer<Value>(
            failure: failure, decoder: decoder ?? context.configuration.decoder,
            context.serializers.body(preprocessor, emptyResponseCodes, emptyRequestMethods))
        return response(using: serializer, completion: completion)
    }

    /// Returns a handle to await a value of your type, decoded from a body that is a property list of any format.
    public func serializingPropertyList<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, automaticallyCancelling: Bool = true
    ) -> DataTask<Value> {
        serializingResponse(
            using: DecodableResponseSerializer(decoder: PropertyListDecoder()),
            automaticallyCancelling: automaticallyCancelling)
    }

    /// Calls the closure with a value of your type, decoded from a body that is a property list of any format.
    @discardableResult
    public func responsePropertyList<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, completion: @escaping @Sendable (DataResponse<Value>) async -> Void
    ) -> Self {
        response(using: DecodableResponseSerializer(decoder: PropertyListDecoder()), completion: completion)
    }
}
