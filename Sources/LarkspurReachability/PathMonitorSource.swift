#if canImport(Network)
    internal import Network

    /// The statuses of `NWPathMonitor`, which runs from the first use to the end of the process.
    final class PathMonitorSource: NetworkSource {
        private struct State {
            /// Nil until the first use.
            var monitor: NWPathMonitor?
            var status = NetworkStatus.unknown
            var lastID = 0
            var reports: [Int: Report] = [:]
        }

        private let box = Protected(State())
        private let queue = DispatchQueue(label: "Larkspur network")

        func prepare() {
            box.withLock { state in
                guard state.monitor == nil else { return }
                let monitor = NWPathMonitor()
                monitor.pathUpdateHandler = { [weak self] path in self?.receive(NetworkStatus(path)) }
                // The handler is called on the queue, never here under the lock.
                monitor.start(queue: queue)
                state.monitor = monitor
            }
        }

        func status() -> NetworkStatus {
            prepare()
            return box.withLock { $0.status }
        }

        func watch(_ report: @escaping Report) -> Cancel {
            prepare()
            let id = box.withLock { state in
                state.lastID += 1
                state.reports[state.lastID] = report
                return state.lastID
            }
            // A change after the caller's `status()` may have been delivered before the report was added. The queue
            // keeps the reports in order.
            queue.async { [weak self] in
                guard let self else { return }
                let (report, status) = box.withLock { ($0.reports[id], $0.status) }
                report?(status)
            }
            return { [weak self] in _ = self?.box.withLock { $0.reports.removeValue(forKey: id) } }
        }

        private func receive(_ status: NetworkStatus) {
            let reports = box.withLock { state in
                state.status = status
                return Array(state.reports.values)
            }
            for report in reports { report(status) }
        }
    }

    extension NetworkStatus {
        init(_ path: NWPath) {
            let kinds: [(NWInterface.InterfaceType, InterfaceKind)] = [
                (.wiredEthernet, .wiredEthernet), (.wifi, .wifi), (.cellular, .cellular), (.loopback, .loopback),
                (.other, .other),
            ]
            // A path that requires a connection gets one when a request is sent, such as a VPN on demand.
            self.init(
                isReachable: path.status != .unsatisfied,
                interfaces: Set(kinds.filter { path.usesInterfaceType($0.0) }.map(\.1)),
                isExpensive: path.isExpensive, isConstrained: path.isConstrained, supportsIPv4: path.supportsIPv4,
                supportsIPv6: path.supportsIPv6)
        }
    }
#endif
