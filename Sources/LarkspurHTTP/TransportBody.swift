/// The body of a request: none, bytes in memory, a file, or a stream that the transport pulls.
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum TransportBody: Sendable {
    /// No body.
    case none
    /// Bytes in memory.
    case data(Data)
    /// A file that is read while it is sent. Length and version are those at the time when the body was made. If the
    /// file has changed since then, it is not sent (T24 in `Transport`).
    case file(path: String, length: UInt64, version: TransportFileVersion? = nil)
    /// A stream whose bytes are pulled while they are sent.
    case stream(TransportBodySource)

    /// The number of bytes; nil if it is unknown until the end. The body is then sent in chunks.
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
}

/// The source of a streamed body. It is opened once for each time that the body is sent.
public struct TransportBodySource: Sendable {
    /// The number of bytes; nil if it is unknown until the end.
    public let length: UInt64?
    /// Whether the source can be opened more than once.
    public let isReplayable: Bool
    /// Opens a stream that starts at the first byte. It is called again only if the source is replayable.
    public let open: @Sendable () -> any TransportBodyStream

    /// Creates a source that the closure opens.
    public init(length: UInt64?, isReplayable: Bool, open: @escaping @Sendable () -> any TransportBodyStream) {
        self.length = length
        self.isReplayable = isReplayable
        self.open = open
    }
}

/// A stream of bytes that a transport pulls on its own thread. It never blocks.
public protocol TransportBodyStream: AnyObject, Sendable {
    /// Prepares the stream; called once, before the first `read`.
    ///
    /// The stream calls `wake`, from any thread, after a read returned `.pending` and more bytes are available.
    func begin(wake: @escaping @Sendable () -> Void)

    /// Fills the buffer with the bytes that are available.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead

    /// Ends the stream; called once, at its end or earlier, when nothing more will be read.
    func end()
}

/// The result of one read of a streamed body.
public enum TransportBodyRead: Sendable {
    /// The number of bytes in the buffer: at least one, at most the buffer's capacity. Bytes beyond a declared length
    /// are not read.
    case bytes(Int)
    /// No bytes are available yet; the stream will call `wake`.
    case pending
    /// The body has ended.
    case end
    /// The body cannot be read; the hop ends with `.bodyFailed` (T24 in `Transport`).
    case failed(any Error)
}
