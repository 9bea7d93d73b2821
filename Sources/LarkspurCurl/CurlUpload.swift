/// The body of a request while libcurl pulls it.
final class CurlUpload {
    enum Read {
        case bytes(Int)
        /// The stream has nothing yet, and will wake the transfer.
        case pending
        case failed(TransportError)
    }

    private let body: TransportBody
    private let wake: @Sendable () -> Void
    /// Opened when libcurl asks for the first byte, which is not before the peer is trusted.
    private var stream: (any TransportBodyStream)?
    private var hasEnded = false
    /// How many bytes libcurl has taken since the body was begun.
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

    /// Goes back to the first byte; a stream that was used is asked for anew (T20). False if it cannot be had.
    func rewind(_ ask: (TransportQuestion) -> Void) -> Bool {
        guard position > 0 || hasEnded else { return true }
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

    /// Called once, when no more will be read.
    func end() { stream?.end() }
}
