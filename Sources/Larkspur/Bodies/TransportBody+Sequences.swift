extension TransportBody {
    /// A body of the pieces that an asynchronous sequence gives, `Data` or `[UInt8]`; it can be sent once.
    ///
    /// The sequence is asked for pieces as fast as they are sent, with at most 256 KiB waiting. It is cancelled when the
    /// request ends before; an error it throws ends the request with `.bodyFailed`. Without a length the body is sent in
    /// chunks; a length that is given must be met, or the request fails.
    public static func sequence<Pieces: AsyncSequence & SendableMetatype>(
        _ pieces: sending Pieces, length: UInt64? = nil
    ) -> TransportBody where Pieces.Element: DataProtocol {
        let once = OnceOnly(pieces)
        return pumped(length, isReplayable: false) { try await $0.pump(try once.take()) }
    }

    /// A body of the bytes that an asynchronous sequence gives; it can be sent once.
    ///
    /// Each byte is handed over when it comes. Where there are many, a sequence of pieces is a hundred times faster.
    public static func sequence<Bytes: AsyncSequence & SendableMetatype>(
        _ bytes: sending Bytes, length: UInt64? = nil
    ) -> TransportBody where Bytes.Element == UInt8 {
        let once = OnceOnly(bytes)
        return pumped(length, isReplayable: false) { try await $0.pump(try once.take()) }
    }

    /// Returns a body of the pieces of a sequence that the closure makes each time the body is sent: for a retry, a redirect,
    /// a connection that was lost.
    ///
    /// The closure must make a new sequence each time. A body that is shorter than an earlier send of it fails with
    /// `.bodyFailed`.
    public static func sequence<Pieces: AsyncSequence & SendableMetatype>(
        length: UInt64? = nil, _ make: @escaping @Sendable () async throws -> Pieces
    ) -> TransportBody where Pieces.Element: DataProtocol {
        pumped(length, isReplayable: true) { try await $0.pump(try await make()) }
    }

    /// A body of the bytes of a sequence that is made afresh each time the body is sent.
    public static func sequence<Bytes: AsyncSequence & SendableMetatype>(
        length: UInt64? = nil, _ make: @escaping @Sendable () async throws -> Bytes
    ) -> TransportBody where Bytes.Element == UInt8 {
        pumped(length, isReplayable: true) { try await $0.pump(try await make()) }
    }

    /// A body that a function writes, on a task of its own.
    static func pumped(
        _ length: UInt64?, isReplayable: Bool, _ pump: @escaping @Sendable (BodyPipe) async throws -> Void
    ) -> TransportBody {
        let earlier = isReplayable && length == nil ? EarlierSends() : nil
        return .stream(
            TransportBodySource(length: length, isReplayable: isReplayable) {
                BodyPipe(length: length, earlier: earlier) { pipe in
                    // The one task of a body that is being sent: somebody has to wait for the sequence.
                    let producer = Task {
                        do {
                            try await pump(pipe)
                            pipe.finish()
                        } catch {
                            pipe.finish(.bodyFailed("the body's sequence failed: \(error)", error))
                        }
                    }
                    // Once a body, and from a task: cancellation handlers are user code, and a transport stops it (R2).
                    return { Task { producer.cancel() } }
                }
            })
    }
}

/// What is wrong with a producer, in words that follow "the body's sequence failed".
struct BodyProblem: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

struct OnceOnly<Value>: Sendable {
    private let box: Protected<Value?>

    init(_ value: sending Value) { box = Protected(value) }

    func take() throws(BodyProblem) -> sending Value {
        let taken = box.withLock { value -> sending Value? in
            let taken = value
            value = nil
            return taken
        }
        guard let taken else { throw BodyProblem("it can be read only once, and was") }
        return taken
    }
}

extension BodyPipe {
    func pump<Pieces: AsyncSequence>(_ pieces: Pieces) async throws where Pieces.Element: DataProtocol {
        for try await piece in pieces {
            if Task.isCancelled { return }  // also of a sequence that does not look, and gives nothing but empty pieces
            for region in piece.regions {
                guard await writeAll(region) else { return }
            }
        }
    }

    /// Writes the bytes as there is room for them; false if nobody wants them.
    func writeAll(_ bytes: some Collection<UInt8> & ContiguousBytes) async -> Bool {
        var start = 0
        while start < bytes.count {
            guard let count = bytes.withUnsafeBytes({ write(UnsafeRawBufferPointer(rebasing: $0[start...])) })
            else { return false }
            start += count
            await waitForRoom()
        }
        return true
    }

    fileprivate func pump<Bytes: AsyncSequence>(_ bytes: Bytes) async throws where Bytes.Element == UInt8 {
        for try await byte in bytes {
            while true {
                guard let count = withUnsafeBytes(of: byte, { write($0) }) else { return }
                if count > 0 { break }
                await waitForRoom()
            }
        }
    }

    private func waitForRoom() async {
        await suspended { continuation in whenThereIsRoom { continuation.resume() } }
    }
}
