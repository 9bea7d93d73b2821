/// Receives a response's body in parts, for readers or a file, so that it is not kept in memory.
///
/// The pipeline makes one call at a time and awaits it, so a slow receiver slows the server down (back pressure).
package protocol BodyReceiver: Sendable {
    /// The actor that the receiver works on; nil if any thread will do.
    var actor: (any Actor)? { get }

    /// The maximum number of body bytes that wait between the transport and the receiver.
    var capacity: UInt64 { get }

    /// The memory limit that the receiver shares with others; nil if there is none.
    var budget: BufferBudget? { get }

    /// Whether another attempt can follow a failed one.
    var canBeginAgain: Bool { get }

    /// Adapts a request that is about to be sent. The request was built for this URL and then adapted.
    func prepare(_ request: OutgoingRequest, for url: RequestURL) async throws -> OutgoingRequest

    /// Prepares for the body of a response that has passed validation.
    func begin(_ exchange: CompletedExchange) async throws

    /// Receives the next bytes, decoded. Returns when it can receive more.
    func receive(_ bytes: Data) async throws

    /// Reads the whole body from the channel, if the body needs no decoding. Returns false if the pipeline must call
    /// ``receive(_:)`` instead.
    func take(_ body: ByteChannel) async throws -> Bool

    /// Handles the end of a complete body. Reports events for monitors through `tell` before it returns.
    func finish(_ exchange: CompletedExchange, telling tell: @Sendable (RequestEvent) -> Void) async throws

    /// Returns the exchange for the serializers, with the result of receiving its body.
    func result(_ exchange: CompletedExchange) async -> CompletedExchange

    /// Stops the delivery after a cancel. Called from any thread; must not wait.
    func stopDelivering()

    /// Releases resources after the request has finished, however it ended. Called once, from any thread; must not
    /// wait.
    func end(_ error: RequestError?)
}

extension BodyReceiver {
    package var actor: (any Actor)? { nil }
    package var budget: BufferBudget? { nil }
    package func stopDelivering() {}
    package func prepare(_ request: OutgoingRequest, for url: RequestURL) async throws -> OutgoingRequest { request }
    package func take(_ body: ByteChannel) async throws -> Bool { false }
    package func result(_ exchange: CompletedExchange) async -> CompletedExchange { exchange }
}
