/// A receiver of a response's body in parts, for readers or a file, so that the whole body is not kept in memory.
///
/// The pipeline makes one call at a time and awaits its end, so a slow receiver slows the server down (back pressure).
///
/// Receivers are classes or actors. A reference that may be nil is compared and copied in a few instructions; another
/// existential takes a call of the runtime for each.
package protocol BodyReceiver: AnyObject, Sendable {
    /// The actor on which the receiver works; nil if the receiver can work on any thread.
    var actor: (any Actor)? { get }

    /// The maximum number of body bytes that wait between the transport and the receiver.
    var capacity: UInt64 { get }

    /// The memory limit that this receiver shares with other receivers; nil if there is none.
    var budget: BufferBudget? { get }

    /// Whether the receiver can receive the body of another attempt after a failed attempt.
    var canBeginAgain: Bool { get }

    /// Returns the retriers to ask about a failed attempt, of the session's and the request's interceptors. By default,
    /// returns all if the receiver can begin again, and otherwise none.
    func retriers(among interceptors: [any RequestInterceptor]) -> [any RequestInterceptor]

    /// Whether ``prepare(_:for:)`` has to be called; true by default.
    var preparesRequests: Bool { get }

    /// Returns the request with the receiver's own changes. The pipeline calls this function just before it sends the
    /// request. `url` is the request's URL as it was before the adapters changed the request.
    func prepare(_ request: OutgoingRequest, for url: RequestURL) async throws -> OutgoingRequest

    /// Whether the receiver needs no task, because it neither waits nor calls user code. False by default.
    ///
    /// Of such a receiver, ``beginAtOnce(_:)`` is called in place of ``begin(_:)``. Its functions
    /// ``finish(_:_:telling:)`` and ``result(_:)`` only return their argument, so they are not called if the body is
    /// complete.
    var isPrompt: Bool { get }

    /// Prepares for the body of a response that has passed validation, on any thread. Does nothing by default.
    func beginAtOnce(_ exchange: CompletedExchange)

    /// Prepares for the body of a response that has passed validation.
    func begin(_ exchange: CompletedExchange) async throws

    /// Receives the next decoded bytes. Returns when the receiver can receive more.
    func receive(_ bytes: Data) async throws

    /// Returns a closure that the transport's threads call with the bytes, in place of ``receive(_:)``. So no task has
    /// to wait for the next bytes. Returns nil, the default, if a task has to handle them. Called before
    /// ``begin(_:)``, if the body needs no decoding.
    func consumer(of body: ByteChannel) -> ByteChannel.Consumer?

    /// Handles the end of the body. Before this function returns, it reports events for monitors by calling `tell`.
    ///
    /// - Parameter error: The error of the body or of the receiver; nil if the body is complete. This function throws
    ///   it again, unless the receiver knows better.
    func finish(
        _ exchange: CompletedExchange, _ error: (any Error)?, telling tell: @Sendable (RequestEvent) -> Void
    ) async throws

    /// Returns the exchange for the serializers, with the result of receiving its body.
    func result(_ exchange: CompletedExchange) async -> CompletedExchange

    /// Stops the delivery after a cancel. This function may be called from any thread, and must not wait.
    func stopDelivering()

    /// Releases resources after the request has finished, with success or failure. This function is called once, from
    /// any thread, and must not wait.
    func end(_ error: RequestError?)
}

extension BodyReceiver {
    package var actor: (any Actor)? { nil }
    package var budget: BufferBudget? { nil }
    package var preparesRequests: Bool { true }
    package var isPrompt: Bool { false }
    package func beginAtOnce(_ exchange: CompletedExchange) {}
    package func stopDelivering() {}
    package func retriers(among interceptors: [any RequestInterceptor]) -> [any RequestInterceptor] {
        canBeginAgain ? interceptors : []
    }
    package func prepare(_ request: OutgoingRequest, for url: RequestURL) async throws -> OutgoingRequest { request }
    package func consumer(of body: ByteChannel) -> ByteChannel.Consumer? { nil }
    package func result(_ exchange: CompletedExchange) async -> CompletedExchange { exchange }
}
