/// The body of a request: none, bytes in memory, a file, or a stream that the transport pulls.
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum TransportBody: Sendable {
    /// No body.
    case none
    /// Bytes in memory.
    case data(Data)
    /// A file that is read while it is sent. `length` and `version` describe the file when the body was made. If the
    /// file has changed since then, the hop fails (T24 in `Transport`).
    case file(path: String, length: UInt64, version: TransportFileVersion? = nil)
    /// A stream whose bytes are pulled while they are sent.
    case stream(TransportBodySource)

    /// The number of bytes; nil if it is unknown until the end. A body without a length is sent in chunks.
    public var length: UInt64? {
        switch self {
        case .none: 0
        case .data(let data): UInt64(data.count)
        case .file(_, let length, _): length
        case .stream(let source): source.length
        }
    }

    /// Whether the same bytes can be read a second time: for a retry, a redirect that keeps the body, or a lost
    /// connection.
    public var isReplayable: Bool {
        switch self {
        case .none, .data, .file: true
        case .stream(let source): source.isReplayable
        }
    }

    /// The names of the fields that follow the body (trailers), as far as they are known; nil if no fields follow.
    package var trailerNames: [String]? {
        if case .stream(let source) = self { source.trailerNames } else { nil }
    }

    /// Whether fields follow the body (trailers).
    package var hasTrailers: Bool { trailerNames != nil }
}

/// The source of a streamed body. The source is opened each time that the body is sent.
public struct TransportBodySource: Sendable {
    /// The number of bytes; nil if it is unknown until the end.
    public let length: UInt64?
    /// Whether the source can be opened more than once.
    public let isReplayable: Bool
    /// The names of the fields that follow the body, as far as they are known in advance; nil if no fields follow. A
    /// body that fields follow has no length (T29 in `Transport`).
    public let trailerNames: [String]?
    /// Opens a stream that starts at the first byte. The closure is called a second time only if the source is
    /// replayable.
    public let open: @Sendable () -> any TransportBodyStream

    /// Creates a source that the closure opens.
    ///
    /// - Parameter trailerNames: The names of the fields that follow the body; nil if no fields follow. If the names
    ///   are not known in advance, pass an empty array. The body then has no length.
    public init(
        length: UInt64?, isReplayable: Bool, trailerNames: [String]? = nil,
        open: @escaping @Sendable () -> any TransportBodyStream
    ) {
        self.length = trailerNames == nil ? length : nil
        self.isReplayable = isReplayable
        self.trailerNames = trailerNames
        self.open = open
    }
}

/// A stream of bytes that a transport pulls on its own thread. The functions of a stream must not block.
public protocol TransportBodyStream: AnyObject, Sendable {
    /// Prepares the stream. The transport calls this function once, before the first `read`.
    ///
    /// After a read has returned `.pending`, the stream calls `wake` as soon as more bytes are available. It may call
    /// `wake` on any thread.
    func begin(wake: @escaping @Sendable () -> Void)

    /// Fills the buffer with the bytes that are available.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead

    /// The fields that follow the body. The transport reads this property once, after a read has returned `.end`, if
    /// the source has `trailerNames`. Empty by default.
    var trailers: [HTTPHeader] { get }

    /// Ends the stream. The transport calls this function once, when it will not read any more bytes.
    func end()
}

extension TransportBodyStream {
    public var trailers: [HTTPHeader] { [] }
}

/// The result of one read of a streamed body.
public enum TransportBodyRead: Sendable {
    /// The number of bytes that were written to the buffer: at least one, and at most the buffer's capacity. The
    /// transport does not read bytes beyond a declared length.
    case bytes(Int)
    /// No bytes are available yet; the stream will call `wake`.
    case pending
    /// The body has ended.
    case end
    /// The body cannot be read; the hop ends with `.bodyFailed` (T24 in `Transport`).
    case failed(any Error)
}
