import CLarkspurImages
import Larkspur
internal import LarkspurAnnex

#if canImport(Darwin)
    import Dispatch
#endif

/// A source of reports that memory is scarce.
public struct MemoryPressure: Sendable {
    private let start: @Sendable (@escaping @Sendable () -> Void) -> Subscription

    /// Creates a source.
    ///
    /// - Parameter start: Begins to call the closure for each report, until the returned subscription is released.
    public init(start: @escaping @Sendable (@escaping @Sendable () -> Void) -> Subscription) { self.start = start }

    /// The reports of the system.
    ///
    /// On Apple platforms these are the warnings of Dispatch. On Linux they are the kernel's stall information about
    /// the system and about the process's control group: tasks have waited for memory for 200 ms within 2 s. If that
    /// of the group cannot be watched, as in most containers, its memory events are: a limit was reached, and at least
    /// nine tenths of it are not cached files, which the kernel removes first. One thread of the process waits for the
    /// reports. If the kernel offers neither, there are none.
    public static let system = MemoryPressure { SystemMemoryPressure.subscribe($0) }

    /// Calls the closure for each report, until the result is released. The closure is called on any thread.
    public func subscribe(_ report: @escaping @Sendable () -> Void) -> Subscription { start(report) }

    /// A subscription, which ends when it is released.
    public final class Subscription: Sendable {
        private let end: @Sendable () -> Void

        /// Creates a subscription.
        ///
        /// - Parameter end: Called when the subscription is released.
        public init(end: @escaping @Sendable () -> Void) { self.end = end }

        deinit { end() }
    }
}

/// The subscribers of the process, and the system's one watch, which starts with the first subscriber.
private enum SystemMemoryPressure {
    private struct State {
        var reports: [Int: @Sendable () -> Void] = [:]
        var nextID = 0
    }

    private static let state = Guarded(State())

    static func subscribe(_ report: @escaping @Sendable () -> Void) -> MemoryPressure.Subscription {
        let id = state.withLock { state -> Int in
            state.nextID += 1
            state.reports[state.nextID] = report
            return state.nextID
        }
        _ = isWatching
        return MemoryPressure.Subscription { _ = state.withLock { $0.reports.removeValue(forKey: id) } }
    }

    static func notify() {
        let reports = state.withLock { Array($0.reports.values) }
        for report in reports { report() }
    }

    #if canImport(Darwin)
        private static let isWatching: Bool = {
            let source = DispatchSource.makeMemoryPressureSource(eventMask: [.warning, .critical], queue: .global())
            source.setEventHandler { notify() }
            source.activate()
            // The process watches until it ends.
            _ = Unmanaged.passRetained(source as AnyObject)
            return true
        }()
    #else
        private static let group = ControlGroup(
            (try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8)) ?? "",
            exists: { FileManager.default.fileExists(atPath: $0) })

        private static let isWatching = clarkspur_watch_memory(
            "/proc/pressure/memory", group?.path("memory.pressure"), group?.path("memory.events")
        ) { source in
            if source == clarkspur_memory_events, let group, !group.isFull(reading: { group.read($0) }) { return }
            SystemMemoryPressure.notify()
        }
    #endif
}

/// The control group of a process, in version 2 of the kernel's interface.
struct ControlGroup: Sendable {
    private let folder: String

    /// Finds the group. Returns nil if there is none with limits of memory.
    ///
    /// - Parameters:
    ///   - text: The content of `/proc/self/cgroup`.
    ///   - exists: Whether there is a file at a path.
    init?(_ text: String, exists: (String) -> Bool) {
        let line = text.split(separator: "\n").first { $0.hasPrefix("0::/") }
        guard let path = line?.dropFirst(3) else { return nil }
        let root = "/sys/fs/cgroup"
        // In a container, the path can be that of the host, and the group is at the root.
        var folders = [root]
        if path != "/", !path.split(separator: "/").contains("..") { folders.insert(root + path, at: 0) }
        guard let folder = folders.first(where: { exists("\($0)/memory.events") }) else { return nil }
        self.folder = folder
    }

    func path(_ file: String) -> String { "\(folder)/\(file)" }

    func read(_ file: String) -> String { (try? String(contentsOfFile: path(file), encoding: .utf8)) ?? "" }

    /// Returns whether the memory without cached files is at least nine tenths of the lowest limit. Files that the
    /// group has written or read count towards its limits, and fill them sooner or later.
    func isFull(reading file: (String) -> String) -> Bool {
        func number(_ text: some StringProtocol) -> Double? { Double(String(text.filter { !$0.isWhitespace })) }
        let limits = ["memory.high", "memory.max"].compactMap { number(file($0)) }  // "max" is no limit
        guard let limit = limits.min(), let used = number(file("memory.current")) else { return true }
        let line = file("memory.stat").split(separator: "\n").first { $0.hasPrefix("inactive_file ") }
        let cached = line.flatMap { number($0.dropFirst("inactive_file ".count)) } ?? 0
        return used - cached >= 0.9 * limit
    }
}
