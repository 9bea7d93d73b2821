/// A stream of server-sent events that is kept up: when its connection is lost it is connected again, and goes on behind
/// the last event that was complete.
///
///     let events = await session.streamRequest(url).serverSentEvents()
///     for try await event in events { print(event.event, event.data) }
///
/// It ends when the server answers 204, and fails where another connection would fail as well: with a status other than
/// 200, another content type, or what is not the network's doing. Nothing runs but while the next event is awaited. Whoever
/// leaves the loop, or whose task is cancelled, ends everything at once, also during a pause; cancelling a request ends
/// the stream only while that request is its connection.
///
/// It can be iterated once, and starts its request itself: one that was started before makes it fail, with
/// `.alreadyStarted`.
public struct ServerSentEvents<Element: Sendable>: AsyncSequence, Sendable {
    let source: EventSource
    private let value: @Sendable (ServerSentEvent) throws -> Element

    init(_ source: EventSource, _ value: @escaping @Sendable (ServerSentEvent) throws -> Element) {
        self.source = source
        self.value = value
    }

    /// Where the stream stands.
    public var state: ServerSentEventsState { source.state }

    /// Where the stream stands, and then each change until it is closed; a slow reader is told the latest.
    public var states: AsyncStream<ServerSentEventsState> { source.follow() }

    public func makeAsyncIterator() -> Iterator { Iterator(reader: EventReader(source), value: value) }

    /// Reads the events, for one reader.
    public struct Iterator: AsyncIteratorProtocol {
        let reader: EventReader
        let value: @Sendable (ServerSentEvent) throws -> Element

        public func next() async throws -> Element? { try await reader.next(value) }
    }
}

/// Reads an event stream for whoever iterates it, and on that one's task: each step does what the reconnection says.
final class EventReader {
    private let source: EventSource
    private let isFirst: Bool
    /// What to do when another event is wanted.
    private var action: ServerSentEventsReconnection.Action
    private var connection: EventConnection?
    private var elements: ParsedElements<ServerSentEventParser>
    /// Why the last connection failed.
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

    /// Takes one step to more bytes; true if there is none any more.
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
