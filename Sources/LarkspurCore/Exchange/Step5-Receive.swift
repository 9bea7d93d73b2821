/// The fifth step, for bodies that the pipeline gets after their heads.
///
/// For a receiver, the head is validated first. Then the body goes to the receiver in chunks, with back pressure. Other
/// bodies are collected in memory. They are here if they have content codings, or if user code has to see the head
/// first.
extension RequestPipeline {
    /// Returns the step that handles the body of the final response.
    func deliver(_ head: CompletedExchange, _ body: ByteChannel?) -> Next {
        if core.receiver != nil, let body { return .now(.receive(head, body)) }
        return .later { () async throws(Exit) in try await collect(head, body) }
    }

    /// Collects a body in memory, after response gates have seen the head. A body from a channel is decoded as it
    /// arrives, in a task, because decoding takes long. A body that cannot be decoded ends the hop at once.
    private func collect(_ head: CompletedExchange, _ body: ByteChannel?) async throws(Exit) -> Next {
        let plan = try core.currentPlan()
        let gated = plan.gatesSeeHead ? try await passGates(head, plan) : head
        try core.enter(.sending)  // the stage of an error while the rest of the body arrives
        var (content, problem): (Data?, RequestError?) = (nil, nil)
        if gated.error == nil, let body, let hop = head.hop {
            core.allowBody()
            do {
                content = try await HopBody(body, of: hop).collected { core.read { $0.needsBody } }
            } catch {
                problem = RequestError(wrapping: error, as: .undecodableContent, stage: .sending)
            }
        }
        let isWanted = gated.error == nil && problem == nil
        guard case .ended(let ended) = await core.hopEnd(isWanted ? .collected : .cancelled) else { throw .abandon }
        await core.settleDraft(of: ended)
        let settled = try core.settle().plan
        if let error = gated.error { return .now(.examine(failed(error, ended), settled)) }
        if let error = ended.hop?.error, problem == nil || error.code == .timedOut {
            return .now(.examine(try failed(by: error, ended), settled))
        }
        if let problem { return .now(.examine(failed(problem, ended), settled)) }
        guard let content, let coded = ended.data, !coded.isEmpty else { return .now(.examine(ended, settled)) }
        core.emit(.decode(head.hop?.codings ?? [], from: coded.count, to: content.count))
        return .now(.examine(ended.with(content), settled))
    }

    /// Receives the body of the final response, in a task unless the response and its body need none.
    func receive(_ head: CompletedExchange, _ body: ByteChannel) throws(Exit) -> Next {
        if let next = try receiveAtOnce(body, of: head) { return next }
        return .later { () async throws(Exit) in try await receive(body, of: head) }
    }

    /// Checks the head, and lets the threads that deliver the body call the receiver. Returns nil if this needs a task:
    /// because of the receiver, a content coding, a gate or a validator of users, or because a validator refuses the
    /// response. The error then gets the start of the body.
    private func receiveAtOnce(_ body: ByteChannel, of head: CompletedExchange) throws(Exit) -> Next? {
        guard let receiver = core.receiver, receiver.isPrompt, let hop = head.hop, !hop.hasNothingMore,
            let consumer = HopBody(body, of: hop).plain.flatMap(receiver.consumer)
        else { return nil }
        let plan = try core.currentPlan()
        guard plan.gates.isEmpty, acceptsAtOnce(head, plan) else { return nil }
        receiver.beginAtOnce(head)
        return listen(to: body, of: head, receiver, consumer)
    }

    /// Returns the delivery of a body to its receiver, with the steps after it.
    private func listen(
        to body: ByteChannel, of head: CompletedExchange, _ receiver: any BodyReceiver,
        _ consumer: @escaping ByteChannel.Consumer
    ) -> Next {
        .listen(
            Delivery(body: body, consumer: consumer) { (error) throws(Exit) in
                if error == nil, receiver.isPrompt, let next = try concludeAtOnce() { return next }
                return .later { () async throws(Exit) in
                    let error = await finish(head, receiver, error)
                    return try conclude(await ended(ending(of: body), error), core.currentPlan())
                }
            })
    }

    /// Concludes the exchange after a complete body. Returns nil if the handler of cached responses has to be asked
    /// first.
    private func concludeAtOnce() throws(Exit) -> Next? {
        guard let ended = core.read({ $0.ended }), ended.hop?.draft == nil else { return nil }
        return try conclude(ended, try core.settle().plan)
    }

