#if Foundation || canImport(Darwin)
    extension DataStreamRequest {
        /// Writes the body to a Foundation stream as it arrives, and returns the number of bytes.
        ///
        ///     let count = try await session.streamRequest(url).validate().write(to: stream)
        ///
        /// A separate thread writes the chunks, because a Foundation stream blocks the thread that writes. While that
        /// thread is blocked, the server waits (back pressure). The method opens the stream if it is not open, and
        /// closes it at the end. If the stream fails or accepts no more bytes, the method throws `.receivingFailed`,
        /// and cancels the request if the request has no other reader.
        @discardableResult
        public func write(to stream: sending OutputStream) async throws -> UInt64 {
            let writer = StreamWriter(stream)
            var count: UInt64 = 0
            do {
                for try await chunk in bytes {
                    try await writer.perform(.write(chunk))
                    count += UInt64(chunk.count)
                }
            } catch {
                try? await writer.perform(.close)
                throw error
            }
            try await writer.perform(.close)
            return count
        }
    }

    /// A thread that writes to a stream. The job `close` ends the thread, and must be performed once, as the last job.
    private final class StreamWriter: Sendable {
        enum Job: Sendable { case write(Data), close }

        private typealias Waiter = Continuation<Result<Void, RequestError>>

        private let work = Protected<(job: Job, waiter: Waiter)?>(nil)
        private let hasWork = DispatchSemaphore(value: 0)

        init(_ stream: sending OutputStream) {
            let once = OnceOnly(stream)
            let thread = Thread { [self] in
                guard let stream = try? once.take() else { return }
                run(stream)
            }
            thread.name = "Larkspur stream"
            thread.start()
        }

        /// Performs the job on the thread, and waits until the job is done. Only one task may call this method at a
        /// time.
        func perform(_ job: Job) async throws {
            let result: Result<Void, RequestError> = await suspended { waiter in
                work.withLock { $0 = (job, waiter) }
                hasWork.signal()
            }
            try result.get()
        }

        private func run(_ stream: OutputStream) {
            if stream.streamStatus == .notOpen { stream.open() }
            while true {
                hasWork.wait()
                guard let (job, waiter) = work.withLock({ $0.take() }) else { continue }
                switch job {
                case .write(let bytes): waiter.resume(returning: Self.write(bytes, to: stream))
                case .close:
                    stream.close()
                    return waiter.resume(returning: .success(()))
                }
            }
        }

        private static func write(_ bytes: Data, to stream: OutputStream) -> Result<Void, RequestError> {
            bytes.withUnsafeBytes { buffer in
                var rest = buffer.bindMemory(to: UInt8.self)
                while !rest.isEmpty {
                    guard let start = rest.baseAddress, case let count = stream.write(start, maxLength: rest.count),
                        count > 0
                    else {
                        let error = stream.streamError
                        let reason = error.map { "\($0)" } ?? "it accepts no more bytes"
                        let problem = "the body could not be written to the output stream: \(reason)"
                        return .failure(RequestError(.receivingFailed, problem, underlying: error))
                    }
                    rest = UnsafeBufferPointer(rebasing: rest[count...])
                }
                return .success(())
            }
        }
    }
#endif
