#if canImport(Combine)
    import Combine
    import Dispatch

    /// A Combine publisher of a request's response: one ``DataResponse``, then the end.
    ///
    ///     let user = await session.request(url).validate().publishDecodable(type: User.self)
    ///     user.sink { response in show(response.result) }.store(in: &cancellables)
    ///
    /// Nothing is sent before a subscription. Subscribing attaches a serializer and starts the request, even if it is
    /// suspended or does not start automatically. The response is delivered once the subscriber demands it, on the
    /// queue that the publisher was made with. Cancelling the subscription before the response arrives cancels the
    /// request with all its serializers.
    ///
    /// Each subscription attaches a serializer of its own to the same request, which is sent once.
    public struct DataResponsePublisher<Value: Sendable>: Publisher, Sendable {
        public typealias Output = DataResponse<Value>
        public typealias Failure = Never

        private let request: any SerializableRequest
        private let queue: DispatchQueue
        private let start: @Sendable (SubscriptionCore<DataResponse<Value>>) -> Void

        /// Creates a publisher with a serializer.
        ///
        /// - Parameters:
        ///   - request: The request.
        ///   - queue: The queue on which subscribers receive the response.
        ///   - serializer: The serializer.
        public init<Serializer: ResponseSerializer>(
            _ request: some SerializableRequest, queue: DispatchQueue, serializer: Serializer
        ) where Serializer.SerializedObject == Value {
            self.request = request
            self.queue = queue
            start = { request.send(responseOf: serializer, to: $0) }
        }

        /// Creates a publisher of the unchanged body; its value is nil if the response has none in memory.
        public init(_ request: some SerializableRequest, queue: DispatchQueue) where Value == Data? {
            self.init(request, queue: queue, serializer: UnserializedDataSerializer())
        }

        /// Creates a publisher of the downloaded file; its value is nil if there is none.
        public init(_ request: DownloadRequest, queue: DispatchQueue) where Value == URL? {
            self.init(request, queue: queue, serializer: UnserializedFileSerializer())
        }

        public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
            SubscriptionCore.subscribe(subscriber, to: request, on: queue, start: start)
        }

        /// Returns a publisher of the response's result: the value, or the reason why there is none.
        public func result() -> AnyPublisher<Result<Value, RequestError>, Never> {
            map { $0.result }.eraseToAnyPublisher()
        }

        /// Returns a publisher of the response's value, which fails if there is none.
        ///
        ///     request.publishDecodable(type: User.self).value()
        ///         .sink { completion in … } receiveValue: { user in show(user) }
        public func value() -> AnyPublisher<Value, RequestError> {
            setFailureType(to: RequestError.self)
                .flatMap(maxPublishers: .max(1)) { $0.result.publisher }
                .eraseToAnyPublisher()
        }
    }

    /// A Combine publisher of a download's response, by the rules of ``DataResponsePublisher``.
    public typealias DownloadResponsePublisher<Value: Sendable> = DataResponsePublisher<Value>
#endif
