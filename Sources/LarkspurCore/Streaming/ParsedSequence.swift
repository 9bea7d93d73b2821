/// The values that a parser reads from a sequence of chunks.
///
/// The sequence requests a chunk only when all bytes of the last chunk are parsed and the reader requests another
/// value. So a slow reader slows the sender down. The sequence ends with the first error. Errors of the base sequence
/// are thrown unchanged. An error of the parser becomes a ``RequestError`` with the number of the element that could
/// not be parsed, counted from 1.
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

    /// The iterator of a parsed sequence, for one reader.
    public struct Iterator: AsyncIteratorProtocol {
        @usableFromInline var base: Base.AsyncIterator
        @usableFromInline var elements: ParsedElements<Parser>

        /// Returns the next value, on the caller's actor.
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

        /// Returns the next value. This function does not run on the caller's actor, because on older systems the base
        /// sequence cannot run there.
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

/// The part of an iterator that does not wait: the parser, the current chunk, and the number of parsed bytes in that
/// chunk. This type is inlinable like the iterator, because unspecialized code would double the cost of small values.
@usableFromInline
struct ParsedElements<Parser: StreamParser> {
    @usableFromInline
    enum Place { case open, ending, closed }

    @usableFromInline var parser: Parser
    /// The request whose body is parsed; nil for other chunks. The head and the attempts of the request's exchange are
    /// added to errors.
    @usableFromInline let request: DataStreamRequest?
    /// The flag that is raised when the request is cancelled; nil without a request.
    @usableFromInline let isCut: AtomicFlag?
    @usableFromInline var place = Place.open
    @usableFromInline var chunk = Data()
    @usableFromInline var used = 0
    @usableFromInline var count = 0
    /// The interval of the values that monitors are told about; 0 if they are told about none.
    @usableFromInline let interval: Int

    init(parser: Parser, of request: DataStreamRequest? = nil) {
        self.parser = parser
        self.request = request
        isCut = request?.hub.isCut
        interval = request?.parsingInterval ?? 0
    }

    /// Returns whether further chunks can follow.
    @inlinable var isOpen: Bool { place == .open }

    /// Stores the next chunk. Nil means that no further chunk follows.
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
            // The rest of the current chunk is dropped. The base sequence has dropped its waiting chunks too, and its
            // next call throws the reason of the cancel.
            (chunk, used) = (Data(), 0)
            return nil
        }
        do {
            guard let value = try parsed() else { return nil }
            count += 1
            if interval > 0, count % interval == 0 { request?.tell(of: count, Parser.Output.self) }
            return value
        } catch {
            close()
            let error = RequestError(parsing: error, ofElement: count + 1, of: request)
            if interval > 0 { request?.tell(of: count + 1, Parser.Output.self, error) }
            throw error
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
    /// Creates the error of a parser, with the number of the element, counted from 1.
    @usableFromInline
    init(parsing error: any Error, ofElement number: Int, of request: DataStreamRequest?) {
        let error = RequestError(wrapping: error, as: .serializationFailed)
        let message = "element \(number) of the stream: \(error.message)"
        let parsing = RequestError(
            wrapping: RequestError(error.code, message, underlying: error.underlying), as: error.code,
            stage: .serializing)
        self = parsing.adding(factsOf: request)
    }

    /// Returns the error with the head and the attempts of the request whose body was read.
    func adding(factsOf request: DataStreamRequest?) -> RequestError {
        guard let request else { return self }
        return adding(to: request.handle.core.read { $0.cancelledExchange }, requestID: nil)
    }
}

extension AsyncSequence where Element == Data {
    /// Returns the values that the parser reads from the chunks.
    public func parsed<Parser: StreamParser>(by parser: Parser) -> ParsedSequence<Self, Parser> {
        ParsedSequence(self, parser)
    }

    /// The lines, without their ends `\n` or `\r\n`. Empty lines are included. If the stream ends with a line end, no
    /// empty line follows.
    public var lines: ParsedSequence<Self, LineParser> { parsed(by: LineParser()) }

    /// Returns the lines.
    ///
    /// - Parameter maximumLength: The maximum length of a line in bytes.
    public func lines(maximumLength: Int) -> ParsedSequence<Self, LineParser> {
        parsed(by: LineParser(maximumLength: maximumLength))
    }

    /// The chunks as text. A character is never split. Bytes that are not UTF-8 become U+FFFD.
    public var strings: ParsedSequence<Self, TextParser> { parsed(by: TextParser()) }

    /// Returns the events of a `text/event-stream`.
    ///
    ///     for try await event in chunks.serverSentEvents() { print(event.event, event.data) }
    public func serverSentEvents(
        maximumEventSize: Int = ServerSentEventParser.defaultMaximumEventSize
    ) -> ParsedSequence<Self, ServerSentEventParser> {
        parsed(by: ServerSentEventParser(maximumEventSize: maximumEventSize))
    }

    /// Returns the messages of the framing.
    public func messages<Framing: MessageFraming>(framing: Framing) -> ParsedSequence<Self, Framing> {
        parsed(by: framing)
    }

    /// Returns the messages of the framing, decoded as values of a type.
    ///
    ///     for try await tick in chunks.decodables(of: Tick.self, framing: .jsonLines) { … }
    public func decodables<Value, Framing>(
        of type: Value.Type = Value.self, framing: Framing, decoder: any DataDecoder = JSON.Decoder()
    ) -> ParsedSequence<Self, DecodingParser<Value, Framing>> {
        parsed(by: DecodingParser(framing: framing, decoder: decoder))
    }
}
