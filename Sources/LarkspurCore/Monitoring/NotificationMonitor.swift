#if Foundation || canImport(Darwin)
    /// A monitor that posts notifications of the events of requests.
    ///
    ///     let session = Session(eventMonitors: [NotificationMonitor()])
    ///     center.addObserver(forName: .larkspurRequestDidFinish, object: nil, queue: nil) {
    ///         print($0.larkspurRequest?.error ?? "done")
    ///     }
    ///
    /// The object of a notification is the request. The notification of its end, `.larkspurRequestDidFinish`, has the
    /// properties `larkspurError`, `larkspurMetrics`, `larkspurHead`, `larkspurData` and `larkspurFileURL`. The center
    /// calls an observer that has no queue on the monitor's thread.
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
            case .finish(let error):
                center.post(name: .larkspurRequestDidFinish, object: request, userInfo: Self.info(request, error))
            default: break
            }
        }

        public func sessionDidInvalidate(_ error: (any Error)?) {
            center.post(
                name: .larkspurSessionDidInvalidate, object: nil, userInfo: error.map { [Notification.errorKey: $0] })
        }

        private static func info(_ request: any Request, _ error: RequestError?) -> [String: Any] {
            let exchange = request.handle.core.read { $0.exchange }
            var info: [String: Any] = [:]
            info[Notification.errorKey] = error
            info[Notification.metricsKey] = exchange?.metrics
            info[Notification.headKey] = exchange?.head
            info[Notification.dataKey] = exchange?.data
            info[Notification.fileKey] = exchange?.fileURL
            return info
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
        /// Posted when a session was invalidated, with the transport's error if an error was the reason.
        public static let larkspurSessionDidInvalidate = Self("larkspur.session.didInvalidate")
    }

    extension Notification {
        /// The request of a notification that a ``NotificationMonitor`` has posted.
        public var larkspurRequest: (any Request)? { object as? any Request }
        /// The error of a finished request or of an invalidated session; nil if there is none.
        public var larkspurError: (any Error)? { userInfo?[Self.errorKey] as? any Error }
        /// The metrics of a finished request's last hop.
        public var larkspurMetrics: TransportMetrics? { userInfo?[Self.metricsKey] as? TransportMetrics }
        /// The head of a finished request's response.
        public var larkspurHead: ResponseHead? { userInfo?[Self.headKey] as? ResponseHead }
        /// The body of a finished request's response, if it is in memory. It may contain secrets.
        public var larkspurData: Data? { userInfo?[Self.dataKey] as? Data }
        /// The file of a finished download.
        public var larkspurFileURL: URL? { userInfo?[Self.fileKey] as? URL }

        fileprivate static let (errorKey, metricsKey, headKey) = ("larkspur.error", "larkspur.metrics", "larkspur.head")
        fileprivate static let (dataKey, fileKey) = ("larkspur.data", "larkspur.file")
    }
#endif
