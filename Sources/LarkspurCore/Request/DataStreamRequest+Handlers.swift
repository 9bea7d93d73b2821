extension DataStreamRequest {
    /// A closure that is called for each event of a stream, one call at a time. If the closure throws an error, the
    /// request ends with this error.
    public typealias Handler<Value: Sendable> = @Sendable (Stream<Value>) async throws -> Void

    /// Calls the closure with each chunk of the body, and then exactly once with the completion.
    ///
    ///     request.responseStream { stream in
    ///         switch stream.event {
    ///         case .stream(let result): try file.write(result.get())
    ///         case .complete(let completion): print(completion.error ?? "done")
    ///         }
    ///     }
    ///
    /// Attaching the closure starts the request. The closure runs in its own task, or on an actor with `{ @MainActor
    /// stream in … }`. While the closure runs, a limited number of bytes is buffered. Then the server waits (back
    /// pressure).
    ///
    /// An error that the closure throws cancels the request with `.receivingFailed`. The closure is then called at once
    /// with the completion, which has this error, even if the whole body had arrived.
    ///
    /// Each of several closures gets every chunk that arrives after the closure was attached. If all of them need the
    /// first chunk, create the request with `startsAutomatically: false`, attach the closures, and then call
    /// ``Request/resume()``.
    @discardableResult
    public func responseStream(stream handler: @escaping Handler<Data>) -> Self {
        handle(bytes(automaticallyCancelling: false), by: handler) { .success($0) }
    }

    /// Calls the closure with the body as text. A character is never split between two texts.
    ///
    /// In all other respects this method works like ``responseStream(stream:)``.
    @discardableResult
    public func responseStreamString(stream handler: @escaping Handler<String>) -> Self {
        handle(strings(automaticallyCancelling: false), by: handler) { .success($0) }
    }

    /// Calls the closure with the values that a parser reads from the body: lines, events or messages.
    ///
    ///     request.responseStream(using: LineParser()) { stream in … }
    ///
    /// If the parser fails, its error is the last event before the completion. If the request has no other reader, the
    /// completion follows at once. In all other respects this method works like ``responseStream(stream:)``.
    @discardableResult
    public func responseStream<Parser: StreamParser>(
        using parser: Parser, stream handler: @escaping Handler<Parser.Output>
    ) -> Self {
        handle(bytes(automaticallyCancelling: false).parsed(by: parser), by: handler) { .success($0) }
    }

    /// Calls the closure with each message of the body, decoded as a value.
    ///
    /// If a message cannot be decoded, the closure gets a failure in its place, and the stream continues with the next
    /// message. If the framing itself fails, no message follows; if the request has no other reader, the completion
    /// follows at once. In all other respects this method works like ``responseStream(stream:)``.
    ///
    /// - Parameters:
    ///   - type: The type of the values.
    ///   - framing: The format that separates the messages, such as `.jsonLines`.
    ///   - decoder: The decoder; nil uses the session's decoder.
    ///   - automaticallyCancelOnStreamError: Whether the first failure cancels the request and becomes its error; false
    ///     by default. A request that has finished keeps its result.
    ///   - handler: The closure.
    @discardableResult
    public func responseStreamDecodable<Value: Decodable & Sendable, Framing: MessageFraming>(
        of type: Value.Type = Value.self, framing: Framing, decoder: (any DataDecoder)? = nil,
        automaticallyCancelOnStreamError: Bool = false, stream handler: @escaping Handler<Value>
    ) -> Self {
        let decoder = decoder ?? self.decoder
        return handle(
            messages(framing: framing, automaticallyCancelling: false),
            cancelsOnError: automaticallyCancelOnStreamError, by: handler
        ) { message in
            Result { try decoder.decode(type, from: message) }.mapError {
                let reason = DecodingProblem.description(of: $0, in: message, using: decoder)
                let problem = "the message cannot be decoded as \(type): \(reason)"
                return RequestError(
                    wrapping: RequestError(.decodingFailed, problem, underlying: $0), as: .decodingFailed,
                    stage: .serializing
                ).adding(factsOf: self)
            }
        }
    }

    // Starts an unstructured task for each closure, because the caller does not wait for the closure. The task ends
    // with the request.
    private func handle<Values: AsyncSequence & Sendable, Value>(
        _ values: Values, cancelsOnError: Bool = false, by handler: @escaping Handler<Value>,
        _ convert: @escaping @Sendable (Values.Element) -> Result<Value, RequestError>
    ) -> Self {
        Task {
            let token = CancellationToken(request: self)
            let error = await deliver(values, token, cancelsOnError, handler, convert)
            if let error { self.handle.core.cancel(error) }
            try? await handler(Stream(event: .complete(await finished(with: error)), token: token))
        }
        return self
    }

    /// Calls the handler with all values. Returns the error with which the request should fail, if there is one.
    private func deliver<Values: AsyncSequence & Sendable, Value>(
        _ values: Values, _ token: CancellationToken, _ cancelsOnError: Bool, _ handler: Handler<Value>,
        _ convert: (Values.Element) -> Result<Value, RequestError>
    ) async -> RequestError? {
        do {
            for try await value in values {
                if let error = await deliver(convert(value), token, cancelsOnError, handler) { return error }
            }
        } catch let error as RequestError where self.error?.isSame(as: error) != true {
            // The parser has failed. Its error ends the request if no other reader needs the body.
            return await deliver(.failure(error), token, cancelsOnError, handler) ?? (hub.isUnread ? error : nil)
        } catch is CancellationError where hub.isCut.isRaised {
            // Return the cancellation, because the request itself may have finished without an error before it was
            // cancelled.
            return .requestCancelled
        } catch {}  // the request's own error, which the completion contains
        return nil
    }

    private func deliver<Value>(
        _ result: Result<Value, RequestError>, _ token: CancellationToken, _ cancelsOnError: Bool,
        _ handler: Handler<Value>
    ) async -> RequestError? {
        do { try await handler(Stream(event: .stream(result), token: token)) } catch {
            return RequestError(wrapping: error, as: .receivingFailed, stage: .serializing)
        }
        if cancelsOnError, case .failure(let error) = result { return error }
        return nil
    }
}
