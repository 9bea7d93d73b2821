// The body as lines, texts, messages and events. As with `bytes`, each value is a reader of its own.

extension DataStreamRequest {
    /// The lines, without their ends: `\n` or `\r\n`.
    public var lines: ParsedSequence<DataStream, LineParser> { lines() }

    /// The lines, each of at most so many bytes.
    public func lines(
        maximumLength: Int = LineParser.defaultMaximumLength, automaticallyCancelling: Bool = true
    ) -> ParsedSequence<DataStream, LineParser> {
        bytes(automaticallyCancelling: automaticallyCancelling).lines(maximumLength: maximumLength)
    }

    /// The body as text while it comes, in which no character's bytes are torn apart.
    public var strings: ParsedSequence<DataStream, TextParser> { strings(automaticallyCancelling: true) }

    /// The same, with a word on whether leaving the loop cancels the request.
    public func strings(automaticallyCancelling: Bool) -> ParsedSequence<DataStream, TextParser> {
        bytes(automaticallyCancelling: automaticallyCancelling).strings
    }

    /// The messages, as they are framed.
    public func messages<Framing: MessageFraming>(
        framing: Framing, automaticallyCancelling: Bool = true
    ) -> ParsedSequence<DataStream, Framing> {
        bytes(automaticallyCancelling: automaticallyCancelling).messages(framing: framing)
    }

    /// The messages as values of the caller's type; nil takes the session's decoder.
    ///
    ///     for try await tick in await session.streamRequest(url).decodables(of: Tick.self, framing: .jsonLines) { … }
    public func decodables<Value, Framing>(
        of type: Value.Type = Value.self, framing: Framing, decoder: (any DataDecoder)? = nil,
        automaticallyCancelling: Bool = true
    ) -> ParsedSequence<DataStream, DecodingParser<Value, Framing>> {
        bytes(automaticallyCancelling: automaticallyCancelling)
            .decodables(of: type, framing: framing, decoder: decoder ?? self.decoder)
    }

    /// The events of a `text/event-stream`, on as many connections as it takes.
    ///
    ///     for try await event in await session.streamRequest(url).serverSentEvents() { print(event.event, event.data) }
    ///
    /// The request is the first connection. Each later one is a request of its own from the same source and with the same
    /// settings, so that adapters run again, and says by `Last-Event-ID` where it goes on. `Accept: text/event-stream` and
    /// `Cache-Control: no-cache` are sent unless the request has such fields itself. Validators, retriers and limits of time
    /// hold for each connection; the limit of silence on the way (`timeouts.idle`) gives way to the policy's.
    ///
    /// - Parameters:
    ///   - lastEventID: Where an earlier stream left off.
    ///   - maximumEventSize: In bytes; a larger event is a `.messageTooLarge`.
    public func serverSentEvents(
        policy: ServerSentEventsPolicy = ServerSentEventsPolicy(), lastEventID: String = "",
        maximumEventSize: Int = ServerSentEventParser.defaultMaximumEventSize
    ) -> ServerSentEvents<ServerSentEvent> {
        ServerSentEvents(EventSource(self, policy, lastEventID, maximumEventSize)) { $0 }
    }

    /// The same with each event's data as a value of the caller's type; nil takes the session's decoder. Data that is none
    /// ends the stream with `.decodingFailed`.
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
