#if canImport(os)
    import os

    /// A monitor that shows requests and their hops as intervals in Instruments, and other events as points.
    ///
    ///     let session = Session(eventMonitors: [SignpostMonitor(subsystem: "com.example.shop")])
    ///
    /// An entry contains the number of the request, and the name of the event or the error code. It contains no
    /// secrets.
    public struct SignpostMonitor: EventMonitor {
        private let signposter: OSSignposter

        /// Creates a monitor whose entries have the given subsystem and category.
        public init(subsystem: String, category: String = "Larkspur") {
            signposter = OSSignposter(subsystem: subsystem, category: category)
        }

        public func request(_ request: any Request, did event: RequestEvent) {
            let number = request.id.number
            // The number of a request is unique in its session only, so it does not identify the request here.
            let id = OSSignpostID(UInt64(UInt(bitPattern: ObjectIdentifier(request))))
            // The name and this identifier are enough to find an open interval, because a request has at most one open
            // interval of each name. No state of the interval has to be stored until its end.
            let open = OSSignpostIntervalState.beginState(id: id)
            switch event {
            case .start: _ = signposter.beginInterval("request", id: id, "#\(number)")
            case .finish(let error):
                signposter.endInterval("request", open, "\(error?.code.rawValue ?? "done", privacy: .public)")
            case .beginHop: _ = signposter.beginInterval("hop", id: id, "#\(number)")
            case .endHop(let error):
                signposter.endInterval("hop", open, "\(error?.code.rawValue ?? "done", privacy: .public)")
            default: signposter.emitEvent("event", id: id, "\(event.name, privacy: .public)")
            }
        }
    }
#endif
