#if Foundation || canImport(Darwin)
    extension TransportBody {
        /// Returns a body with the bytes of a Foundation stream. The body can be sent only once.
        ///
        /// A read of such a stream blocks its thread, so each send of the body uses a thread of its own. Without a
        /// length, the body is sent in chunks. With a length, the stream must have exactly that many bytes, or the
        /// request fails.
        public static func inputStream(_ stream: sending InputStream, length: UInt64? = nil) -> TransportBody {
            let once = OnceOnly(stream)
            return read(length, isReplayable: false) { try once.take() }
        }

        /// Returns a body that calls the closure for a new stream each time the body is sent. The closure runs on the
        /// thread that reads the stream.
        public static func inputStream(
            length: UInt64? = nil, _ make: @escaping @Sendable () throws -> InputStream?
        ) -> TransportBody {
            read(length, isReplayable: true, make)
        }

        private static func read(
            _ length: UInt64?, isReplayable: Bool, _ make: @escaping @Sendable () throws -> InputStream?
        ) -> TransportBody {
            .stream(
                TransportBodySource(length: length, isReplayable: isReplayable) {
                    BodyPipe(length: length) { pipe in
                        let thread = Thread {
                            do {
                                guard let stream = try make() else { throw BodyProblem("the closure returned nil") }
                                try pipe.pump(stream)
                                pipe.finish()
                            } catch {
                                pipe.finish(.bodyFailed("the body's stream failed: \(error)", error))
                            }
                        }
                        thread.name = "Larkspur body"
                        thread.start()
                        return {}  // the thread's next write returns nil, and the thread then ends
                    }
                })
        }
    }

    extension BodyPipe {
        fileprivate func pump(_ stream: InputStream) throws {
            let wasOpen = stream.streamStatus != .notOpen
            if !wasOpen { stream.open() }
            // A stream that was read before would end at once, and the body would look complete.
            guard stream.streamStatus != .closed, stream.streamStatus != .atEnd || !wasOpen else {
                throw BodyProblem("the stream was read before; give each request a stream of its own")
            }
            defer { stream.close() }
            var buffer = [UInt8](repeating: 0, count: 64 * 1_024)
            while true {
                let count = stream.read(&buffer, maxLength: buffer.count)
                guard count >= 0 else { throw stream.streamError ?? BodyProblem("the stream reports no reason") }
                if count == 0 { return }
                var start = 0
                while start < count {
                    guard
                        let taken = buffer.withUnsafeBytes({
                            write(UnsafeRawBufferPointer(rebasing: $0[start..<count]))
                        })
                    else { return }
                    start += taken
                    waitForRoom()
                }
            }
        }

        /// Blocks the body's own thread until the pipe has room, or the transport needs no more bytes.
        private func waitForRoom() {
            let room = DispatchSemaphore(value: 0)
            whenThereIsRoom { room.signal() }
            room.wait()
        }
    }
#endif
