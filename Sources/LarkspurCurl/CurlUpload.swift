/// The body of a request, which libcurl reads piece by piece.
final class CurlUpload {
    enum Read {
        case bytes(Int)
        /// The stream has no bytes now. It wakes the transfer when it has more bytes.
        case pending
        case failed(TransportError)
    }

    private let body: TransportBody
    private let wake: @Sendable () -> Void
    /// The open stream; nil until libcurl asks for the first byte. libcurl does so only after the peer is trusted.
    private var stream: (any TransportBodyStream)?
    private var hasEnded = false
    /// The number of bytes that libcurl has read since the start of the body.
    private(set) var position: UInt64 = 0

    init(_ body: TransportBody, wake: @escaping @Sendable () -> Void) {
        self.body = body
        self.wake = wake
    }

    private func openStream() -> any TransportBodyStream {
        if let stream { return stream }
        let opened = body.open()
        stream = opened
        opened.begin(wake: wake)
        return opened
    }

    /// Whether libcurl has asked for the fields after the body. It can send them only once with a handle.
    private var hasSentTrailers = false

    /// Returns the fields to send after the body.
    func takeTrailers() -> [HTTPHeader] {
        hasSentTrailers = true
        return stream?.trailers ?? []
    }

    var isOver: Bool { body.length.map { position >= $0 } ?? hasEnded }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Read {
        let left = body.length.map { Int(clamping: $0 - position) } ?? .max
        let buffer = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(left))
        switch buffer.isEmpty ? .end : openStream().read(into: buffer) {
        case .bytes(let count) where (1...buffer.count).contains(count):
            position += UInt64(count)
            return .bytes(count)
        case .bytes(let count):
            return .failed(.bodyFailed("the body's stream claims to have given \(count) bytes"))
        case .pending:
            return .pending
        case .end:
            hasEnded = true
            guard let length = body.length, position < length else { return .bytes(0) }
            return .failed(.bodyFailed("the body ended after \(position) of \(length) bytes"))
        case .failed(let error as TransportError) where error.code == .bodyFailed:
            return .failed(error)
        case .failed(let error):
            return .failed(.bodyFailed("the body's stream failed", error))
        }
    }

    /// Goes back to the first byte. If the body is a stream that was already read, asks the delegate for a fresh stream
    /// (T20 in `Transport`). Returns false if the delegate has no fresh stream.
    func rewind(_ ask: (TransportQuestion) -> Void) -> Bool {
        guard position > 0 || hasEnded else { return true }
        if hasSentTrailers { return false }
        let fresh: any TransportBodyStream
        if case .stream = body {
            let reply = TransportReply<any TransportBodyStream>()
            ask(.bodyFromStart(offset: position, reply))
            guard let answer = reply.value else { return false }
            fresh = answer
        } else {
            fresh = body.open()
        }
        stream?.end()
        stream = fresh
        fresh.begin(wake: wake)
        position = 0
        hasEnded = false
        return true
    }

    /// Ends the stream. The transfer calls this function once, after the last read.
    func end() { stream?.end() }
}
