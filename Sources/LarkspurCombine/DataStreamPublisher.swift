#if canImport(Combine)
    import Combine
    import Dispatch

    /// A Combine publisher of a stream: its values and one completion as ``DataStreamRequest/Stream`` elements, then
    /// the end.
    ///
    ///     let request = await session.streamRequest(url)
    ///     request.publishDecodable(type: Tick.self, framing: .jsonLines).sink { stream in
    ///         switch stream.event {
    ///         case .stream(let result): show(result)
    ///         case .complete(let completion): print(completion.error ?? "done")
    ///         }
    ///     }.store(in: &cancellables)
    ///
    /// Nothing is sent before a subscription. Subscribing attaches a reader and starts the request, even if it is
    /// suspended or does not start automatically. Elements are delivered on the queue that the publisher was made with,
    /// as many as the subscriber demands. While it demands none, the server waits (back pressure). Cancelling the
    /// subscription before the completion arrives cancels the request with all its readers.
    ///
    /// Each subscription is a reader of its own, and gets the values that arrive after it was made.
    public struct DataStreamPublisher<Value: Sendable>: Publisher, Sendable {
        public typealias Output = DataStreamRequest.Stream<Value>
        public typealias Failure = Never

        private let request: DataStreamRequest
        private let queue: DispatchQueue
        private let start: @Sendable (SubscriptionCore<DataStreamRequest.Stream<Value>>) -> Void

        /// Creates a publisher of the values that a parser reads from the body.
        ///
        /// - Parameters:
        ///   - request: The request.
        ///   - queue: The queue on which subscribers receive the elements.
        ///   - parser: The parser.
        public init<Parser: StreamParser>(_ request: DataStreamRequest, queue: DispatchQueue, parser: Parser)
        where Parser.Output == Value {
            self.init(request, queue) { request.responseStream(using: parser, stream: $0) }
        }

        fileprivate init(
            _ request: DataStreamRequest, _ queue: DispatchQueue,
            attaching attach: @escaping @Sendable (@escaping DataStreamRequest.Handler<Value>) -> DataStreamRequest
        ) {
            self.request = request
            self.queue = queue
            start = { request.send(eventsTo: $0, attaching: attach) }
        }

        public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
            SubscriptionCore.subscribe(subscriber, to: request, on: queue, start: start)
        }

        /// Returns a publisher of the stream's values and errors. If the request fails, its error is the last element.
        public func result() -> AnyPublisher<Result<Value, RequestError>, Never> {
            compactMap { stream in
                switch stream.event {
                case .stream(let result): result
                case .complete(let completion): completion.error.map { .failure($0) }
                }
            }
            .eraseToAnyPublisher()
        }

        /// Returns a publisher of the stream's values, which fails with the first error and then cancels the request.
        public func value() -> AnyPublisher<Value, RequestError> {
            result().setFailureType(to: RequestError.self)
                .flatMap(maxPublishers: .max(1)) { $0.publisher }
                .eraseToAnyPublisher()
        }
    }

    extension DataStreamRequest {
        /// Returns a publisher of the values that a parser reads from the body: lines, events or messages.
        ///
        ///     request.publishStream(using: LineParser()).sink { stream in … }
        ///
        /// - Parameters:
        ///   - parser: The parser.
        ///   - queue: The queue on which subscribers receive the elements; the main queue by default.
        public func publishStream<Parser: StreamParser>(
            using parser: Parser, on queue: DispatchQueue = .main
        ) -> DataStreamPublisher<Parser.Output> {
            DataStreamPublisher(self, queue: queue, parser: parser)
        }

        /// Returns a publisher of the body, chunk by chunk.
        public func publishData(queue: DispatchQueue = .main) -> DataStreamPublisher<Data> {
            DataStreamPublisher(self, queue) { self.responseStream(stream: $0) }
        }

        /// Returns a publisher of the body as text. A character is never split between two texts.
        public func publishString(queue: DispatchQueue = .main) -> DataStreamPublisher<String> {
            DataStreamPublisher(self, queue) { self.responseStreamString(stream: $0) }
        }

        /// Returns a publisher of the body's messages, decoded as values of a type. A message that cannot be decoded is
        /// a failure in the stream, which continues with the next message.
        ///
        /// - Parameters:
        ///   - type: The type of the values.
        ///   - framing: The format that separates the messages, such as `.jsonLines`.
        ///   - queue: The queue on which subscribers receive the elements; the main queue by default.
        ///   - decoder: The decoder; nil uses the session's decoder.
        public func publishDecodable<Value: Decodable & Sendable, Framing: MessageFraming>(
            type: Value.Type = Value.self, framing: Framing, queue: DispatchQueue = .main,
            decoder: (any DataDecoder)? = nil
        ) -> DataStreamPublisher<Value> {
            DataStreamPublisher(self, queue) {
                self.responseStreamDecodable(of: type, framing: framing, decoder: decoder, stream: $0)
            }
        }
    }
#endif
