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
/// Capabilities and partition are those of the base, and `warmingTask(for:id:delegate:)` and `invalidate()` are passed
/// on. A wrapper that changes requests
/// so that a server may answer in another way states a partition of its own, for instance
/// `base.partition.adding("staging")`.
public protocol TransportWrapper: Transport {
    /// The transport that sends the requests. It never changes.
    var base: any Transport { get }
}

extension TransportWrapper {
    public var capabilities: TransportCapabilities { base.capabilities }

    public var partition: TransportPartition { base.partition }

    public func warmingTask(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> (any TransportTask)? { base.warmingTask(for: request, id: id, delegate: delegate) }

    public func invalidate() { base.invalidate() }
}
