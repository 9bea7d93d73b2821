/// An observer of requests, for logs, metrics and tests. It cannot change requests.
///
/// The events of a request arrive in order. Each session has a queue for each of its monitors, and calls a monitor with
/// one event at a time. The session calls monitors on separate threads: never on a transport's thread, in the pool of
/// Swift tasks or while it holds a lock. A slow monitor delays neither requests nor other monitors.
///
/// A monitor misses each request that starts while 8,192 or more events wait for the monitor. The monitor receives no
/// event of such a request, and learns the number of missed requests by ``didMiss(_:)``. Of earlier requests, it then
/// misses the events of WebSockets, and learns their number by ``didDrop(_:)``. A monitor that must not miss requests,
/// such as a recorder, sets ``delaysRequests``.
public protocol EventMonitor: Sendable {
    /// Called with each event of a request.
    func request(_ request: any Request, did event: RequestEvent)

    /// Whether requests wait for the monitor, so that it misses none of them. False by default. The session reads this
    /// property once.
    ///
    /// If true, each hop of a request begins only while there is room in the monitor's queue: fewer than 8,192 events
    /// and less than 8 MiB of copied bodies wait. A cancel or a timeout ends this wait. Hops in flight do not wait, so
    /// their events can exceed these numbers. While the queue is full, it drops events whose number has no limit (those
    /// of WebSockets, `suspend`, `resume`, `ignoreOption`), and copied bodies while 16 MiB of them wait. The monitor
    /// learns the number of dropped events by ``didDrop(_:)``.
    ///
    /// The requests of the session are then as slow as the monitor, and a monitor that never returns holds up all of
    /// them. A request that the monitor itself makes while it is called does not wait for the monitor, also if a `Task`
    /// of the monitor makes the request. A request that it makes in a detached task or on a dispatch queue does wait:
    /// the monitor must not block until such a request has ended.
    var delaysRequests: Bool { get }

    /// The maximum number of bytes of each body that the monitor receives in events ``RequestEvent/copyBody(_:)``. The
    /// default, 0, means that it receives no such events. The session reads this property once.
    var bodyLimit: Int { get }

    /// The interval at which the monitor receives the values of streams in events ``RequestEvent/parse(_:)``: 1 for
    /// each value, 100 for each hundredth. The default, 0, means that it receives no such events. The error of a parser
    /// is received with each interval but 0. The session reads this property once. A reader of a stream knows the
    /// monitors that the request has when the reader begins.
    var parsingInterval: Int { get }

    /// Called with the number of events that were dropped because the monitor was too slow: copied parts of bodies,
    /// events of WebSockets, values of streams and, if the monitor delays requests, other events whose number has no
    /// limit. Does nothing by default.
    func didDrop(_ events: Int)

    /// Called with the number of requests that the monitor missed because it was too slow. Does nothing by default.
    func didMiss(_ requests: Int)

    /// Called when the session was invalidated, with the transport's error if an error was the reason. From then on,
    /// all requests of the session fail. Does nothing by default.
    func sessionDidInvalidate(_ error: (any Error)?)
}

extension EventMonitor {
    public var delaysRequests: Bool { false }
    public var parsingInterval: Int { 0 }
    public var bodyLimit: Int { 0 }
    public func didDrop(_ events: Int) {}
    public func didMiss(_ requests: Int) {}
    public func sessionDidInvalidate(_ error: (any Error)?) {}
}

