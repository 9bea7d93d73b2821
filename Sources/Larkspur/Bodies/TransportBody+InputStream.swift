extension TransportBody {
    /// A body of what a stream of Foundation's gives; it can be sent once.
    ///
    /// Such a stream blocks whoever reads it, so a thread of its own does, for as long as the body is sent. Without a
    /// length the body is sent in chunks; a length that is given must be met, or the request fails.
    public static func inputStream(_ stream: sending InputStream, length: UInt64? = nil) -> TransportBody {
        let once = OnceOnly(stream)
        return read(length, isReplayable: false) { try once.take() }
    }

    /// A body of a stream that is made afresh, on the thread that reads it, each time the body is sent.
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
                            guard let stream = try make() else { throw BodyProblem("none was made") }
                            try pipe.pump(stream)
                            pipe.finish()
                        } catch {
                            pipe.finish(.bodyFailed("the body's stream failed: \(error)", error))
                        }
                    }
                    thread.name = "Larkspur body"
                    thread.start()
                    return {}  // it sees with its next bytes that nobody wants them
                }
            })
    }
}

extension BodyPipe {
    fileprivate func pump(_ stream: InputStream) throws {
        if stream.streamStatus == .notOpen { stream.open() }
        defer { stream.close() }
        var buffer = [UInt8](repeating: 0, count: 64 * 1_024)
        while true {
            let count = stream.read(&buffer, maxLength: buffer.count)
            guard count >= 0 else { throw stream.streamError ?? BodyProblem("it does not say why") }
            if count == 0 { return }
            var start = 0
            while start < count {
                guard let taken = buffer.withUnsafeBytes({ write(UnsafeRawBufferPointer(rebasing: $0[start..<count])) })
                else { return }
                start += taken
                waitForRoom()
            }
        }
    }

    /// Blocks the thread, which has nothing else to do.
    private func waitForRoom() {
        let room = DispatchSemaphore(value: 0)
        whenThereIsRoom { room.signal() }
        room.wait()
    }
}
