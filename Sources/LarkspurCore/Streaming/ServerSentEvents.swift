/// A stream of server-sent events with automatic reconnection. A new connection continues after the last complete
/// event.
///
///     let events = await session.streamRequest(url).serverSentEvents()
///     for try await event in events { print(event.event, event.data) }
///
/// The stream ends when the server answers with status 204. The stream fails if another connection would fail too:
/// after a status other than 200, another content type, or an error that is not a network error. The stream reads and
/// reconnects only while the caller awaits the next event. Leaving the loop or cancelling its task ends the stream at
/// once, also during a pause. Each connection is a separate request. Cancelling a request ends the stream only if the
/// stream is currently reading from that request.
///
/// The stream can be iterated once. Iterating it starts the request. If the request was already started before,
/// iterating the stream fails with `.alreadyStarted`.
public struct ServerSentEvents<Element: Sendable>: AsyncSequence, Sendable {
    let source: EventSource
    private let value: @Sendable (ServerSentEvent) throws -> Element

    init(_ source: EventSource, _ value: @escaping @Sendable (ServerSentEvent) throws -> Element) {
        self.source = source
        self.value = value
    }

    /// The current state of the stream.
    public var state: ServerSentEventsState { source.state }

    /// The current state, and then each new state until the stream is closed. A slow reader gets only the latest state.
    public var states: AsyncStream<ServerSentEventsState> { source.follow() }

    public func makeAsyncIterator() -> Iterator { Iterator(reader: EventReader(source), value: value) }

    /// The iterator of an event stream, for one reader.
    public struct Iterator: AsyncIteratorProtocol {
        let reader: EventReader
        let value: @Sendable (ServerSentEvent) throws -> Element

        public func next() async throws -> Element? { try await reader.next(value) }
    }
}

/// A reader of an event stream, which works on the task that iterates the stream. Each step performs the next action of
/// the reconnection.
final class EventReader {
    private let source: EventSource
    private let isFirst: Bool
    /// The next action to perform when the caller requests another event.
    private var action: ServerSentEventsReconnection.Action
    private var connection: EventConnection?
    private var elements: ParsedElements<ServerSentEventParser>
    /// The error of the last connection; nil if that connection ended normally.
    private var failure: RequestError?

    init(_ source: EventSource) {
        self.source = source
        isFirst = source.claim()
        action = isFirst ? source.handle(.started) : .finish(EventSource.alreadyIterated)
        elements = ParsedElements(parser: source.parser)
    }

    deinit { if isFirst { _ = source.handle(.cancelled) } }

    func next<Value>(_ value: (ServerSentEvent) throws -> Value) async throws -> Value? {
        do {
            while true {
                if let event = try elements.next() { return try value(event) }
                if try await isOver() { return nil }
            }
        } catch {
            let error = (error as? RequestError)?.adding(factsOf: connection?.request) ?? error
            connection = nil
            elements.close()
            if isFirst {
                let problem = error as? RequestError ?? RequestError(wrapping: error, as: .decodingFailed)
                _ = source.handle(error is CancellationError ? .cancelled : .refused(problem))
            }
            action = .finish(nil)
            throw error
        }
    }

    /// Performs one action. Returns true at the end of the stream.
    private func isOver() async throws -> Bool {
        switch action {
        case .connect(let fields):
            connection = try await source.connect(fields)
            elements = ParsedElements(parser: source.parser, of: connection?.request)
            action = .read
        case .read, .none: try await read()
        case .wait(let pauses):
            let delay = source.random.duration(in: pauses)
            if let connection { failure = failure?.adding(factsOf: connection.request) }
            source.tellInterruption(failure, delay: delay)
            connection = nil
            try await source.clock.sleep(for: delay)
            action = source.didWait(after: failure)
        case .finish(let error):
            connection = nil
            if let error { throw error }
            return true
        }
        return false
    }

    private func read() async throws {
        do {
            if let bytes = try await connection?.next() {
                elements.receive(bytes)
                action = source.handle(.receivedBytes)
                return
            }
            failure = nil
        } catch let error as RequestError {
            failure = error
        }
        action = source.lose(elements.parser, failure)
    }
}

extension ServerSentEvents: CustomReflectable {
    /// A mirror without the stream's request.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
