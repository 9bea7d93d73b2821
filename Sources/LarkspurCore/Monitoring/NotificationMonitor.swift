#if Foundation || canImport(Darwin)
    /// A monitor that posts notifications of the events of requests.
    ///
    ///     let session = Session(eventMonitors: [NotificationMonitor()])
    ///     center.addObserver(forName: .larkspurRequestDidFinish, object: nil, queue: nil) {
    ///         print($0.larkspurRequest?.error ?? "done")
    ///     }
    ///
    /// The object of a notification is the request. The center calls an observer that has no queue on the monitor's
    /// thread.
    public struct NotificationMonitor: EventMonitor {
        private let center: NotificationCenter

        /// Creates a monitor that posts to the center.
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
        /// Posted when the first serializer or `resume()` has started a request.
        public static let larkspurRequestDidStart = Self("larkspur.request.didStart")
        /// Posted when a request waits for `resume()`.
        public static let larkspurRequestDidSuspend = Self("larkspur.request.didSuspend")
        /// Posted when a suspended request continues.
        public static let larkspurRequestDidResume = Self("larkspur.request.didResume")
        /// Posted when a request was cancelled.
        public static let larkspurRequestDidCancel = Self("larkspur.request.didCancel")
        /// Posted when a hop of a request is passed to the transport.
        public static let larkspurRequestDidBeginHop = Self("larkspur.request.didBeginHop")
        /// Posted when a hop of a request has ended.
        public static let larkspurRequestDidEndHop = Self("larkspur.request.didEndHop")
        /// Posted when a request has finished.
        public static let larkspurRequestDidFinish = Self("larkspur.request.didFinish")
    }

    extension Notification {
        /// The request of a notification that a ``NotificationMonitor`` has posted.
        public var larkspurRequest: (any Request)? { object as? any Request }
    }
#endif
