#if Foundation || canImport(Darwin)
    extension DataStreamRequest {
        /// Returns the body as a Foundation stream, for code that needs one: a parser, a decompressor, another upload.
        ///
        ///     let stream = await session.streamRequest(url).validate().asInputStream()
        ///     Thread.detachNewThread { … stream.open() … stream.read(&buffer, maxLength: buffer.count) … }
        ///
        /// The stream is a reader like ``bytes``. Opening the stream starts the request. While nothing is read from the
        /// stream, the server waits. Closing or releasing the stream cancels the request if the request has no other
        /// reader.
        ///
        /// `read` blocks the calling thread until bytes arrive. Call `read` on a dedicated thread, because a blocked
        /// task delays other tasks. Scheduling the stream in a run loop has no effect.
        ///
        /// If the body is incomplete, `read` returns the bytes that have arrived, and after them -1. `streamError` is
        /// then the error that ``bytes`` would throw. After a cancellation `read` returns only -1.
        public func asInputStream() -> sending InputStream { BodyInputStream(bytes) }
    }

    /// A Foundation stream of a body's chunks. A task reads the chunks, at most 256 KiB ahead of the code that reads
    /// the stream.
    private final class BodyInputStream: InputStream {
        // Immutable
        private let pipe: BodyPipe
        private let isCut: AtomicFlag
        private let failure: Protected<(any Error)?>
        /// Signalled when the pipe has bytes, or has ended.
        private let isReadable = DispatchSemaphore(value: 0)

        // Used only on the thread that reads the stream
        private var status = Status.notOpen
        private var error: (any Error)?

        init(_ chunks: DataStream) {
            let failure = Protected<(any Error)?>(nil)
            self.failure = failure
            isCut = chunks.request.hub.isCut
            pipe = BodyPipe(length: nil) { pipe in
                // This task only reads the chunks into the pipe. It does not report a failure to the pipe, because the
                // pipe would then discard its buffered bytes.
                let producer = Task {
                    do { try await pipe.pump(chunks) } catch { failure.withLock { $0 = error } }
                    pipe.finish()
                }
                return { producer.cancel() }
            }
            super.init(data: Data())  // required by the superclass; never read
        }

        deinit { pipe.end() }

        override var streamStatus: Status { status }
        override var streamError: (any Error)? { error }
        /// True while the stream is open. Foundation allows true if only a call of `read` can show whether there are
        /// bytes.
        override var hasBytesAvailable: Bool { status == .open }

        override func open() {
            guard status == .notOpen else { return }
            status = .open
            pipe.begin { [isReadable] in _ = isReadable.signal() }
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
                case .pending: isReadable.wait()
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
#endif
