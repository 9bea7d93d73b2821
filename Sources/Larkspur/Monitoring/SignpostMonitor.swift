#if canImport(os)
    import os

    /// Shows requests and their hops as intervals in Instruments, and what happens within them as events.
    ///
    ///     let session = Session(eventMonitors: [SignpostMonitor(subsystem: "com.example.shop")])
    ///
    /// An interval says which request it is of and nothing that may be secret.
    public struct SignpostMonitor: EventMonitor {
        private let signposter: OSSignposter

        /// Intervals stand under these names.
        public init(subsystem: String, category: String = "Larkspur") {
            signposter = OSSignposter(subsystem: subsystem, category: category)
        }

        public func request(_ request: any Request, did event: RequestEvent) {
            let number = request.id.number
            let id = OSSignpostID(number)
            // Intervals of one request nest, and names tell them apart, so a state can be made anew where one ends.
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