    private func ending(of body: ByteChannel) -> Ending {
        Ending { () async throws(Exit) in
            let ended = try await end(body)
            return (ended, ended.hop?.error)
        } failure: {
            RequestError(wrapping: $0, as: .receivingFailed, stage: .sending)
        }
    }

    /// Receives the body of a hop. If the receiver can be called with the bytes, the work that follows the body's end
    /// is left to the driver.
    private func receive(_ body: ByteChannel, of head: CompletedExchange) async throws(Exit) -> Next {
        guard let hop = head.hop else { throw .abandon }
        let chunks = HopBody(body, of: hop)
        let ending = ending(of: body)
        guard let receiver = core.receiver, let consumer = chunks.plain.flatMap(receiver.consumer) else {
            return try conclude(await receive(chunks, of: head, ending), core.currentPlan())
        }
        if let refused = try await refusal(of: head, chunks, ending) {
            return try conclude(refused, core.currentPlan())
        }
        do { try await receiver.begin(head) } catch {
            let error = await finish(head, receiver, error)
            return try conclude(await ended(ending, error), core.currentPlan())
        }
        return listen(to: body, of: head, receiver, consumer)
    }

    /// The way to end a body.
    struct Ending: Sendable {
        /// Ends the hop. Returns the exchange and the error of the hop.
        let end: @Sendable () async throws(Exit) -> (CompletedExchange, TransportError?)
        /// Returns the error for a body that could not be received.
        let failure: @Sendable (any Error) -> RequestError
    }

    /// Validates a response by its head, and passes its body to the receiver.
    func receive<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, of head: CompletedExchange, _ ending: Ending
    ) async throws(Exit) -> CompletedExchange where Chunks.Element == Data {
        if let refused = try await refusal(of: head, chunks, ending) { return refused }
        var problem: (any Error)?
        if let receiver = core.receiver { problem = await pass(chunks, of: head, to: receiver, on: receiver.actor) }
        return try await ended(ending, problem)
    }

    /// Validates a response by its head. If a gate or a validator refuses the response, returns the failed exchange,
    /// which contains the first bytes of the body.
    private func refusal<Chunks: AsyncSequence & Sendable>(
        of head: CompletedExchange, _ chunks: Chunks, _ ending: Ending
    ) async throws(Exit) -> CompletedExchange? where Chunks.Element == Data {
        let passed = try await passGates(head, core.currentPlan())
        // If the partial file of a resumed download is already complete, the server refuses the requested range. This
        // is not a failure.
        let isSettled = passed.error != nil || head.hop?.hasNothingMore == true
        let validated = isSettled ? passed : try await validated(passed)
        guard let error = validated.error else {
            try core.enter(.sending)
            return nil
        }
        let start = await start(of: chunks)
        return failed(error, try await ending.end().0.with(start))
    }

    /// Ends a body, and returns the exchange.
    ///
    /// - Parameter problem: The error of the receiver or the body; nil if the receiver has received the whole body.
    private func ended(_ ending: Ending, _ problem: (any Error)?) async throws(Exit) -> CompletedExchange {
        let (ended, hopError) = try await ending.end()
        guard let problem else { return ended }
        guard let hopError, hopError.code == .timedOut else { return failed(ending.failure(problem), ended) }
        return failed(ending.failure(try core.failure(from: hopError)), ended)
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
            for try await chunk in body { try await receiver.receive(chunk) }
            return await finish(head, receiver, nil)
        } catch {
            return await finish(head, receiver, error)
        }
    }

    /// Tells the receiver the end of the body. Returns the error that the attempt fails with.
    private func finish(
        _ head: CompletedExchange, _ receiver: any BodyReceiver, _ error: (any Error)?,
        isolation: isolated (any Actor)? = #isolation
    ) async -> (any Error)? {
        do {
            try await receiver.finish(head, error) { core.emit($0) }
            return nil
        } catch {
            return error
        }
    }

    private static let discarded = RequestError(
        .receivingFailed, "the request has ended, and the rest of its body was discarded")

    /// Ends the hop and returns its result.
    func end(_ body: ByteChannel) async throws(Exit) -> CompletedExchange {
        let outcome = await core.hopEnd(.cancelled)
        // User code may still have a reference to the body. That code can read the buffered bytes, and then gets this
        // error.
        body.end(Self.discarded)
        try core.step(.settle)
        guard case .ended(let ended) = outcome else { throw .abandon }
        await core.settleDraft(of: ended)
        return ended
    }
}
