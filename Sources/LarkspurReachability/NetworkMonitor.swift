/// Observes whether the network can be reached.
///
///     for await status in NetworkMonitor.shared.changes {
///         banner.isHidden = status.isReachable
///     }
///
/// A status explains a failure and times a retry; see ``OfflineRetrier``. Do not ask it before each request: it can be
/// wrong, and it can change before the request is sent. Send the request, and handle its error.
///
/// On Linux the status comes from the kernel (rtnetlink), on Apple's systems from `NWPathMonitor`. All monitors of the
/// process share one thread, which sleeps until the kernel reports a change. It runs only while a stream of
/// ``changes`` exists or a task waits in ``whenReachable(host:)``.
///
/// On Linux the network is reachable if an interface other than the loopback one is running, has an address, and has a
/// default route or another route to other hosts. Routes to link-local addresses do not count. Neither do routes over a
/// bridge of containers or virtual machines, unless one of them is the default route.
public final class NetworkMonitor: Sendable {
    /// The monitor of the process, which never ends.
    public static let shared = NetworkMonitor()

    let feed: NetworkFeed
    private let owner: Int

    /// Creates a monitor. When it is released, its sequences of ``changes`` end.
    public convenience init() { self.init(feed: .system) }

    /// Creates a monitor of a source, for tests.
    convenience init(source: any NetworkSource) { self.init(feed: NetworkFeed(source)) }

    private init(feed: NetworkFeed) {
        self.feed = feed
        owner = feed.addOwner()
        feed.source.prepare()
    }

    deinit { feed.end(owner) }

    /// The current status.
    ///
    /// While a stream of ``changes`` exists, this is the latest reported status. Otherwise each access reads the
    /// kernel's tables, which takes less than a millisecond on most systems. On Apple's systems the first status may be
    /// ``NetworkStatus/unknown``.
    public var status: NetworkStatus { feed.status }

    /// The current status, and then each change. Each access creates a separate stream.
    ///
    /// To be notified, iterate a stream in a task of the object that needs the status, and cancel the task when the
    /// object no longer needs it:
    ///
    ///     let task = Task { @MainActor in
    ///         for await status in monitor.changes { view.show(status) }
    ///     }
    ///
    /// A stream begins with the current status, and returns no status twice in succession. A slow reader gets the
    /// latest status, without the statuses before it.
    ///
    /// The stream ends when its task is cancelled or the monitor is released. So keep a monitor that you create:
    /// `NetworkMonitor().changes` ends at once, ``shared`` never does.
    public var changes: AsyncStream<NetworkStatus> {
        let subscription = feed.subscribe(for: owner)
        return AsyncStream { await subscription.nextStatus() }
    }

    /// Waits until the network can be reached. Returns at once if it can be reached now.
    ///
    /// With a host, it waits until the system has a route to an address of the host, over an interface that is running.
    /// Nothing is sent to the host, which may be down or refuse connections. The host may be a name or an IP address.
    /// A name is looked up on a separate thread for at most 10 seconds. After a failure it is looked up again on each
    /// change, and after increasing delays of up to 30 seconds while the network is reachable.
    ///
    /// - Parameter host: The host's name or IP address, without a port; nil for any host.
    /// - Throws: `CancellationError` if the task is cancelled before.
    public func whenReachable(host: String? = nil) async throws {
        let result = await feed.wait(on: ContinuousClock(), host: host) { route, status in
            route.map { $0 == .exists } ?? status.isReachable
        }
        if result == .cancelled { throw CancellationError() }
    }
}
