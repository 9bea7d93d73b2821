/// A monitor of a closure.
///
///     ClosureEventMonitor { request, event in counter.count(event.name) }
public struct ClosureEventMonitor: EventMonitor {
    private let perform: @Sendable (any Request, RequestEvent) -> Void

    /// A monitor that calls the closure with each event.
    public init(_ perform: @escaping @Sendable (any Request, RequestEvent) -> Void) {
        self.perform = perform
    }

    public func request(_ request: any Request, did event: RequestEvent) { perform(request, event) }
}

/// Several monitors as one: they share a mailbox, and each is told of an event before any is told of the next.
public struct CompositeEventMonitor: EventMonitor {
    /// In the order in which they are told.
    public let monitors: [any EventMonitor]

    /// A monitor that tells these, in their order.
    public init(_ monitors: [any EventMonitor]) { self.monitors = monitors }

    public func request(_ request: any Request, did event: RequestEvent) {
        for monitor in monitors { monitor.request(request, did: event) }
    }

    public func didMiss(_ requests: Int) {
        for monitor in monitors { monitor.didMiss(requests) }
    }

    public func sessionDidInvalidate(_ error: (any Error)?) {
        for monitor in monitors { monitor.sessionDidInvalidate(error) }
    }
}

/// Posts notifications of what happens to requests, for code that is far from where they are made.
///
///     let session = Session(eventMonitors: [NotificationMonitor()])
///     center.addObserver(forName: .larkspurRequestDidFinish, object: nil, queue: nil) { print($0.larkspurRequest?.error ?? "done") }
///
/// Their object is the request. Observers without a queue are called where monitors are.
public struct NotificationMonitor: EventMonitor {
    private let center: NotificationCenter

    /// A monitor that posts to this center.
    public init(center: NotificationCenter = .default) { self.center = center }

    public func request(_ request: any Request, did event: RequestEvent) {
        switch event {
        case .start: center.post(name: .larkspurRequestDidStart, object: request)
        case .suspend: center.post(name: .larkspurRequestDidSuspend, object: request)
        case .resume: center.post(name: .larkspurRequestDidResume, object: request)
        case .cancel: center.post(name: .larkspurRequestDidCancel, object: request)
        case .beginHop: center.post(name: .larkspurRequestDidBeginHop, object: request)
        case .endHop: center.post(name: .larkspurRequestDidEndHop, object: request)
        case .finish: center.post(name: .larkspurRequestDidFinish, object: request)
        default: break
        }
    }
}

extension Notification.Name {
    /// The first serializer or `resume()` set a request going.
    public static let larkspurRequestDidStart = Self("larkspur.request.didStart")
    /// A request waits for `resume()`.
    public static let larkspurRequestDidSuspend = Self("larkspur.request.didSuspend")
    /// A request goes on.
    public static let larkspurRequestDidResume = Self("larkspur.request.didResume")
    /// Somebody has cancelled a request.
    public static let larkspurRequestDidCancel = Self("larkspur.request.didCancel")
    /// A request is handed to the transport, for the first time or once more.
    public static let larkspurRequestDidBeginHop = Self("larkspur.request.didBeginHop")
    /// A hop of a request is over.
    public static let larkspurRequestDidEndHop = Self("larkspur.request.didEndHop")
    /// A request is final.
    public static let larkspurRequestDidFinish = Self("larkspur.request.didFinish")
}

extension Notification {
    /// The request that a notification of `NotificationMonitor` is about.
    public var larkspurRequest: (any Request)? { object as? any Request }
}
