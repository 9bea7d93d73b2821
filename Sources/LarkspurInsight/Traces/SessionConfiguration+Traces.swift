import Larkspur

extension SessionConfiguration {
    /// Adds a monitor of traces in both places that it needs: ``eventMonitors`` and ``hopFields``.
    ///
    ///     SessionConfiguration { $0.trace(with: TraceMonitor(recorder: bridge)) }
    public mutating func trace(with monitor: TraceMonitor) {
        hopFields.append(monitor)
        eventMonitors.append(monitor)
    }
}
