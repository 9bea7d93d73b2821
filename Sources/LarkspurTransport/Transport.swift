/// The interface between the framework and the network. A transport performs single HTTP hops.
///
/// The framework above a transport handles redirects, retries, validation and trust. The transport handles connections.
/// This contract is for authors of transports. Each rule of the contract has a number. The contract suite tests each
/// rule on every transport. Some rules depend on the transport's ``TransportCapabilities``. For these, the suite tests
/// the capabilities that the transport states.
///
/// **Making and starting**
/// - T1 A new task waits: it sends no byte and delivers no event before its first `resume()` or `cancel()`.
/// - T2 A task performs exactly one hop: it delivers a redirect, a 401 or a cookie unchanged and never acts on it.
///   With `.sendsOnce`, the task sends the request again only if the peer has certainly not processed it: the peer has
///   refused it, or the connection was lost before the whole request was sent. If the connection was lost later, an
///   idempotent request is sent again once, and so is the answer to a proxy's challenge; any other request ends the
///   task with `.connectionLost`. `repetitions` in the metrics counts these sendings. A stream that the peer resets
///   without refusing the request ends the task.
/// - T3 The request is sent with the given method, fields and body. With `.keepsRequest`, it is sent exactly as given:
///   the target's spelling, the method's case, the order and repeats of the fields, and the body's declared length. A
///   transport with a cache may answer a request without sending it, or add the fields that validate a stored response.
///
/// **Events**
/// - T4 A task that was resumed or cancelled delivers `.completed` exactly once, as its last event.
/// - T5 Events of one task never overlap and keep this order: `.information`…, `.head`, `.body`…, `.trailers`,
///   `.metrics`, `.completed`. `.bodySent` may come anywhere before `.metrics`. A transport with a cache delivers
///   `.cache` directly before `.head`. A transport with admissions delivers `.admission` before all other events. A
///   transport that waits for the network delivers `.waitsForNetwork` before `.head`, any number of times.
/// - T6 A successful task delivers exactly one head. A failed task delivers at most one head, and body bytes may follow
///   that head. A response that ends before its final head is a failure.
/// - T7 A task that was resumed delivers `.metrics` once, directly before `.completed`. This also applies to tasks that
///   fail or are cancelled.
/// - T8 A head has every field of the response. With `.keepsResponseFields`, it has them as received: order, repeats,
///   bytes. The head of a response from a cache has the stored fields, replaced by those of a validation, and an `Age`.
/// - T9 Body bytes are delivered in order, and each byte exactly once. The transport removes the transfer coding
///   `chunked`. It removes another coding only if it sets `bodyIsDecoded` in the head. Transfer codings other than
///   `chunked`, `gzip` and `deflate` end the task with `.unsupportedCoding`.
/// - T10 A body that ends before its declared length is a failure, never a short success.
/// - T11 `.bodySent` carries the total number of body bytes handed to the network. The number falls only if the body is
///   sent again from its start.
///
/// - T27 The heads of interim (1xx) responses are delivered as `.information` as soon as they arrive. 100 is not
///   delivered. An unrequested 101 ends the task with `.protocolViolation`, and so does the 65th interim head of a hop.
///   All heads and trailers of a hop share one limit of their size. A transport without `.deliversInformation` delivers
///   no interim heads.
/// - T28 If fields follow the response's body, a successful task delivers them once as `.trailers`, after the last
///   `.body`. They are never added to the head. Fields that may not follow a body, such as `Content-Length`,
///   `Set-Cookie` and `Authorization`, are dropped. Fields beyond the limit of size end the task with
///   `.protocolViolation`. A transport without `.deliversTrailers` delivers no trailers. A transport with a cache may
///   drop them.
///
/// **Control**: every member of a task may be called from any thread at any time, also from inside `received`.
/// - T12 `cancel()` ends the task with `.cancelled`, both before and after its start. A task that is cancelled before
///   its start sends nothing.
/// - T13 If `cancel()` races with the end of the task, the outcome is either the task's own end or `.cancelled`, with
///   one `.completed` event in both cases.
/// - T14 `resume()` after `cancel()` or after the end changes nothing. No other member has an effect after the end
///   either.
/// - T15 `suspend()` and `resume()` do not nest. A suspended task delivers at most one more buffer of the response, and
///   reads at most one more buffer of the request's body. After `resume()` both bodies continue where they stopped.
/// - T16 `allow(upTo:)` names an absolute position in the delivered body. At most one buffer begins at or after this
///   position. A body that ends at this position needs no further call. A position below an earlier position changes
///   nothing, so calls may race. With `.holdsBackPeer`, the transport reads no further from the network while the
///   allowance is used up.
/// - T17 The first allowed position is the request's `initialAllowance`.
/// - T18 Suspension and allowance are independent: bytes flow if the task is not suspended and its allowance is not
///   used up.
///
/// **Time**
/// - T23 If one of the request's timeouts passes, the hop ends with `.timedOut`, and the error names the phase. All
///   timeouts start when the hop starts or later, so the time in which the hop waits for a connection slot does not
///   count. The idle timeout does not count the time in which the user of the task pauses the hop. A transport without
///   `.observesConnecting` ignores the timeout for connecting.
///
/// **Request bodies**
/// - T24 If a body cannot be read completely, the hop ends with `.bodyFailed`. This is the case if the body's stream
///   fails or ends early, or if its file has changed since the body was made. A stream's error that already has this
///   code is passed on unchanged.
/// - T29 If a body's source has `trailerNames`, the stream's `trailers` are sent after the body. The transport sends
///   such a request with a version of HTTP in which it can send trailers. If there is none, or if the connection has
///   another version, the task ends with `.unavailable`. A transport without `.sendsTrailers` ends such a request with
///   `.unavailable` and sends nothing.
/// - T30 The response is delivered while the request's body is still being sent. T15 and T16 hold back each direction
///   alone: a paused response does not stop the request's body, and a body without bytes does not stop the response. A
///   final head below 300 changes nothing: the task ends when the response and the body have ended. After a final head
///   from 300 on, the rest of the body is not sent. A transport without `.overlapsBodies` may deliver the response only
///   after the body.
///
/// **Questions**
/// - T19 A question is asked on the thread that delivers events. A question that is unanswered when `answer` returns
///   counts as refused.
/// - T20 Before body bytes are sent a second time within a hop, the transport asks `.bodyFromStart` if the body is a
///   stream. A refusal ends the task with `.bodyNotReplayable`. Data and files are read again without a question.
/// - T25 For a request with `asksForTrust`, the transport asks `.serverTrust` about every TLS connection that the
///   request is to use, new or reused. It asks before it sends the first byte. A refusal ends the task with the error
///   code of the refusal. The answer `.platformDefault` uses the platform's own verdict. A request without
///   `asksForTrust` is sent if the platform's verdict is positive. A transport without `.asksOnReuse` asks only about
///   new connections. Its request may then reuse only a connection that the same delegate has judged for the same host
///   and port, for a request with the same `trustGeneration`. A transport without `.asksForTrust` ends such a request
///   with `.unavailable` and sends nothing.
/// - T33 For a request with `asksForIdentity`, the transport asks `.clientIdentity` before it shows a client
///   certificate to the TLS peer. The request uses only connections that were made with the answer; without an answer,
///   those with the transport's own identity. A transport that cannot keep identities apart ends such a request with
///   `.unavailable` and sends nothing.
///
/// **Upgrades**
/// - T26 A request with `upgrades` asks the peer to switch to another protocol. It is sent over HTTP/1.1 on a
///   connection of its own, which takes no slot of a connection limit, and its body is not part of the HTTP
///   message. If the peer answers with 101, the task delivers this head and opens the body. From then on, the
///   connection carries bytes in both directions: the body's bytes are sent unchanged as soon as the stream has
///   them, and `.body` delivers the received bytes. T15 to T18 apply. When the peer closes its side, the task ends
///   without an error. When the body ends, the task sends the remaining bytes, closes the connection and ends
///   without an error; it does not wait until received bytes are delivered. Without the status 101, the body is not
///   opened, and the task continues as for any other request. The request's timeouts apply until the head of the
///   final response or of the 101 is complete. No `.bodySent` is delivered. A transport without `.upgrades` ends
///   such a request with `.unavailable` and sends nothing. A transport with `.webSockets` instead of `.upgrades` does
///   so for other protocols than WebSocket. For WebSockets it keeps this rule, but the connection carries the messages
///   in frames of the platform's own, and a response without the status 101 has no body.
///
/// **Identity**
/// - T31 `partition` never changes. Two transports have equal partitions only if they send equal requests to the same
///   peers, judge these peers in the same way, and appear to them as the same client. Caches rely on this: a response
///   that one of the two has received is served over the other.
/// - T32 A transport that wraps another transport sends copies of the requests that it gets, so that the members that
///   it does not know are kept. It has at most the capabilities of that transport, and its partition or a part of it.
///   It passes `invalidate()` on. ``TransportWrapper`` has these members.
///
/// **Connections ahead of requests**
/// - T34 A task of ``warmingTask(for:id:delegate:)`` connects to the request's peer as for the request, with the same
///   questions, and sends no byte of it. Then the task ends without an error and without a head, and the connection
///   stays open for a later request. If the transport has an idle connection to the peer, it needs no other one. The
///   rules of events, control, time and lifetime apply.
///
/// **Lifetime**
/// - T21 A task keeps its delegate alive until it has delivered `.completed`, and then releases the delegate.
/// - T22 `invalidate()` ends every resumed task of the transport with `.invalidated`. A task that is resumed later ends
///   with the same error. The transport tells tasks apart by object identity, because two sessions may use the same
///   `TransportTaskID`.
///
/// The transport calls the delegate's functions on its own threads. A member of the task may also call them, on the
/// thread of the member's caller. During these calls, the transport holds no lock that a member of the task needs. The
/// delegate's functions return quickly and never block, because the transport's thread serves other tasks too (rule R2
/// in Concurrency.md).
public protocol Transport: AnyObject, Sendable {
    /// Makes a task for one hop. The task waits for its first `resume()` (T1). This function may be called on any
    /// thread.
    func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask

    /// Makes a task that only opens a connection for requests like this one (T34). Returns nil, the default, if the
    /// transport opens no connections ahead of requests. This function may be called on any thread.
    func warmingTask(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> (any TransportTask)?

    /// Ends the transport and its tasks permanently (T22). This function may be called on any thread, any number of
    /// times.
    func invalidate()

    /// The parts of the contract that this transport keeps although not every engine can; all by default.
    ///
    /// The value never changes. A transport that wraps another transport returns the capabilities of that transport.
    var capabilities: TransportCapabilities { get }

    /// The settings that decide which response a request gets (T31); by default a partition of this object alone.
    ///
    /// With the default, a cache serves responses only over the object that received them, and a cache on disk does not
    /// find them after a restart. To share them, state a partition: ``TransportPartition/common`` for a transport with
    /// default settings, ``TransportPartition/named(_:)`` for other settings, and the partition of the other transport
    /// for a wrapper.
    var partition: TransportPartition { get }
}

extension Transport {
    public var capabilities: TransportCapabilities { .all }

    public func warmingTask(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> (any TransportTask)? { nil }
}
