/// Is told what happens to requests: for logs, metrics, tests. It observes and changes nothing.
///
/// Events of one request arrive in order. A monitor has a mailbox of its own in each session that it was given to: there it
/// is called one event at a time, never on a transport's thread or under a lock, and a slow one delays nobody else.
public protocol EventMonitor: Sendable {
    func request(_ request: any Request, did event: RequestEvent)
}

/// A moment in a request's life, in the order in which a plain exchange has them.
public enum RequestEvent: Sendable {
    /// The first serializer or `resume()` set it going.
    case start
    /// An attempt's request is built and adapted.
    case create(OutgoingRequest)
    case beginHop(OutgoingRequest)
    case sendBody(UInt64)
    case receiveHead(ResponseHead)
    case receiveBody(Int)
    case gatherMetrics(TransportMetrics)
    case endHop(TransportError?)
    /// The response was a redirect, and this request follows it.
    case redirect(OutgoingRequest)
    /// A download's file is whole, and in its place, which is this one. A serializer that fails may still have a retrier
    /// fetch it anew.
    case placeFile(URL)
    /// Every validator has spoken.
    case validate(RequestError?)
    /// A serializer has ended, with a failure of its own or without.
    case serialize(RequestError?)
    /// An attempt failed and another one follows, after the delay.
    case retry(RequestError, after: Duration?)
    case suspend
    case resume
    case cancel
    /// Whole and final; completions are delivered next.
    case finish(RequestError?)
    /// A validator, interceptor or monitor came too late to count.
    case ignoreOption(String)
}

extension RequestEvent {
    init(_ event: TransportEvent) {
        switch event {
        case .head(let head): self = .receiveHead(head)
        case .body(let bytes): self = .receiveBody(bytes.count)
        case .bodySent(let count): self = .sendBody(count)
        case .metrics(let metrics): self = .gatherMetrics(metrics)
        case .completed(let error): self = .endHop(error)
        }
    }
}
