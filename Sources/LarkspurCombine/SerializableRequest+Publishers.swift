#if canImport(Combine)
    import Combine
    import Dispatch

    // Each publisher has the serializer of the `serializingX` with the same name. The names and the order of the
    // parameters are Alamofire's.

    extension SerializableRequest {
        /// Returns a publisher of the response of a serializer of your own.
        ///
        ///     request.publishResponse(using: MySerializer()).sink { response in … }
        ///
        /// - Parameters:
        ///   - serializer: The serializer.
        ///   - queue: The queue on which subscribers receive the response; the main queue by default.
        public func publishResponse<Serializer: ResponseSerializer>(
            using serializer: Serializer, on queue: DispatchQueue = .main
        ) -> DataResponsePublisher<Serializer.SerializedObject> {
            DataResponsePublisher(self, queue: queue, serializer: serializer)
        }

        /// Returns a publisher of the unchanged body.
        public func publishData(
            queue: DispatchQueue = .main, preprocessor: any DataPreprocessor = .passthrough
        ) -> DataResponsePublisher<Data> {
            publishResponse(using: .data(preprocessor: preprocessor), on: queue)
        }

        /// Returns a publisher of the body as text.
        ///
        /// - Parameters:
        ///   - queue: The queue on which subscribers receive the response; the main queue by default.
        ///   - preprocessor: The preprocessor of the body.
        ///   - encoding: The encoding of the text. Nil, the default, means the charset of the response; without a
        ///     charset, UTF-8, or Latin-1 if the body is not UTF-8.
        public func publishString(
            queue: DispatchQueue = .main, preprocessor: any DataPreprocessor = .passthrough,
            encoding: String.Encoding? = nil
        ) -> DataResponsePublisher<String> {
            publishResponse(using: .string(encoding: encoding, preprocessor: preprocessor), on: queue)
        }

        /// Returns a publisher of the body as a ``JSON`` value.
        public func publishJSON(
            queue: DispatchQueue = .main, preprocessor: (any DataPreprocessor)? = nil,
            emptyResponseCodes: Set<Int>? = nil,
            emptyRequestMethods: Set<HTTPMethod>? = nil
        ) -> DataResponsePublisher<JSON> {
            let serializer = JSONResponseSerializer(
                handle.core.context.serializers.body(preprocessor, emptyResponseCodes, emptyRequestMethods))
            return publishResponse(using: serializer, on: queue)
        }

        /// Returns a publisher of the body as a value of your type, decoded by the session's decoder unless another is
        /// given.
        ///
        ///     request.publishDecodable(type: User.self).value().sink { … } receiveValue: { user in show(user) }
        ///
        /// - Parameters:
        ///   - type: The type of the value.
        ///   - failure: The type of the server's error body, decoded if validation rejects the response; see
        ///     ``RequestError/failure(as:)``.
        ///   - queue: The queue on which subscribers receive the response; the main queue by default.
        ///   - preprocessor: The preprocessor of the body. Nil uses the session's ``SessionConfiguration/serializers``,
        ///     as do `emptyResponseCodes` and `emptyRequestMethods`.
        ///   - decoder: The decoder; nil uses the session's decoder.
        ///   - emptyResponseCodes: The statuses whose response may have an empty body.
        ///   - emptyRequestMethods: The methods whose response may have an empty body.
        public func publishDecodable<Value: Decodable & Sendable>(
            type: Value.Type = Value.self, failure: (any (Decodable & Error & Sendable).Type)? = nil,
            queue: DispatchQueue = .main, preprocessor: (any DataPreprocessor)? = nil,
            decoder: (any DataDecoder)? = nil, emptyResponseCodes: Set<Int>? = nil,
            emptyRequestMethods: Set<HTTPMethod>? = nil
        ) -> DataResponsePublisher<Value> {
            let context = handle.core.context
            let serializer = DecodableResponseSerializer<Value>(
                failure: failure, decoder: decoder ?? context.configuration.decoder,
                context.serializers.body(preprocessor, emptyResponseCodes, emptyRequestMethods))
            return publishResponse(using: serializer, on: queue)
        }

        /// Returns a publisher of the body as a value of your type, with Alamofire's former name of a parameter.
        @available(*, deprecated, message: "'emptyResponseMethods' is now 'emptyRequestMethods'")
        public func publishDecodable<Value: Decodable & Sendable>(
            type: Value.Type = Value.self, queue: DispatchQueue = .main,
            preprocessor: (any DataPreprocessor)? = nil, decoder: (any DataDecoder)? = nil,
            emptyResponseCodes: Set<Int>? = nil, emptyResponseMethods: Set<HTTPMethod>
        ) -> DataResponsePublisher<Value> {
            publishDecodable(
                queue: queue, preprocessor: preprocessor, decoder: decoder, emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyResponseMethods)
        }

        /// Returns a publisher of the unchanged body; its value is nil if the response has none in memory.
        public func publishUnserialized(queue: DispatchQueue = .main) -> DataResponsePublisher<Data?> {
            DataResponsePublisher(self, queue: queue)
        }
    }

    extension DownloadRequest {
        /// Returns a publisher of the downloaded file's URL, like ``serializingFile(automaticallyCancelling:)``.
        ///
        ///     session.download(url, to: .file(destination)).publishURL().value()
        public func publishURL(queue: DispatchQueue = .main) -> DownloadResponsePublisher<URL> {
            publishResponse(using: .file, on: queue)
        }

        /// Returns a publisher of the downloaded file's URL; its value is nil if there is no file.
        public func publishUnserialized(queue: DispatchQueue = .main) -> DownloadResponsePublisher<URL?> {
            DataResponsePublisher(self, queue: queue)
        }
    }
#endif
