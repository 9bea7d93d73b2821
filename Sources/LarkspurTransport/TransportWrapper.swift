/// A transport around another one, to which it passes on what it does not change.
///
///     final class Counting: TransportWrapper {
///         let base: any Transport
///         …
///         func task(
///             for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
///         ) -> any TransportTask {
///             count.add(1)
///             return base.task(for: request, id: id, delegate: delegate)
///         }
///     }
///
/// Capabilities and partition are those of the base, and `invalidate()` is passed on. A wrapper that changes requests
/// so that a server may answer in another way states a partition of its own, for instance
/// `base.partition.adding("staging")`.
public protocol TransportWrapper: Transport {
    /// The transport that sends the requests. It never changes.
    var base: any Transport { get }
}

extension TransportWrapper {
    public var capabilities: TransportCapabilities { base.capabilities }

    public var partition: TransportPartition { base.partition }

    public func invalidate() { base.invalidate() }
}
