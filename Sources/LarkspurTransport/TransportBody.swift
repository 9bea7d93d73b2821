/// The body of a request: nothing, bytes, a file, or a stream that is pulled.
public enum TransportBody: Sendable {
    /// No body.
    case none
    /// Bytes in memory.
    case data(Data)
    /// Read from disk while it is sent. Length and version are what the file had when the body was made; a file that is
    /// another one by now is not sent (T24).
    case file(path: String, length: UInt64, version: TransportFileVersion? = nil)
    /// Bytes that are pulled while they are sent.
    case stream(TransportBodySource)

    /// A part of a file; the file as a whole has to be the one it was (T24).
    package static func file(
        path: String, length: UInt64, version: TransportFileVersion, range: Range<UInt64>
    ) -> TransportBody {
        if range.isEmpty { return .none }
        return .stream(
            TransportBodySource(length: range.upperBound - range.lowerBound, isReplayable: true) {
                TransportFileStream(path: path, length: length, version: version, range: range)
            })
    }

    /// The number of bytes, or nil if nobody knows before the end (the body is then sent in chunks).
    public var length: UInt64? {
        switch self {
        case .none: 0
        case .data(let data): UInt64(data.count)
        case .file(_, let length, _): length
        case .stream(let source): source.length
        }
    }

    /// Whether the same bytes can be had a second time: for a retry, a redirect that keeps the body, a lost connection.
    public var isReplayable: Bool {
        switch self {
        case .none, .data, .file: true
        case .stream(let source): source.isReplayable
        }
    }

    /// The body's bytes from the first one on.
    package func open() -> any TransportBodyStream {
        switch self {
        case .none: TransportDataStream(Data())
        case .data(let data): TransportDataStream(data)
        case .file(let path, let length, let version): TransportFileStream(path: path, length: length, version: version)
        case .stream(let source): source.open()
        }
    }
}

/// Where a streamed body comes from: opened once for each time that it is sent.
public struct TransportBodySource: Sendable {
    /// Nil if nobody knows before the end.
    public let length: UInt64?
    /// Whether it can be opened more than once.
    public let isReplayable: Bool
    /// Gives the stream from the first byte on; called again only if the source is replayable.
    public let open: @Sendable () -> any TransportBodyStream

    /// A source that the closure opens.
    public init(length: UInt64?, isReplayable: Bool, open: @escaping @Sendable () -> any TransportBodyStream) {
        self.length = length
        self.isReplayable = isReplayable
        self.open = open
    }
}

/// Bytes that a transport pulls on its own thread; never blocks.
public protocol TransportBodyStream: AnyObject, Sendable {
    /// Called once, before the first `read`: `wake` is to be called, from any thread, when a read that was answered
    /// with `.pending` would now give something.
    func begin(wake: @escaping @Sendable () -> Void)

    /// Fills the buffer with what is there.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead

    /// Called once, when no more will be read, at the end or before.
    func end()
}

/// What one read of a streamed body gave.
public enum TransportBodyRead: Sendable {
    /// So many bytes stand in the buffer: at least one, at most as many as fit. Beyond a declared length none are read.
    case bytes(Int)
    /// Nothing yet: the stream will call `wake`.
    case pending
    /// That was all.
    case end
    /// The body cannot be had; ends the hop with `.bodyFailed` (T24).
    case failed(any Error)
}