/// An event of a request. Further cases may be added: give each `switch` a `default`.
///
///     start
///       adapt                                      if adapters have changed the request
///       create, or failCreation                    of an attempt
///         beginHop
///           awaitAdmission, admit                  if a limit makes the hop wait
///           waitForNetwork                         if the transport waits for the network
///           evaluateServer                         if the session has evaluators for the server
///           sendBody… rewindBody                 and copyBody…, for monitors with a bodyLimit
///           receiveInformation…                    the heads of interim responses
///           cache                                if the session has a cache
///           receiveHead receiveBody… continueFile  and copyBody…, likewise
///           receiveTrailers                        the fields after the body
///           gatherMetrics                          the durations of the hop's phases
///         endHop
///         redirect, or amend                       before the next hop
///         decode
///         validate
///         webSocket…
///         placeFile
///         serialize…
///         waitForNetwork                           if an OfflineRetrier waits for the network
///       retry                                      before the next attempt
///     finish
///       serialize…                                 of serializers that end after the finish
///
/// Every `start` is followed by one `finish`, every `beginHop` by one `endHop`. A body in memory is decoded and
/// validated after its hop has ended. A stream or a download is validated before its first bytes are delivered, which
/// is before `endHop`. The events `suspend`, `resume`, `cancel` and `ignoreOption` can occur at any time, `advise` in
/// place of `validate`, and `parse…` from `receiveBody` on, also after `finish`. A request that is cancelled before it
/// starts has no `start`.
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum RequestEvent: Sendable {
    /// The first serializer or `resume()` has started the request.
    case start
    /// An adapter has replaced the request that was built.
    case adapt(from: OutgoingRequest, to: OutgoingRequest)
    /// Building or adapting the request of an attempt has failed. The error's stage says which of the two has failed.
    case failCreation(RequestError)
    /// The request of an attempt is built and adapted.
    case create(OutgoingRequest)
    /// A request is passed to the transport.
    case beginHop(OutgoingRequest)
    /// The hop waits, because a limit of the session does not allow it yet.
    case awaitAdmission
    /// The hop has waited this long, and is sent now.
    case admit(after: Duration)
    /// The total number of bytes of the request's body that were sent so far.
    case sendBody(UInt64)
    /// The connection was lost, and the body is sent again from its beginning.
    case rewindBody
    /// The outcome of the session's cache for the hop; only with a cache.
    case cache(CacheOutcome)
    /// The head of an interim response was received, such as 103.
    case receiveInformation(ResponseHead)
    /// The head of a response was received.
    case receiveHead(ResponseHead)
    /// A part of the response's body was received, with its number of bytes. If the monitor's queue is full, several
    /// such events are merged into one event with the sum of the bytes.
    case receiveBody(Int)
    /// Bytes of a body. Only monitors with an ``EventMonitor/bodyLimit`` receive this event.
    case copyBody(BodyPart)
    /// The fields that follow the response's body were received.
    case receiveTrailers(HTTPHeaders)
    /// The server sends only the rest of a file, because the given number of bytes is already on disk.
    case continueFile(from: UInt64)
    /// The durations of the hop's phases (queue, lookup, connection, TLS, sending, first byte), as far as the transport
    /// knows them. ``HopTimeline`` draws them.
    indirect case gatherMetrics(TransportMetrics)
    /// The hop has ended, with the transport's error if the hop failed.
    case endHop(TransportError?)
    /// The response was a redirect, and the given request follows it.
    case redirect(OutgoingRequest)
    /// The given request is sent to the same server again. This request answers a challenge, omits `Expect`, or
    /// requests a whole file instead of its rest.
    case amend(OutgoingRequest)
    /// The content codings of a body in memory were decoded. The values are the names of the codings, and the size of
    /// the body in bytes before and after decoding.
    case decode([String], from: Int, to: Int)
    /// Validation has ended, with an error if a validator failed.
    case validate(ValidationEvent)
    /// A download's file is complete and at its place. If a serializer then fails, a retrier may still cause another
    /// download.
    case placeFile(FileEvent)
    /// A serializer has ended, with its error if the serializer failed.
    case serialize(SerializationEvent)
    /// A reader of a stream has parsed a value, or its parser has failed. Only monitors with a
    /// ``EventMonitor/parsingInterval`` receive this event.
    case parse(ParsingEvent)
    /// The session's evaluators have judged the server, before the first byte of a hop is sent to it.
    indirect case evaluateServer(ServerEvaluationEvent)
    /// The request waits until the network is available: an `OfflineRetrier` waits after a failure, or the transport
    /// before it connects.
    case waitForNetwork(NetworkWaitEvent)
    /// An attempt has failed, and the next attempt starts after the delay.
    case retry(RequestError, after: Duration?)
    /// The request waits for `resume()`.
    case suspend
    /// The request continues.
    case resume
    /// The request was cancelled.
    case cancel
    /// The request has finished. Its responses are delivered next.
    case finish(RequestError?)
    /// An event of a WebSocket, between `receiveHead` and `endHop`.
    case webSocket(WebSocketEvent)
    /// The session makes a remark about the program, once for each kind of remark.
    case advise(Advice)
    /// A setting was added after the request had finished, so it has no effect. The string names the kind of the
    /// setting: a validator, interceptor, monitor and so on.
    case ignoreOption(String)
}

extension RequestEvent {
    /// The name of the case, without its associated values, which may be secret.
    public var name: String { Mirror(reflecting: self).children.first?.label ?? "\(self)" }

    init(_ event: TransportEvent, of request: OutgoingRequest) {
        switch event {
        case .waitsForNetwork: self = .waitForNetwork(NetworkWaitEvent(host: request.url.host.map(String.init)))
        case .admission(.waits): self = .awaitAdmission
        case .admission(.admitted(let time)): self = .admit(after: time)
        case .cache(let outcome): self = .cache(outcome)
        case .information(let head): self = .receiveInformation(head)
        case .head(let head): self = .receiveHead(head)
        case .body(let bytes): self = .receiveBody(bytes.count)
        case .trailers(let fields): self = .receiveTrailers(fields)
        case .bodySent(let count): self = .sendBody(count)
        case .metrics(let metrics): self = .gatherMetrics(metrics)
        case .completed(let error): self = .endHop(error)
        }
    }
}
