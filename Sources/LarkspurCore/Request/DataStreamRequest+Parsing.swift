// The body as lines, texts, messages and events. As with `bytes`, each returned sequence is a separate reader.

extension DataStreamRequest {
    /// The body's lines, without their line ends `\n` or `\r\n`.
    ///
    ///     for try await line in await session.streamRequest(url).lines { print(line) }
    ///
    /// A line may have at most ``LineParser/defaultMaximumLength`` bytes;
    /// ``lines(maximumLength:automaticallyCancelling:)`` changes the limit.
    public var lines: ParsedSequence<DataStream, LineParser> { bytes.lines }

    /// Returns the body's lines, like ``lines``, with another limit. `bytes(automaticallyCancelling: false).lines` has
    /// the limit of ``lines``.
    ///
    /// - Parameters:
    ///   - maximumLength: The maximum length of a line in bytes. A longer line throws `.messageTooLarge`.
    ///   - automaticallyCancelling: Whether the request is cancelled when it has no reader any more.
    public func lines(
        maximumLength: Int, automaticallyCancelling: Bool = true
    ) -> ParsedSequence<DataStream, LineParser> {
        bytes(automaticallyCancelling: automaticallyCancelling).lines(maximumLength: maximumLength)
    }

    /// The body as text, piece by piece. A character is never split between two pieces.
    public var strings: ParsedSequence<DataStream, TextParser> { strings(automaticallyCancelling: true) }

    /// Returns the body as text, piece by piece. A character is never split between two pieces.
    ///
    /// - Parameter automaticallyCancelling: Whether the request is cancelled when it has no reader any more.
    public func strings(automaticallyCancelling: Bool) -> ParsedSequence<DataStream, TextParser> {
        bytes(automaticallyCancelling: automaticallyCancelling).strings
    }

    /// Returns the body's messages as bytes.
    ///
    /// - Parameters:
    ///   - framing: The format that separates the messages, such as `.jsonLines`.
    ///   - automaticallyCancelling: Whether the request is cancelled when it has no reader any more.
    public func messages<Framing: MessageFraming>(
        framing: Framing, automaticallyCancelling: Bool = true
    ) -> ParsedSequence<DataStream, Framing> {
        bytes(automaticallyCancelling: automaticallyCancelling).messages(framing: framing)
    }

    /// Returns the body's messages, decoded as values of a type.
    ///
    ///     for try await tick in await session.streamRequest(url).decodables(of: Tick.self, framing: .jsonLines) { … }
    ///
    /// - Parameters:
    ///   - type: The type of the values.
    ///   - framing: The format that separates the messages, such as `.jsonLines`.
    ///   - decoder: The decoder; nil uses the session's decoder.
    ///   - automaticallyCancelling: Whether the request is cancelled when it has no reader any more.
    public func decodables<Value, Framing>(
        of type: Value.Type = Value.self, framing: Framing, decoder: (any DataDecoder)? = nil,
        automaticallyCancelling: Bool = true
    ) -> ParsedSequence<DataStream, DecodingParser<Value, Framing>> {
        bytes(automaticallyCancelling: automaticallyCancelling)
            .decodables(of: type, framing: framing, decoder: decoder ?? self.decoder)
    }

    /// Returns the server-sent events of the body (`text/event-stream`), and reconnects when the connection is lost.
    ///
    ///     let events = await session.streamRequest(url).serverSentEvents()
    ///     for try await event in events { print(event.event, event.data) }
    ///
    /// This request makes the first connection. Each later connection is made by a new request from the same source and
    /// with the same settings, so adapters run again. Its `Last-Event-ID` field tells the server where to continue. The
    /// fields `Accept: text/event-stream` and `Cache-Control: no-cache` are sent unless the request already has these
    /// fields.
    ///
    /// Validators, retriers and the request's timeouts apply to each connection. The policy's `idleTimeout` replaces
    /// ``RequestTimeouts/idle``.
    ///
    /// - Parameters:
    ///   - policy: The rules for reconnecting.
    ///   - lastEventID: The identifier of the last event of an earlier stream; empty by default.
    ///   - maximumEventSize: The maximum size of an event in bytes. A larger event throws `.messageTooLarge`.
    public func serverSentEvents(
        policy: ServerSentEventsPolicy = ServerSentEventsPolicy(), lastEventID: String = "",
        maximumEventSize: Int = ServerSentEventParser.defaultMaximumEventSize
    ) -> ServerSentEvents<ServerSentEvent> {
        ServerSentEvents(EventSource(self, policy, lastEventID, maximumEventSize)) { $0 }
    }

    /// Returns the server-sent events with their data decoded as values of a type.
    ///
    /// If the data of an event cannot be decoded, the stream ends with `.decodingFailed`. In all other respects this
    /// method works like ``serverSentEvents(policy:lastEventID:maximumEventSize:)``.
    ///
    /// - Parameters:
    ///   - type: The type of the values.
    ///   - decoder: The decoder; nil uses the session's decoder.
    ///   - policy: The rules for reconnecting.
    ///   - lastEventID: The identifier of the last event of an earlier stream; empty by default.
    ///   - maximumEventSize: The maximum size of an event in bytes. A larger event throws `.messageTooLarge`.
    public func serverSentEvents<Value: Decodable & Sendable>(
        of type: Value.Type, decoder: (any DataDecoder)? = nil,
        policy: ServerSentEventsPolicy = ServerSentEventsPolicy(), lastEventID: String = "",
        maximumEventSize: Int = ServerSentEventParser.defaultMaximumEventSize
    ) -> ServerSentEvents<Value> {
        let decoder = decoder ?? self.decoder
        return ServerSentEvents(EventSource(self, policy, lastEventID, maximumEventSize)) {
            try $0.decode(type, decoder: decoder)
        }
    }

    var decoder: any DataDecoder { handle.core.context.configuration.decoder }
}
