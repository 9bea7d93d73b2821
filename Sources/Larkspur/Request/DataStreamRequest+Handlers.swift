// Closures in place of loops.

extension DataStreamRequest {
    /// Is called for each event of a stream, one call at a time. What it throws ends the request.
    public typealias Handler<Value: Sendable> = @Sendable (Stream<Value>) async throws -> Void

    /// Calls the closure with each chunk of the body and then, on every path exactly once, with the completion.
    ///
    ///     request.responseStream { stream in
    ///         switch stream.event {
    ///         case .stream(let result): try file.write(result.get())
    ///         case .complete(let completion): print(completion.error ?? "done")
    ///         }
    ///     }
    ///
    /// Attaching it starts the request. It runs on a task of its own, or on an actor with `{ @MainActor stream in … }`; while
    /// it takes its time the peer waits. What it throws cancels the request with that error, `.receivingFailed`, and the
    /// completion follows at once, with the error even where the whole body was there already. Of several closures each gets
    /// every chunk that comes after it was attached: where all of them need the first one, make the request with
    /// `startsAutomatically: false`, and call `resume()` when they are there.
    @discardableResult
    public func responseStream(stream handler: @escaping Handler<Data>) -> Self {
        handle(bytes(automaticallyCancelling: false), by: handler) { .success($0) }
    }

    /// The same with the chunks as text, in which no character's bytes are torn apart.
    @discardableResult
    public func responseStreamString(stream handler: @escaping Handler<String>) -> Self {
        handle(strings(automaticallyCancelling: false), by: handler) { .success($0) }
    }

    /// The same with the values that a parser makes of the chunks: lines, events, messages.
    ///
    ///     request.responseStream(using: LineParser()) { stream in … }
    ///
    /// What the parser throws is the last failure in the stream; the completion follows, at once if nobody else reads.
    @discardableResult
    public func responseStream<Parser: StreamParser>(
        using parser: Parser, stream handler: @escaping Handler<Parser.Output>
    ) -> Self {
        handle(bytes(automaticallyCancelling: false).parsed(by: parser), by: handler) { .success($0) }
    }

    /// The same with the messages as values of the caller's type; nil takes the session's decoder.
    ///
    /// A message that is no such value is a failure in the stream, which goes on with the next one. Where the framing itself
    /// is broken there is no next one: the completion follows, at once if nobody else reads.
    ///
    /// - Parameter automaticallyCancelOnStreamError: With true the first failure cancels the request, if it is still under
    ///   way, and is its error then.
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
                RequestError(
                    wrapping: RequestError(.decodingFailed, "it is no \(type): \($0)", underlying: $0),
                    as: .decodingFailed, stage: .serializing
                ).adding(factsOf: self)
            }
        }
    }

    /// Unstructured, one task for each closure: it ends with the request.
    private func handle<Values: AsyncSequence & Sendable, Value>(
        _ values: Values, cancelsOnError: Bool = false, by handler: @escaping Handler<Value>,
        _ convert: @escaping @Sendable (Values.Element) -> Result<Value, RequestError>
    ) -> Self {
        Task {
            let token = CancellationToken(request: self)
            let error = await tell(values, token, cancelsOnError, handler, convert)
            if let error { self.handle.core.cancel(error) }
            try? await handler(Stream(event: .complete(await finished(with: error)), token: token))
        }
        return self
    }

    /// Hands the values on, and reads no more when it returns: with an error if that is to be the request's.
    private func tell<Values: AsyncSequence & Sendable, Value>(
        _ values: Values, _ token: CancellationToken, _ cancelsOnError: Bool, _ handler: Handler<Value>,
        _ convert: (Values.Element) -> Result<Value, RequestError>
    ) async -> RequestError? {
        do {
            for try await value in values {
                if let error = await tell(convert(value), token, cancelsOnError, handler) { return error }
            }
        } catch let error as RequestError where self.error?.isSame(as: error) != true {
            // The request has nothing to go on for if this was its last reader.
            return await tell(.failure(error), token, cancelsOnError, handler) ?? (hub.isUnread ? error : nil)
        } catch is CancellationError where hub.isCut.isRaised {
            // The request may have finished before, and have no error.
            return .requestCancelled
        } catch {}  // the request's own, which the completion has
        return nil
    }

    private func tell<Value>(
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
