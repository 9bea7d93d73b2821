#if os(Linux)
    internal import CLarkspur

    /// The status of the network by the kernel's tables, which rtnetlink reports.
    ///
    /// Each event leads to a fresh dump of the tables. So no event can be missed for long, also if the kernel had to
    /// drop some.
    struct NetlinkSource: NetworkSource {
        func status() -> NetworkStatus {
            RouteTables.read()?.status(isWireless: Self.isWireless) ?? .unknown
        }

        func watch(_ report: @escaping Report) -> Cancel {
            let watch = NetlinkWatch(self, report)
            watch.start()
            return { watch.stop() }
        }

        private static func isWireless(_ name: String) -> Bool {
            // A name is part of a path here. The kernel does not allow such names.
            guard !name.isEmpty, !name.hasPrefix("."), !name.contains("/") else { return false }
            return ["wireless", "phy80211"].contains { access("/sys/class/net/\(name)/\($0)", F_OK) == 0 }
        }
    }

    extension RouteTables {
        /// The kernel writes datagrams of at most 32 KiB if a read has room for that.
        private static let datagramSize = 128 << 10
        /// The maximum size of a dump. Routers of the Internet have larger tables; their first routes are enough.
        private static let maximumDump = 16 << 20

        /// Reads the tables. Returns nil if the system does not allow that.
        static func read() -> RouteTables? {
            let socket = clarkspur_netlink_open(0)
            guard socket >= 0 else { return nil }
            defer { clarkspur_netlink_close(socket) }
            var sequence: UInt32 = 0
            var tables: RouteTables?
            for _ in 0..<3 where tables?.isInterrupted ?? true {
                var next = RouteTables()
                for type in [NetlinkMessage.getLink, NetlinkMessage.getAddress, NetlinkMessage.getRoute] {
                    sequence += 1
                    guard next.dump(type, sequence, from: socket) else { return nil }
                }
                tables = next
            }
            return tables
        }

        private mutating func dump(_ type: UInt16, _ sequence: UInt32, from socket: Int32) -> Bool {
            guard clarkspur_netlink_request(socket, type, sequence) == 0 else { return false }
            var buffer = [UInt8](repeating: 0, count: Self.datagramSize)
            var total = 0
            while total < Self.maximumDump {
                let count = clarkspur_netlink_receive(socket, &buffer, buffer.count)
                guard count > 0 else { return false }
                total += count
                switch add(NetlinkBytes(buffer.prefix(count)), of: sequence) {
                case .incomplete: continue
                case .complete: return true
                case .failed: return false
                }
            }
            return true
        }
    }

    /// The thread that waits for events of the kernel, and its descriptors.
    private final class NetlinkWatch: Sendable {
        /// The shortest time between two reads of the tables, in nanoseconds: interfaces come with many events.
        private static let interval: UInt64 = 20_000_000
        /// The time between two reads if the system reports no events, in milliseconds.
        private static let fallbackInterval: Int32 = 5_000

        private let source: NetlinkSource
        private let report: NetworkSource.Report
        private let isStopped = AtomicFlag()
        /// Two descriptors, both -1 if the process has none left.
        private let poller: clarkspur_poller
        /// Negative if the system does not allow such a socket.
        private let socket: Int32

        init(_ source: NetlinkSource, _ report: @escaping NetworkSource.Report) {
            (self.source, self.report) = (source, report)
            var poller = clarkspur_poller(queue: -1, waker: -1)
            var socket: Int32 = -1
            if clarkspur_poller_open(&poller) {
                socket = clarkspur_netlink_open(NetlinkMessage.groups)
                if socket >= 0, !clarkspur_poller_watch(&poller, socket, 0, Int32(clarkspur_read)) {
                    clarkspur_netlink_close(socket)
                    socket = -1
                }
            }
            (self.poller, self.socket) = (poller, socket)
        }

        deinit {
            if socket >= 0 { clarkspur_netlink_close(socket) }
            var poller = poller
            clarkspur_poller_close(&poller)
        }

        func start() {
            guard poller.queue >= 0 else { return report(.unknown) }
            let context = Unmanaged.passRetained(self)
            let starts = clarkspur_thread_start(
                "larkspur-routes", { $0.map { Unmanaged<NetlinkWatch>.fromOpaque($0).takeRetainedValue().run() } },
                context.toOpaque())
            if starts { return }
            context.release()
            report(.unknown)
        }

        func stop() {
            isStopped.raise()
            var poller = poller
            if poller.queue >= 0 { clarkspur_poller_wake(&poller) }
        }

        private func run() {
            var poller = poller
            var ready = clarkspur_ready()
            var hasNews = true
            var nextRead: UInt64 = 0
            var isReporting = socket >= 0
            while !isStopped.isRaised {
                let now = clarkspur_clock_now()
                if hasNews, now >= nextRead {
                    report(source.status())
                    hasNews = false
                    nextRead = clarkspur_clock_now() + Self.interval
                    continue
                }
                let pause = hasNews ? Int32((nextRead - now) / 1_000_000) + 1 : isReporting ? -1 : Self.fallbackInterval
                let count = clarkspur_poller_wait(&poller, &ready, 1, pause)
                if count > 0 {
                    isReporting = drain()
                    if !isReporting { _ = clarkspur_poller_watch(&poller, socket, Int32(clarkspur_read), 0) }
                    hasNews = true
                } else if !isReporting {
                    hasNews = true
                }
            }
        }

        /// Discards the pending events. Returns false if the socket has failed.
        private func drain() -> Bool {
            var byte: UInt8 = 0
            while true {
                switch clarkspur_netlink_receive(socket, &byte, 1) {
                case 0...: continue
                // The kernel had no room for an event. The socket works on.
                case -Int(ENOBUFS): continue
                case -Int(EAGAIN): return true
                default: return false
                }
            }
        }
    }
#endif
