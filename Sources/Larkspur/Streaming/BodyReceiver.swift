/// Takes a response's body as it comes, instead of the memory: to readers, to a file.
///
/// The pipeline calls it, one call at a time, and waits for each; so a receiver that takes its time stops the peer.
package protocol BodyReceiver: Sendable {
    /// Where the receiver works; nil where it does not matter.
    var actor: (any Actor)? { get }

    /// How much of the body may wait between the transport and the receiver.
    var capacity: UInt64 { get }

    /// What the receiver shares its buffers' memory with; nil if nothing.
    var budget: BufferBudget? { get }

    /// Whether another attempt may follow one that has failed.
    var canBeginAgain: Bool { get }

    /// A request is about to be sent; it was built for this URL, and adapted.
    func prepare(_ request: OutgoingRequest, for url: RequestURL) async throws -> OutgoingRequest

    /// A response that has passed validation is about to be received.
    func begin(_ exchange: CompletedExchange) async throws

    /// The next bytes, decoded. Returns when there is room for more.
    func receive(_ bytes: Data) async throws

    /// Takes all of a body that needs no decoding from where the transport puts it; false if it wants to be called.
    func take(_ body: ByteChannel) async throws -> Bool

    /// The body is there as a whole. What monitors are to know of it they are told before it returns.
    func finish(_ exchange: CompletedExchange, telling tell: @Sendable (RequestEvent) -> Void) async throws

    /// The exchange that serializers are given, with what has become of its body.
    func result(_ exchange: CompletedExchange) async -> CompletedExchange

    /// The request was cancelled: nothing more is delivered. Called from any thread, and must not wait.
    func stopDelivering()

    /// The request has finished, whatever has happened before; called once, from any thread, and must not wait.
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
