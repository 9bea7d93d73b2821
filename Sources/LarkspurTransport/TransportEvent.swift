/// The facts that a transport reports of one task, in the order the contract gives them (T5).
public enum TransportEvent: Sendable {
    /// The final response head has arrived.
    case head(ResponseHead)
    /// The next bytes of the response body.
    case body(Data)
    /// So many bytes of the request's body have been handed to the network by now.
    case bodySent(UInt64)
    /// Where the time went. Boxed: it is large, and all other events are small.
    indirect case metrics(TransportMetrics)
    /// The task has ended: well, or with this error. Always the last event.
    case completed(TransportError?)
}
