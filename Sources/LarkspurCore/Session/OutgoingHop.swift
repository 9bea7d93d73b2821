/// A hop that is about to be passed to the transport, for a ``HopParticipant``.
public struct OutgoingHop {
    /// The request of the hop. Hops that follow, such as redirects, start from the changed request.
    public var request: OutgoingRequest
    /// The fields that are sent with this hop alone.
    private var fields = HTTPHeaders()
    /// The first error that a participant has refused the hop with.
    private(set) var refusal: TransportError?
    /// The wishes of the participants to the transports that stand around the engine.
    package var instructions = HopInstructions()
    let core: RequestCore

    init(_ request: OutgoingRequest, of core: RequestCore) { (self.request, self.core) = (request, core) }

    /// The facts about the hop, with the request as it is now.
    public var context: HopContext { core.contextOfNextHop(request) }

    /// The identifier of the request.
    public var requestID: RequestID { core.id }

    /// The use of the response.
    public var kind: HopKind {
        if request.options.upgrade != nil { return .webSocket }
        guard let receiver = core.receiver else { return .data }
        return receiver is DownloadFile ? .download : .stream
    }

    /// The time that is left of the request's total timeout; nil without one.
    public var timeLeft: Duration? { core.read { $0.deadlines.total }?.timeLeft }

    /// Adds fields to this hop alone. A field that the request already has is kept, and the first field of a name wins.
    ///
    /// The hop is refused with `.invalidRequest` if a field is not valid, or belongs to the framework, such as `Host`,
    /// `Cookie`, `Range` and the fields that describe the body.
    public mutating func add(_ fields: HTTPHeaders) { add(fields, of: "a participant of the session") }

    /// - Parameter source: The origin of the fields, for the error.
    mutating func add(_ fields: HTTPHeaders, of source: String) {
        do throws(RequestError) { try OutgoingRequest.checkHopFields(fields) } catch {
            return refuse(RequestError(.invalidRequest, "\(source): \(error.message)"))
        }
        var fields = fields
        fields.hide(request.options.confidentialHeaders)
        self.fields.addMissing(from: fields)
    }

    /// Refuses the hop, so that nothing is sent and the hop fails with this error. The first refusal counts.
    public mutating func refuse(_ error: RequestError) {
        if refusal != nil { return }
        let code = TransportError.Code(rawValue: error.code.rawValue)
        refusal = TransportError(code, error.message, phase: .sending, underlying: error.underlying)
    }

    /// The request with the fields of this hop, as it is sent.
    var sent: OutgoingRequest {
        guard !fields.isEmpty else { return request }
        var headers = request.headers
        headers.addMissing(from: fields)
        var sent = request
        if headers.count != request.headers.count { sent.headers = headers }
        return sent
    }

    /// Lets the session's participants and the request's own responder prepare the hop. Returns the request as it is
    /// sent.
    mutating func prepare(by participants: [any HopParticipant]) -> OutgoingRequest {
        for participant in participants { participant.prepare(&self) }
        request.proveCredential()
        for source in core.hopFields { add(source.fields(for: context), of: "a source of hop fields") }
        return sent
    }

    /// Completes the transport's form of the request as it is sent. The wishes of the participants move to it.
    mutating func complete(_ request: inout TransportRequest, sending sent: OutgoingRequest) {
        (request.asksForTrust, request.trustGeneration) = (instructions.asksForTrust, instructions.trustGeneration)
        request.asksForIdentity = instructions.asksForIdentity
        // Without a copy, which all requests would pay for.
        swap(&request.cache, &instructions.cache)
        swap(&request.flow, &instructions.flow)
        if let source = core.copyingBody(of: sent) { request.body = .stream(source) }
    }
}

/// The wishes of a session's participants to the transports that stand around the engine.
package struct HopInstructions {
    /// Whether the transport asks the delegate about the TLS peer.
    package var asksForTrust = false
    /// The generation of the verdicts about the host.
    package var trustGeneration: UInt64 = 0
    /// Whether the transport asks the delegate for the client identity.
    package var asksForIdentity = false
    /// The request's wishes about a cache; nil without a cache.
    package var cache: CacheInstructions?
    /// The facts for the code that decides when the hop may be sent; nil without such code.
    package var flow: FlowInstructions?
}

/// A hop that is about to begin, or that has a response.
public struct HopContext: Sendable {
    /// The identifier of the request, the same in all its attempts and hops.
    public let requestID: RequestID
    /// The number of the attempt, starting at 1.
    public let attempt: Int
    /// The number of the hop in its attempt, starting at 1.
    public let number: Int
    /// The request without the fields that are added to this hop alone.
    public let request: OutgoingRequest
    /// The outcome of the session's cache; nil before the response, and without a cache.
    public let cache: CacheOutcome?

    /// The URL of the hop.
    public var url: RequestURL { request.url }
}

extension RequestCore {
    /// Returns the transport's form of a request that is not sent, for a connection ahead of requests.
    package func warmingRequest(_ request: OutgoingRequest) throws(RequestError) -> TransportRequest {
        var request = request
        try retarget(&request)
        var hop = OutgoingHop(request, of: self)
        let sent = hop.prepare(by: context.participants.preparing)
        if let refusal = hop.refusal {
            throw RequestError(wrapping: refusal, as: .invalidRequest, stage: .sending, about: request)
        }
        var final = sent.transportRequest(initialAllowance: .max, timeLeft: nil)
        hop.complete(&final, sending: sent)
        return final
    }

    /// Returns the facts about the hop that begins now with this request.
    func contextOfNextHop(_ request: OutgoingRequest) -> HopContext {
        let (attempt, number) = read { ($0.attemptCount, ($0.attempt?.hops.count ?? 0) + 1) }
        return HopContext(requestID: id, attempt: attempt, number: number, request: request, cache: nil)
    }

    /// Returns the URL to use for a request or a redirect, as the session's participants want it.
    func target(for url: RequestURL) throws(RequestError) -> RequestURL {
        var url = url
        for participant in context.participants.targeting { url = try participant.target(for: url) }
        return url
    }

    /// Sets the URL to use. The URL is not set if it stays the same, because setting it removes the error about a URL
    /// that was not valid.
    func retarget(_ request: inout OutgoingRequest) throws(RequestError) {
        if context.participants.targeting.isEmpty { return }
        let url = try target(for: request.url)
        if url != request.url { request.url = url }
    }

    /// Lets the participants change the request that follows a redirect.
    func adjust(_ redirected: inout OutgoingRequest) {
        for participant in context.participants.adjusting { participant.adjust(&redirected, of: id) }
    }

    /// Lets the participants learn at once from a hop. Returns those that learn later, in the request's task, or that
    /// must be asked there about the next hop; nil if no task is needed.
    func learners(of hop: Hop?) -> [any HopParticipant]? {
        if context.participants.all.isEmpty { return nil }
        guard let hop, let head = hop.head else { return nil }
        var later: [any HopParticipant] = []
        for participant in context.participants.learning where participant.learnsLater(from: hop) {
            later.append(participant)
        }
        return later.isEmpty && !HopPolicy.isAnswered(head, to: hop.request) ? nil : later
    }

    /// Lets these participants learn from a hop, before the next hop is built and before the caller gets the response.
    func learn(from hop: Hop?, by participants: [any HopParticipant]) {
        guard !participants.isEmpty, let hop, let head = hop.head else { return }
        let context = HopContext(
            requestID: id, attempt: read { $0.attemptCount }, number: hop.number, request: hop.request,
            cache: hop.cache)
        for participant in participants { participant.learn(from: head, of: context) }
    }
}
