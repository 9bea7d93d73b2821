import Larkspur
import Testing

@testable import LarkspurCore
@testable import LarkspurReachability

/// A network whose status and routes a test sets.
final class ScriptedNetwork: NetworkSource {
    private struct State {
        var status: NetworkStatus
        var routes: [String: HostRoute] = [:]
        var lastReport = 0
        var reports: [Int: Report] = [:]
        var asked: [String] = []
    }

    static let online = NetworkStatus(isReachable: true, interfaces: [.wiredEthernet], supportsIPv4: true)

    private let box: Protected<State>
    /// How often the source was watched, a watch was cancelled, and a route was asked for.
    let watched = Counter()
    let cancelled = Counter()
    let asked = Counter()
    /// Whether a watch begins with a report of the status. Otherwise a test determines the number of reports.
    private let reportsAtStart: Bool
    /// Is called at the start of each watch.
    private let onWatch: @Sendable (ScriptedNetwork) -> Void

    init(
        _ status: NetworkStatus = .unreachable, reportsAtStart: Bool = false,
        onWatch: @escaping @Sendable (ScriptedNetwork) -> Void = { _ in }
    ) {
        box = Protected(State(status: status))
        (self.reportsAtStart, self.onWatch) = (reportsAtStart, onWatch)
    }

    /// The hosts that were asked for, in order.
    var hosts: [String] { box.withLock { $0.asked } }

    /// Changes the status and routes, and reports that, also if they are the same.
    func become(_ status: NetworkStatus? = nil, routes: [String: HostRoute] = [:]) {
        let (current, reports) = box.withLock { state in
            if let status { state.status = status }
            state.routes.merge(routes) { $1 }
            return (state.status, state.reports.values.map { $0 })
        }
        for report in reports { report(current) }
    }

    func status() -> NetworkStatus { box.withLock { $0.status } }

    func watch(_ report: @escaping Report) -> Cancel {
        onWatch(self)
        let (number, status) = box.withLock { state in
            state.lastReport += 1
            state.reports[state.lastReport] = report
            return (state.lastReport, state.status)
        }
        if reportsAtStart { report(status) }
        watched.increment()
        return {
            self.box.withLock { $0.reports[number] = nil }
            self.cancelled.increment()
        }
    }

    func route(to host: String, within limit: Duration) async -> HostRoute {
        let route = box.withLock { state in
            state.asked.append(host)
            return state.routes[host] ?? (state.status.isReachable ? .exists : .missing)
        }
        asked.increment()
        return route
    }
}
