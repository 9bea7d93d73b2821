/// Moves the bytes of single HTTP exchanges: the seam between the framework and the network.
///
/// Above it are rules (redirects, retries, validation, trust); below it are sockets. Whoever writes a transport reads
/// this contract; each sentence has a number, and a test of the contract suite that quotes it runs over every transport.
///
/// **Making and starting**
/// - T1 A task that was only made does nothing: no byte is sent and no event delivered before its first `resume()` or
///   `cancel()`.
/// - T2 A task performs exactly one hop: a redirect, a 401 or a cookie is delivered as it came and never acted on.
/// - T3 The request is sent as given: method, target, field order and repeats, and every byte of the body.
///
/// **Events**
/// - T4 A task that was resumed or cancelled delivers `.completed` exactly once, as its last event.
/// - T5 Events of one task never overlap and keep this order: `.head`, `.body`…, `.metrics`, `.completed`; `.bodySent`
///   may stand anywhere before `.metrics`. Interim (1xx) heads are not delivered.
/// - T6 A success has exactly one head; a failure has at most one, and may have body bytes after it. An end before the
///   final head is a failure.
/// - T7 `.metrics` comes once, just before `.completed`, whenever the task was resumed, failures and cancels included.
/// - T8 A head keeps every field as it came: order, repeats, bytes.
/// - T9 Body bytes are delivered in order, none lost, none twice. The transport undoes the transfer coding `chunked` and no
///   other coding, unless the head says `bodyIsDecoded`. Transfer codings other than `chunked`, `gzip` and `deflate` end the
///   task with `.unsupportedCoding`.
/// - T10 A body that ends before its declared length is a failure, never a short success.
/// - T11 `.bodySent` carries the absolute count of body bytes handed to the network, which never falls unless the body
///   was begun again.
///
/// **Steering**: every member of a task may be called from any thread at any time, also from inside `received`.
/// - T12 `cancel()` ends the task with `.cancelled`, before the start (nothing is sent then) as well as after.
/// - T13 `cancel()` racing the end has one of two outcomes, the true end or `.cancelled`, and one completion either way.
/// - T14 `resume()` after `cancel()` or after the end changes nothing; nor does any other member after the end.
/// - T15 `suspend()` and `resume()` do not nest; while suspended at most one more buffer is delivered, and at most one
///   more taken from the request's body; after `resume()` both go on where they stood.
/// - T16 `allow(upTo:)` names an absolute position in the body, as delivered: at most one buffer begins at or past it, and
///   a body that ends at it needs no further position. A position below an earlier one changes nothing, so calls may race.
/// - T17 The first position is the request's `initialAllowance`.
/// - T18 A suspension and a used-up allowance are independent: bytes flow when neither holds.
///
/// **Time**
/// - T23 A hop that passes one of its request's timeouts ends with `.timedOut`, which names the phase. The clocks start
///   when the hop does: waiting for a place does not count, nor does a pause that its user made.
///
/// **Bodies of requests**
/// - T24 A body that cannot be had whole ends the hop with `.bodyFailed`: its stream fails or ends early, or its file is
///   not the one it was when the body was made. A stream's error that has this code already is passed on as it is.
///
/// **Questions**
/// - T19 A question is asked on the thread that delivers events, and counts as refused if it is unanswered when
///   `answer` returns.
/// - T20 Before body bytes are sent a second time within a hop, `.bodyFromStart` is asked if the body is a stream; a
///   refusal ends the task with `.bodyNotReplayable`. Data and files are read again without asking.
/// - T25 A request that says so is asked `.serverTrust` about every TLS connection that it is to go over, new or kept, before
///   its first byte is sent; a refusal ends the task with the code that it names, `.platformDefault` leaves the platform's
///   own verdict. All others go where that verdict is good.
///
/// **Lifetime**
/// - T21 A task keeps its delegate alive until it has delivered `.completed`, and lets go of it then.
/// - T22 `invalidate()` ends every resumed task of the transport with `.invalidated`; a task resumed later ends so too.
///   Tasks are told apart by identity: two sessions may use the same `TransportTaskID`.
///
/// The delegate's functions are called on the transport's own threads (or, from inside a member, on the caller's), never
/// with a lock held that a member of the task would want. They return quickly and never block (R2).
public protocol Transport: AnyObject, Sendable {
    /// Makes a task for one hop; any thread. The task waits for its first `resume()` (T1).
    func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask

    /// Ends the transport for good; any thread, any number of times (T22).
    func invalidate()
}
