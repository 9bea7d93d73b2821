/// The values that a parser makes of a sequence of chunks.
///
/// It asks for a chunk when the last one is used up and the reader wants another value: nothing is read ahead, so a slow
/// reader slows the sender down. It ends with the first error. One of the base is thrown as it is; one of the parser is a
/// `RequestError` that says which element, counted from 1, was at fault.
public struct ParsedSequence<Base: AsyncSequence, Parser: StreamParser>: AsyncSequence where Base.Element == Data {
    public typealias Element = Parser.Output

    private let base: Base
    private let parser: Parser
    private let request: DataStreamRequest?

    init(_ base: Base, _ parser: Parser) {
        self.base = base
        self.parser = parser
        request = (base as? DataStream)?.request
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(base: base.makeAsyncIterator(), elements: ParsedElements(parser: parser, of: request))
    }

    /// Reads chunks and parses them, for one reader.
    public struct Iterator: AsyncIteratorProtocol {
        @usableFromInline var base: Base.AsyncIterator
        @usableFromInline var elements: ParsedElements<Parser>

        /// The next value, on the caller's actor.
        @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
        @inlinable
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Parser.Output? {
            while true {
                if let value = try elements.next() { return value }
                guard elements.isOpen else { return nil }
                do {
                    elements.receive(try await base.next(isolation: actor))
                } catch {
                    elements.close()
                    throw error
                }
            }
        }

        /// The next value. It leaves the caller's actor, as the base does on systems that know no other way.
        @inlinable
        @concurrent public mutating func next() async throws -> Parser.Output? {
            while true {
                if let value = try elements.next() { return value }
                guard elements.isOpen else { return nil }
                do {
                    elements.receive(try await base.next())
                } catch {
                    elements.close()
                    throw error
                }
            }
        }
    }
}

extension ParsedSequence: Sendable where Base: Sendable {}

/// The part of an iterator that does not wait: a chunk, how much of it is used, and the parser. It is compiled into the
/// caller's code as the iterator is: where it is not specialised, values that are small cost as much here as their parsing.
@usableFromInline
struct ParsedElements<Parser: StreamParser> {
    @usableFromInline
    enum Place { case open, ending, closed }

    @usableFromInline var parser: Parser
    /// Whose body it is, if it is a request's: for errors to say.
    @usableFromInline let request: DataStreamRequest?
    /// Raised when the request is cancelled.
    @usableFromInline let isCut: Flag?
    @usableFromInline var place = Place.open
    @usableFromInline var chunk = Data()
    @usableFromInline var used = 0
    @usableFromInline var count = 0

    init(parser: Parser, of request: DataStreamRequest? = nil) {
        self.parser = parser
        self.request = request
        isCut = request?.hub.isCut
    }

    /// Whether there can be another chunk.
    @inlinable var isOpen: Bool { place == .open }

    /// The next chunk; nil at the end.
    @inlinable
    mutating func receive(_ next: Data?) {
        chunk = next ?? Data()
        used = 0
        if next == nil { place = .ending }
    }

    @inlinable
    mutating func close() {
        place = .closed
        chunk = Data()
        used = 0
    }

    @inlinable
    mutating func next() throws -> Parser.Output? {
        if let isCut, place == .open, isCut.isRaised || Task.isCancelled {
            // The base says why there is no more: it has dropped what waited there.
            (chunk, used) = (Data(), 0)
            return nil
        }
        do {
            guard let value = try parsed() else { return nil }
            count += 1
            return value
        } catch {
            close()
            throw RequestError(parsing: error, ofElement: count + 1, of: request)
        }
    }

    @inlinable
    mutating func parsed() throws -> Parser.Output? {
        switch place {
        case .open:
            return try chunk.withUnsafeBytes { bytes in
                var rest = UnsafeRawBufferPointer(rebasing: bytes[used...])
                defer { used = bytes.count - rest.count }
                return try parser.next(in: &rest)
            }
        case .ending:
            close()
            return try parser.end()
        case .closed: return nil
        }
    }
}

extension RequestError {
    /// What a parser said about an element of a stream, counted from 1.
    @usableFromInline
    init(parsing error: any Error, ofElement number: Int, of request: DataStreamRequest?) {
        let error = RequestError(wrapping: error, as: .serializationFailed)
        let message = "element \(number) of the stream: \(error.message)"
        let parsing = RequestError(
            wrapping: RequestError(error.code, message, underlying: error.underlying), as: error.code,
            stage: .serializing)
        self = parsing.adding(factsOf: request)
    }

    /// The same error with what is known of the request whose body it is about.
    func adding(factsOf request: DataStreamRequest?) -> RequestError {
        guard let request else { return self }
        return adding(to: request.handle.core.read { $0.cancelledExchange }, requestID: nil)
    }
}

extension AsyncSequence where Element == Data {
    /// The values that the parser makes of the chunks.
    public func parsed<Parser: StreamParser>(by parser: Parser) -> ParsedSequence<Self, Parser> {
        ParsedSequence(self, parser)
    }

    /// The lines, without their ends: `\n` or `\r\n`. Empty ones count; after the last end there is no further line.
    public var lines: ParsedSequence<Self, LineParser> { parsed(by: LineParser()) }

    /// The lines, each of at most so many bytes.
    public func lines(maximumLength: Int) -> ParsedSequence<Self, LineParser> {
        parsed(by: LineParser(maximumLength: maximumLength))
    }

    /// The chunks as text, in which no character's bytes are torn apart. What is not UTF-8 becomes U+FFFD.
    public var strings: ParsedSequence<Self, TextParser> { parsed(by: TextParser()) }

    /// The events of a `text/event-stream`.
    ///
    ///     for try await event in chunks.serverSentEvents() { print(event.event, event.data) }
    public func serverSentEvents(
        maximumEventSize: Int = ServerSentEventParser.defaultMaximumEventSize
    ) -> ParsedSequence<Self, ServerSentEventParser> {
        parsed(by: ServerSentEventParser(maximumEventSize: maximumEventSize))
    }

    /// The messages, as they are framed.
    public func messages<Framing: MessageFraming>(framing: Framing) -> ParsedSequence<Self, Framing> {
        parsed(by: framing)
    }

    /// The messages as values of the caller's type.
    ///
    ///     for try await tick in chunks.decodables(of: Tick.self, framing: .jsonLines) { … }
    public func decodables<Value, Framing>(
        of type: Value.Type = Value.self, framing: Framing, decoder: any DataDecoder = JSONDecoder()
    ) -> ParsedSequence<Self, DecodingParser<Value, Framing>> {
        parsed(by: DecodingParser(framing: framing, decoder: decoder))
    }
}
