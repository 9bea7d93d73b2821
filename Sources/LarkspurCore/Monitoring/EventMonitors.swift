/// A monitor that calls a closure.
///
///     ClosureEventMonitor { request, event in counter.count(event.name) }
public struct ClosureEventMonitor: EventMonitor {
    private let perform: @Sendable (any Request, RequestEvent) -> Void

    /// Creates a monitor that calls the closure with each event.
    public init(_ perform: @escaping @Sendable (any Request, RequestEvent) -> Void) {
        self.perform = perform
    }

    public func request(_ request: any Request, did event: RequestEvent) { perform(request, event) }
}

/// A monitor that passes each event on to several monitors, one after the other. These monitors share one queue.
public struct CompositeEventMonitor: EventMonitor {
    /// The monitors, in the order in which they are called.
    public let monitors: [any EventMonitor]

    /// Creates a monitor that calls the given monitors in their order.
    public init(_ monitors: [any EventMonitor]) { self.monitors = monitors }

    public func request(_ request: any Request, did event: RequestEvent) {
        for monitor in monitors {
            if !event.dependsOnReader {
                monitor.request(request, did: event)
            } else if let event = event.cut(to: monitor.bodyLimit, monitor.parsingInterval) {
                monitor.request(request, did: event)
            }
        }
    }

    /// Whether one of the monitors delays requests.
    public var delaysRequests: Bool { monitors.contains(where: \.delaysRequests) }

    /// The largest limit of the monitors. Each monitor receives bodies up to its own limit.
    public var bodyLimit: Int { monitors.map(\.bodyLimit).max() ?? 0 }

    /// The largest interval that has the values of all monitors. Each monitor receives the values of its own interval.
    public var parsingInterval: Int { monitors.reduce(0) { .commonDivisor($0, max(0, $1.parsingInterval)) } }

    public func didDrop(_ events: Int) {
        for monitor in monitors { monitor.didDrop(events) }
    }

    public func didMiss(_ requests: Int) {
        for monitor in monitors { monitor.didMiss(requests) }
    }

    public func sessionDidInvalidate(_ error: (any Error)?) {
        for monitor in monitors { monitor.sessionDidInvalidate(error) }
    }
}
