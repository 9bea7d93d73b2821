/// Bodies that are not kept in memory: a response's head is validated as soon as it is there, and then its body goes to
/// the request's receiver, chunk by chunk, as fast as that one takes it.
extension RequestPipeline {
    func receive(_ body: ByteChannel, of head: CompletedExchange) async throws(Exit) -> CompletedExchange {
        guard let hop = head.hop else { throw .abandon }
        return try await receive(HopBody(body, of: hop), of: head) { () async throws(Exit) in
            let ended = try await end(body)
            return (ended, ended.hop?.error)
        } failure: {
            RequestError(wrapping: $0, as: .receivingFailed, stage: .sending)
        }
    }

    /// Validates a response by its head and hands its body on; of a refused one the error gets the first bytes.
    ///
    /// - Parameter end: Ends the hop, and gives what came of the response, and of the hop.
    /// - Parameter failure: What a body that could not be handed on comes to.
    func receive<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, of head: CompletedExchange,
        end: () async throws(Exit) -> (CompletedExchange, TransportError?),
        failure: (any Error) -> RequestError
    ) async throws(Exit) -> CompletedExchange where Chunks.Element == Data {
        let passed = try await passGates(head, core.look())
        // A range that begins at the end cannot be had, which is what was to be found out.
        let isSettled = passed.error != nil || head.hop?.hasNothingMore == true
        let validated = isSettled ? passed : try await validated(passed)
        if let error = validated.error {
            let start = await start(of: chunks)
            return failed(error, try await end().0.with(start))
        }
        try core.enter(.sending)
        var problem: (any Error)?
        if let receiver = core.receiver { problem = await pass(chunks, of: head, to: receiver, on: receiver.actor) }
        let (ended, hopError) = try await end()
        guard let problem else { return ended }
        guard let hopError, hopError.code == .timedOut else { return failed(failure(problem), ended) }
        return failed(failure(try core.failure(from: hopError)), ended)
    }

    /// The time that the pipeline waits for a refused body. The body only explains the error. The wait is not on the session's
    /// clock: a test that moves its clock would otherwise meet one more sleeper after each refusal.
    private static let patience = Duration.seconds(1)

    /// The first bytes, for an error to carry: those that come while it can wait.
    private func start<Chunks: AsyncSequence & Sendable>(of chunks: Chunks) async -> Data
    where Chunks.Element == Data {
        await withTaskGroup(of: Data?.self) { group in
            group.addTask { await chunks.start(upTo: BodySink.discardLimit) }
            group.addTask {
                try? await Task.sleep(for: Self.patience)
                return nil
            }
            // Whichever ends first ends the other, and a reader that is cancelled gives what it has.
            var start = Data()
            for await bytes in group {
                group.cancelAll()
                start = bytes ?? start
            }
            return start
        }
    }

    /// Gives the whole body to the receiver, or says why it could not. Reads where the receiver works: no chunk changes
    /// threads between the two.
    private func pass<Chunks: AsyncSequence & Sendable>(
        _ body: Chunks, of head: CompletedExchange, to receiver: any BodyReceiver, on actor: isolated (any Actor)?
    ) async -> (any Error)? where Chunks.Element == Data {
        do {
            try await receiver.begin(head)
            if let hop = head.hop, hop.head?.status == 206, let offset = hop.request.options.resumption?.offset {
                core.emit(.continueFile(from: offset))
            }
            let plain = (body as? HopBody)?.plain
            let isTaken = if let plain { try await receiver.take(plain) } else { false }
            if !isTaken {
                for try await chunk in body { try await receiver.receive(chunk) }
            }
            try await receiver.finish(head) { core.emit($0) }
            return nil
        } catch {
            return error
        }
    }

    /// Ends the hop if it has not ended, and gives what came of it.
    func end(_ body: ByteChannel) async throws(Exit) -> CompletedExchange {
        let outcome = await core.hopEnd(.unwanted)
        // Somebody may have kept the body; what waits in it can still be read.
        body.end(RequestError(.receivingFailed, "the exchange is over, and the rest of its body was thrown away"))
        try core.step(.settle)
        guard case .ended(let ended) = outcome else { throw .abandon }
        return ended
    }
}
