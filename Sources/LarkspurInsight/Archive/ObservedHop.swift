import Larkspur

/// A hop that code of yours has observed, for example a transport that passes requests on to another one.
///
/// A monitor needs no such value: ``HARRecorder`` makes the entries of all requests of a session.
public struct ObservedHop: Sendable {
    /// The request of the hop.
    public var request: OutgoingRequest
    /// The time at which the hop began.
    public var startedAt: Date
    /// The head of the response; nil if none came.
    public var head: ResponseHead?
    /// The fields that followed the body of the response.
    public var trailers: HTTPHeaders?
    /// The times and counts of the transport.
    public var metrics: TransportMetrics?
    /// The first bytes of the request's body, as sent.
    public var requestBody = Data()
    /// The first bytes of the response's body, as received: without chunks, but with their content coding.
    public var responseBody = Data()
    /// The number of bytes of the response's body.
    public var responseBodySize = 0
    /// The messages of a WebSocket.
    public var messages: [HARArchive.Message] = []
    /// The error that has ended the hop.
    public var error: (any Error)?

    /// Creates a hop that has just begun.
    public init(_ request: OutgoingRequest, startedAt: Date = Date()) {
        (self.request, self.startedAt) = (request, startedAt)
    }
}

extension HARArchive.Entry {
    /// Creates the entry of a hop, without its secrets.
    ///
    /// - Parameters:
    ///   - bodyLimit: The maximum number of bytes of each body. The decoded body of the response may have four times as
    ///     many.
    ///   - redaction: The rules for secrets.
    public init(_ hop: ObservedHop, bodyLimit: Int = 64 << 10, redacting redaction: Redaction = .standard) {
        let limit = min(max(0, bodyLimit), HARRecorder.largestLimit)
        var recorded = HARExchange.Hop(request: hop.request, start: hop.startedAt)
        (recorded.head, recorded.trailers, recorded.metrics) = (hop.head, hop.trailers, hop.metrics)
        recorded.sentBody = HARBody(hop.requestBody.prefix(limit))
        recorded.receivedBody = HARBody(hop.responseBody.prefix(limit))
        recorded.received = hop.responseBodySize
        recorded.messages = hop.messages.map {
            HARExchange.Message(isSent: $0.isSent, time: $0.time, size: $0.size, isText: $0.isText, bytes: $0.bytes)
        }
        self = HARFormat(redaction: redaction, bodyLimit: limit)
            .entry(of: recorded, startedAt: hop.startedAt, error: hop.error.map { "\($0)" })
    }
}
