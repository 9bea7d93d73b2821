extension DataStreamRequest {
    /// The body as a stream of Foundation's, for code that reads such: a parser, a decompressor, another's upload.
    ///
    ///     let stream = await session.streamRequest(url).validate().asInputStream()
    ///     Thread.detachNewThread { … stream.open() … stream.read(&buffer, maxLength: buffer.count) … }
    ///
    /// It is a reader like `bytes`: opening it starts the request, not reading stops the peer, and closing it, or letting go
    /// of it, cancels the request if it was the last reader. A read waits for bytes, on the caller's thread: leave it to a
    /// thread, because a task that blocks holds up the others. Where the body does not arrive whole it gives what has come,
    /// then -1, and `streamError` is what `bytes` would have thrown; after a cancel it gives nothing but -1. It is read, not scheduled: a run loop has no part in it.
    public func asInputStream() -> sending InputStream { BodyInputStream(bytes) }
}

/// Chunks as a stream of Foundation's. A task takes them, a quarter of a mebibyte ahead of the reader.
private final class BodyInputStream: InputStream {
    // Immutable
    private let pipe: BodyPipe
    private let isCut: Flag
    private let failure: Protected<(any Error)?>
    private let hasNews = DispatchSemaphore(value: 0)

    // The reader's thread only
    private var status = Status.notOpen
    private var error: (any Error)?

    init(_ chunks: DataStream) {
        let failure = Protected<(any Error)?>(nil)
        self.failure = failure
        isCut = chunks.request.hub.isCut
        pipe = BodyPipe(length: nil) { pipe in
            // The one task of an open stream: somebody has to wait for the chunks. The pipe is not told of a failure, or it
            // would drop what waits in it.
            let producer = Task {
                do { try await pipe.pump(chunks) } catch { failure.withLock { $0 = error } }
                pipe.finish()
            }
            return { producer.cancel() }
        }
        super.init(data: Data())  // which is never read
    }

    deinit { pipe.end() }

    override var streamStatus: Status { status }
    override var streamError: (any Error)? { error }
    /// Whether there are any, only a read can say.
    override var hasBytesAvailable: Bool { status == .open }

    override func open() {
        guard status == .notOpen else { return }
        status = .open
        pipe.begin { [hasNews] in _ = hasNews.signal() }
    }

    override func close() {
        status = .closed
        pipe.end()
    }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
        while status == .open, maxLength > 0 {
            if isCut.isRaised {
                end(CancellationError())
                break
            }
            switch pipe.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: maxLength)) {
            case .bytes(let count): return count
            case .pending: hasNews.wait()
            case .end: end(failure.withLock { $0 })
            case .failed(let error): end(error)
            }
        }
        return status == .open || status == .atEnd ? 0 : -1
    }

    private func end(_ error: (any Error)?) {
        self.error = error
        status = error == nil ? .atEnd : .error
    }

    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length: UnsafeMutablePointer<Int>
    ) -> Bool { false }

    override func schedule(in runLoop: RunLoop, forMode mode: RunLoop.Mode) {}
    override func remove(from runLoop: RunLoop, forMode mode: RunLoop.Mode) {}
}
