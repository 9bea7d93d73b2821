extension TransportBody {
    /// Returns a body with the pieces of an asynchronous sequence, each `Data` or `[UInt8]`. The body can be sent only
    /// once.
    ///
    /// The sequence is read as fast as the body is sent, with at most 256 KiB buffered. If the request ends first, the
    /// task that reads the sequence is cancelled. An error of the sequence fails the request with `.bodyFailed`.
    /// Without a length, the body is sent in chunks. With a length, the sequence must have exactly that many bytes, or
    /// the request fails.
    public static func sequence<Pieces: AsyncSequence & SendableMetatype>(
        _ pieces: sending Pieces, length: UInt64? = nil
    ) -> TransportBody where Pieces.Element: DataProtocol {
        let once = OnceOnly(pieces)
        return pumped(length, isReplayable: false) { try await $0.pump(try once.take()) }
    }

    /// Returns a body with the bytes of an asynchronous sequence. The body can be sent only once.
    ///
    /// Each byte is processed separately. For large bodies, a sequence of `Data` pieces is a hundred times faster.
    public static func sequence<Bytes: AsyncSequence & SendableMetatype>(
        _ bytes: sending Bytes, length: UInt64? = nil
    ) -> TransportBody where Bytes.Element == UInt8 {
        let once = OnceOnly(bytes)
        return pumped(length, isReplayable: false) { try await $0.pump(try once.take()) }
    }

    /// Returns a body that calls the closure for a new sequence of pieces each time the body is sent, for example for a
    /// retry, a redirect or a lost connection.
    ///
    /// The closure must make a new sequence each time. If a later sequence has fewer bytes than an earlier one, the
    /// request fails with `.bodyFailed`.
    public static func sequence<Pieces: AsyncSequence & SendableMetatype>(
        length: UInt64? = nil, _ make: @escaping @Sendable () async throws -> Pieces
    ) -> TransportBody where Pieces.Element: DataProtocol {
        pumped(length, isReplayable: true) { try await $0.pump(try await make()) }
    }

    /// Returns a body that calls the closure for a new sequence of bytes each time the body is sent.
    public static func sequence<Bytes: AsyncSequence & SendableMetatype>(
        length: UInt64? = nil, _ make: @escaping @Sendable () async throws -> Bytes
    ) -> TransportBody where Bytes.Element == UInt8 {
        pumped(length, isReplayable: true) { try await $0.pump(try await make()) }
    }

    /// Returns a body whose bytes the function `pump` writes to a pipe, on a task of its own.
    package static func pumped(
        _ length: UInt64?, isReplayable: Bool, _ pump: @escaping @Sendable (BodyPipe) async throws -> Void
    ) -> TransportBody {
        let earlier = isReplayable && length == nil ? EarlierSends() : nil
        return .stream(
            TransportBodySource(length: length, isReplayable: isReplayable) {
                BodyPipe(length: length, earlier: earlier) { pipe in
                    // The only task of the body. It waits for the pieces of the sequence.
                    let producer = Task {
                        do {
                            try await pump(pipe)
                            pipe.finish()
                        } catch {
                            pipe.finish(.bodyFailed("the body's sequence failed: \(error)", error))
                        }
                    }
                    // The transport calls this closure on its thread, which must not run user code (rule R2 in
                    // Concurrency.md). `cancel()` runs the user's cancellation handlers, so a new task calls
                    // `cancel()`. The closure runs at most once for each send of the body.
                    return { Task { producer.cancel() } }
                }
            })
    }
}

/// An error of a body's producer. The description is appended to a message such as "the body's sequence failed: ".
package struct BodyProblem: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// A value that can be taken once, such as a sequence that can be iterated once.
package struct OnceOnly<Value>: Sendable {
    private let box: Protected<Value?>

    package init(_ value: sending Value) { box = Protected(value) }

    package func take() throws(BodyProblem) -> sending Value {
        let taken = box.withLock { value -> sending Value? in
            let taken = value
            value = nil
            return taken
        }
        guard let taken else { throw BodyProblem("it can be read only once, and has been read") }
        return taken
    }
}

extension BodyPipe {
    package func pump<Pieces: AsyncSequence>(_ pieces: Pieces) async throws where Pieces.Element: DataProtocol {
        for try await piece in pieces {
            if Task.isCancelled { return }  // an endless sequence of empty pieces would not stop otherwise
            for region in piece.regions {
                guard await writeAll(region) else { return }
            }
        }
    }

    /// Writes all bytes, and waits while the buffer is full. Returns false if the transport needs no more bytes.
    package func writeAll(_ bytes: some Collection<UInt8> & ContiguousBytes) async -> Bool {
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
