// Each serializer in two forms: `serializingX` gives a handle to await, `responseX` calls a closure.
//
// Closures of one request are called in the order of their attachment, one after another, after the last serializer
// has ended. A closure may be isolated to an actor (`{ @MainActor response in … }`) and may attach further serializers.

extension SerializableRequest {
    /// Attaches a serializer of your own and gives a handle to await its response by. The first one starts the request.
    ///
    /// - Parameter automaticallyCancelling: Whether a cancelled awaiter takes the request along, if nobody else wants
    ///   anything of it.
    public func serializingResponse<Serializer: ResponseSerializer>(
        using serializer: Serializer, automaticallyCancelling: Bool = true
    ) -> DataTask<Serializer.SerializedObject> {
        handle.core.task(serializer, automaticallyCancelling)
    }

    /// Attaches a serializer of your own and calls the closure with its response: on the request's task, or on an actor
    /// with `{ @MainActor response in … }`.
    @discardableResult
    public func response<Serializer: ResponseSerializer>(
        using serializer: Serializer,
        completion: @escaping @Sendable (DataResponse<Serializer.SerializedObject>) async -> Void
    ) -> Self {
        handle.core.attach(serializer, handler: completion)
        return self
    }

    /// The body as it is.
    public func serializingData(
        preprocessor: any DataPreprocessor = .passthrough, automaticallyCancelling: Bool = true
    ) -> DataTask<Data> {
        handle.core.task(DataResponseSerializer(preprocessor: preprocessor), automaticallyCancelling)
    }

    /// Calls the closure with the body as it is.
    @discardableResult
    public func responseData(
        preprocessor: any DataPreprocessor = .passthrough,
        completion: @escaping @Sendable (DataResponse<Data>) async -> Void
    ) -> Self {
        response(using: .data(preprocessor: preprocessor), completion: completion)
    }

    /// The body as text.
    ///
    /// - Parameter encoding: nil takes the charset that the response names, or else UTF-8, or else Latin-1.
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

    /// The body as a `JSON` value. An empty body is a failure, unless it was to be expected: then it is `.null`.
    public func serializingJSON(
        preprocessor: any DataPreprocessor = .passthrough, emptyResponseCodes: Set<Int> = .emptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = .emptyRequestMethods, automaticallyCancelling: Bool = true
    ) -> DataTask<JSON> {
        let serializer = JSONResponseSerializer(
            preprocessor: preprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return handle.core.task(serializer, automaticallyCancelling)
    }

    /// Calls the closure with the body as a `JSON` value.
    @discardableResult
    public func responseJSON(
        preprocessor: any DataPreprocessor = .passthrough, emptyResponseCodes: Set<Int> = .emptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = .emptyRequestMethods,
        completion: @escaping @Sendable (DataResponse<JSON>) async -> Void
    ) -> Self {
        let serializer = JSONResponseSerializer(
            preprocessor: preprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return response(using: serializer, completion: completion)
    }

    /// The body as a value of your type, by the session's decoder unless another is given. An empty body is a failure,
    /// unless it was to be expected and the type is an `EmptyResponse`.
    ///
    /// - Parameter failure: What the server's body is decoded as where validation refuses the response; see
    ///   `RequestError.failure(as:)`.
    public func serializingDecodable<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, failure: (any (Decodable & Error & Sendable).Type)? = nil,
        decoder: (any DataDecoder)? = nil, preprocessor: any DataPreprocessor = .passthrough,
        emptyResponseCodes: Set<Int> = .emptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = .emptyRequestMethods, automaticallyCancelling: Bool = true
    ) -> DataTask<Value> {
        let serializer = DecodableResponseSerializer<Value>(
            failure: failure, decoder: decoder ?? handle.core.context.configuration.decoder, preprocessor: preprocessor,
            emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods)
        return handle.core.task(serializer, automaticallyCancelling)
    }

    /// Calls the closure with the body as a value of your type, by the session's decoder unless another is given.
    @discardableResult
    public func responseDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, failure: (any (Decodable & Error & Sendable).Type)? = nil,
        decoder: (any DataDecoder)? = nil, preprocessor: any DataPreprocessor = .passthrough,
        emptyResponseCodes: Set<Int> = .emptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = .emptyRequestMethods,
        completion: @escaping @Sendable (DataResponse<Value>) async -> Void
    ) -> Self {
        let serializer = DecodableResponseSerializer<Value>(
            failure: failure, decoder: decoder ?? handle.core.context.configuration.decoder, preprocessor: preprocessor,
            emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods)
        return response(using: serializer, completion: completion)
    }

    /// The body as XML.
    public func serializingXML(automaticallyCancelling: Bool = true) -> DataTask<XML> {
        handle.core.task(XMLResponseSerializer(), automaticallyCancelling)
    }

    /// Calls the closure with the body as XML.
    @discardableResult
    public func responseXML(completion: @escaping @Sendable (DataResponse<XML>) async -> Void) -> Self {
        response(using: .xml, completion: completion)
    }

    /// The body, a property list of any format, as a value of your type.
    public func serializingPropertyList<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, automaticallyCancelling: Bool = true
    ) -> DataTask<Value> {
        serializingDecodable(decoder: PropertyListDecoder(), automaticallyCancelling: automaticallyCancelling)
    }

    /// Calls the closure with the body, a property list of any format, as a value of your type.
    @discardableResult
    public func responsePropertyList<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, completion: @escaping @Sendable (DataResponse<Value>) async -> Void
    ) -> Self {
        responseDecodable(decoder: PropertyListDecoder(), completion: completion)
    }
}
