/// An event that a transport reports about a task. The contract defines the order of events (T5 in `Transport`).
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum TransportEvent: Sendable {
    /// The outcome of the cache. Only a transport with a cache reports it, once, directly before the head.
    case cache(CacheOutcome)
    /// The final response head has arrived.
    case head(ResponseHead)
    /// The next bytes of the response body.
    case body(Data)
    /// The total number of bytes of the request's body that the transport has handed to the network so far.
    case bodySent(UInt64)
    /// The times and counts of the hop. The case is indirect because it is large and all other events are small.
    indirect case metrics(TransportMetrics)
    /// The task has ended: successfully if the error is nil. This is always the last event.
    case completed(TransportError?)
}
