/// The interface between the framework and the network. A transport performs single HTTP hops.
///
/// Above a transport are rules (redirects, retries, validation, trust); below it are sockets. This contract is for
/// authors of transports. Each sentence has a number. For each sentence, the contract suite has a test that runs on
/// every transport. Some sentences hold as far as the transport's ``TransportCapabilities`` say; the suite asks a
/// transport for those that it states.
///
/// **Making and starting**
/// - T1 A task that was only made does nothing: it sends no byte and delivers no event before its first `resume()` or
///   `cancel()`.
/// - T2 A task performs exactly one hop: it delivers a redirect, a 401 or a cookie unchanged and never acts on it. A
///   transport with `.sendsOnce` sends the request again only if the peer has certainly not processed it.
/// - T3 The request is sent with the given method, fields and body, and no byte of the body is changed. With
///   `.keepsRequest`, the target, the case of the method, the order and repeats of the fields and the declared length
///   are kept too, and no field is added that the protocol does not need.
///
/// **Events**
/// - T4 A task that was resumed or cancelled delivers `.completed` exactly once, as its last event.
/// - T5 Events of one task never overlap and keep this order: `.head`, `.body`…, `.metrics`, `.completed`. `.bodySent`
///   may come anywhere before `.metrics`. Interim (1xx) heads are not delivered.
/// - T6 A success has exactly one head; a failure has at most one, and body bytes may follow it. An end before the
///   final head is a failure.
/// - T7 `.metrics` comes once, just before `.completed`, if the task was resumed; failures and cancels are no
///   exception.
/// - T8 A head has every field with its value. With `.keepsResponseFields`, order, repeats and bytes are as received.
/// - T9 Body bytes are delivered in order, none lost, none twice. The transport removes the transfer coding `chunked`,
///   and no other coding unless the head says `bodyIsDecoded`. Transfer codings other than `chunked`, `gzip` and
///   `deflate` end the task with `.unsupportedCoding`.
/// - T10 A body that ends before its declared length is a failure, never a short success.
/// - T11 `.bodySent` carries the absolute count of body bytes handed to the network. The count never falls unless the
///   body is sent again from its start.
///
/// **Control**: every member of a task may be called from any thread at any time, also from inside `received`.
/// - T12 `cancel()` ends the task with `.cancelled`, before the start (the task then sends nothing) as well as after
///   it.
/// - T13 If `cancel()` races the end of the task, the outcome is either the task's own end or `.cancelled`, with one
///   completion in both cases.
/// - T14 `resume()` after `cancel()` or after the end changes nothing. No other member has an effect after the end
///   either.
/// - T15 `suspend()` and `resume()` do not nest. A suspended task delivers at most one more buffer and reads at most
///   one more from the request's body. After `resume()` both continue where they stopped.
/// - T16 `allow(upTo:)` names an absolute position in the body, as delivered. At most one buffer begins at or after it,
///   and a body that ends at it needs no further position. A position below an earlier one changes nothing, so calls
///   may race. With `.holdsBackPeer`, the transport reads no further from the network either, but for one buffer.
/// - T17 The first position is the request's `initialAllowance`.
/// - T18 Suspension and allowance are independent: bytes flow if the task is not suspended and its allowance is not
///   used up.
///
/// **Time**
/// - T23 A hop that passes one of its request's timeouts ends with `.timedOut`, which names the phase. The clocks start
///   with the hop: waiting for a connection slot does not count, nor does a pause that the user of the task makes. The
///   limit for connecting is kept with `.observesConnecting`.
///
/// **Request bodies**
/// - T24 A body that cannot be read completely ends the hop with `.bodyFailed`: its stream fails or ends early, or its
///   file has changed since the body was made. A stream's error that already has this code is passed on unchanged.
///
/// **Questions**
/// - T19 A question is asked on the thread that delivers events. It counts as refused if it is unanswered when `answer`
///   returns.
/// - T20 Before body bytes are sent a second time within a hop, the transport asks `.bodyFromStart` if the body is a
///   stream. A refusal ends the task with `.bodyNotReplayable`. Data and files are read again without a question.
/// - T25 For a request with `asksForTrust`, the transport asks `.serverTrust` about every TLS connection that the
///   request is to use, new or reused. It asks before it sends the first byte. A refusal ends the task with the code
///   that it names; `.platformDefault` uses the platform's own verdict. All other requests are sent if that verdict is
///   positive. Without `.asksOnReuse`, a request uses only new connections and those that the same delegate has judged
///   for the same host and port. Without `.asksForTrust`, such a request ends with `.unavailable` and sends nothing.
///
/// **Lifetime**
/// - T21 A task keeps its delegate alive until it has delivered `.completed`, and releases it then.
/// - T22 `invalidate()` ends every resumed task of the transport with `.invalidated`; a task that is resumed later ends
///   in the same way. Tasks are identified by identity: two sessions may use the same `TransportTaskID`.
///
/// The transport calls the delegate's functions on its own threads or, from inside a member of the task, on the
/// caller's thread. During these calls it holds no lock that a member of the task needs. The functions return quickly
/// and never block (rule R2 in Concurrency.md).
public protocol Transport: AnyObject, Sendable {
    /// Makes a task for one hop, on any thread. The task waits for its first `resume()` (T1).
    func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask

    /// Ends the transport permanently. It may be called on any thread, any number of times (T22).
    func invalidate()

    /// The sentences of the contract that the transport keeps although not every engine can; all by default. The value
    /// never changes. A transport around another transport returns that transport's capabilities.
    var capabilities: TransportCapabilities { get }
}

extension Transport {
    public var capabilities: TransportCapabilities { .all }
}
