/// An event that a transport reports about a task. The contract defines the order of events (T5 in `Transport`).
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum TransportEvent: Sendable {
    /// The hop waits until it may be sent, or its wait has ended. Only a transport with admissions reports it, before
    /// all other events, and only if the hop has to wait.
    case admission(AdmissionEvent)
    /// The hop waits until the network is available. Only a transport that can wait for it reports it.
    case waitsForNetwork
    /// The outcome of the cache. Only a transport with a cache reports it, once, directly before the head.
    case cache(CacheOutcome)
    /// The head of an interim response other than 100 and 101 has arrived (T27 in `Transport`).
    case information(ResponseHead)
    /// The final response head has arrived.
    case head(ResponseHead)
    /// The next bytes of the response body.
    case body(Data)
    /// The fields that follow the response body have arrived (T28 in `Transport`).
    case trailers(HTTPHeaders)
    /// The total number of bytes of the request's body that the transport has handed to the network so far.
    case bodySent(UInt64)
    /// The times and counts of the hop. The case is indirect because it is large and all other events are small.
    indirect case metrics(TransportMetrics)
    /// The task has ended: successfully if the error is nil. This is always the last event.
    case completed(TransportError?)
}

/// A part of the wait of a hop that must not be sent yet.
public enum AdmissionEvent: Sendable, Hashable {
    /// The hop waits.
    case waits
    /// The hop has waited this long, and is sent now.
    case admitted(after: Duration)
}
