/// The fifth step, for bodies that are not kept in memory. The head is validated first. Then the body goes to the
/// receiver in chunks, with back pressure.
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

    /// Validates a response by its head, and passes its body to the receiver. If a validator refuses the response, the
    /// failed exchange contains the first bytes of the body.
    ///
    /// - Parameters:
    ///   - end: Ends the hop. Returns the exchange and the error of the hop.
    ///   - failure: Returns the error for a body that could not be received.
    func receive<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, of head: CompletedExchange,
        end: () async throws(Exit) -> (CompletedExchange, TransportError?),
        failure: (any Error) -> RequestError
    ) async throws(Exit) -> CompletedExchange where Chunks.Element == Data {
        let passed = try await passGates(head, core.currentPlan())
        // If the partial file of a resumed download is already complete, the server refuses the requested range. This
        // is not a failure.
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

    /// The maximum time to wait for the body of a refused response. That body only helps to explain the error. The time
    /// is measured on the system's clock, so that tests with a manual clock need not advance that clock.
    private static let refusedBodyTimeout = Duration.seconds(1)

    /// Returns the first bytes of a refused response's body, which become part of the error.
    private func start<Chunks: AsyncSequence & Sendable>(of chunks: Chunks) async -> Data
    where Chunks.Element == Data {
        await withTaskGroup(of: Data?.self) { group in
            group.addTask { await chunks.start(upTo: BodySink.discardLimit) }
            group.addTask {
                try? await Task.sleep(for: Self.refusedBodyTimeout)
                return nil
            }
            // The child task that ends first cancels the other. If the reader of the body is cancelled, it returns the
            // bytes that it has read so far.
            var start = Data()
            for await bytes in group {
                group.cancelAll()
                start = bytes ?? start
            }
            return start
        }
    }

    /// Passes the whole body to the receiver. Returns the error if the receiver or the body fails. Runs on the
    /// receiver's actor, so that chunks do not change threads.
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

    /// Ends the hop and returns its result.
    func end(_ body: ByteChannel) async throws(Exit) -> CompletedExchange {
        let outcome = await core.hopEnd(.cancelled)
        // User code may still have a reference to the body. That code can read the buffered bytes, and then gets this
        // error.
        body.end(RequestError(.receivingFailed, "the request has ended, and the rest of its body was discarded"))
        try core.step(.settle)
        guard case .ended(let ended) = outcome else { throw .abandon }
        return ended
    }
}
