/// Is told what happens to requests: for logs, metrics, tests. It observes and changes nothing.
///
/// Events of one request arrive in order. A monitor has a mailbox of its own in each session that it was given to: there it
/// is called one event at a time, never on a transport's thread, on one that tasks share or under a lock, and a slow one
/// delays nobody else. While 8,192 events wait for it, requests that start pass it by, each from its start to its finish.
public protocol EventMonitor: Sendable {
    /// Something has happened to the request.
    func request(_ request: any Request, did event: RequestEvent)

    /// So many requests have passed the monitor by, because it was slow. Nothing by default.
    func didMiss(_ requests: Int)

    /// The session was invalidated, with this error of its transport if that was the reason; its requests fail from here on.
    /// Nothing by default.
    func sessionDidInvalidate(_ error: (any Error)?)
}

extension EventMonitor {
    public func didMiss(_ requests: Int) {}
    public func sessionDidInvalidate(_ error: (any Error)?) {}
}

/// A moment in a request's life. More may come: a `switch` over them has a `default`.
///
///     start
///       adapt                                      where adapters have changed something
///       create, or failCreation                    an attempt
///         beginHop
///           sendBody… rewindBody
///           receiveHead receiveBody… continueFile
///           gatherMetrics                          and with them queue, lookup, connection, TLS, sending, first byte
///         endHop
///         redirect, or amend                       and the next hop
///         decode
///         validate
///         placeFile
///         serialize…
///       retry                                      and the next attempt
///     finish
///       serialize…                                 of late serializers
///
/// Of `start` and `finish`, `beginHop` and `endHop` each has the other. What is in memory is decoded and validated when its
/// hop has ended; a stream and a download are validated before their bytes are handed on, which is before `endHop`. At any
/// time there may be `suspend`, `resume`, `cancel` and `ignoreOption`. A request that is cancelled unstarted has no `start`.
public enum RequestEvent: Sendable {
    /// The first serializer or `resume()` set it going.
    case start
    /// Adapters have made another request of the one that was built.
    case adapt(from: OutgoingRequest, to: OutgoingRequest)
    /// An attempt's request could not be built or adapted: the error's stage says which.
    case failCreation(RequestError)
    /// An attempt's request is built and adapted.
    case create(OutgoingRequest)
    /// A request is handed to the transport.
    case beginHop(OutgoingRequest)
    /// So many bytes of its body are sent by now.
    case sendBody(UInt64)
    /// The connection was lost, and the body is begun again.
    case rewindBody
    /// The response has begun; its body follows.
    case receiveHead(ResponseHead)
    /// The next bytes of the body, so many of them. Where a monitor is behind, it is told of several such moments as of one.
    case receiveBody(Int)
    /// The server sends the rest of a file, of which so many bytes are there.
    case continueFile(from: UInt64)
    /// How long the hop has waited, looked up its host, connected, secured, sent, waited for the first byte, as far as the
    /// transport can tell: `TransactionMetrics` makes a timeline of it.
    case gatherMetrics(TransportMetrics)
    /// The hop is over, with the transport's error if it failed.
    case endHop(TransportError?)
    /// The response was a redirect, and this request follows it.
    case redirect(OutgoingRequest)
    /// The same server is asked once more, with this request: a challenge is answered, `Expect` left out, or a whole file
    /// asked for in place of its rest.
    case amend(OutgoingRequest)
    /// The content codings of a body in memory are undone: so many bytes came, and so many became of them.
    case decode([String], from: Int, to: Int)
    /// Every validator has spoken.
    case validate(RequestError?)
    /// A download's file is whole, and in its place, which is this one. A serializer that fails may still have a retrier
    /// fetch it anew.
    case placeFile(URL)
    /// A serializer has ended, with a failure of its own or without.
    case serialize(RequestError?)
    /// An attempt failed and another one follows, after the delay.
    case retry(RequestError, after: Duration?)
    /// The request waits for `resume()`.
    case suspend
    /// The request goes on.
    case resume
    /// Somebody has cancelled the request.
    case cancel
    /// Whole and final; completions are delivered next.
    case finish(RequestError?)
    /// A validator, interceptor or monitor came too late to count.
    case ignoreOption(String)
}

extension RequestEvent {
    /// The case's name, without what it carries, which may be secret.
    public var name: String { Mirror(reflecting: self).children.first?.label ?? "\(self)" }

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
