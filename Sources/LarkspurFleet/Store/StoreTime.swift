import Larkspur

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The clock of stores on one machine: the time since the machine was started, sleep included. All processes of the
/// machine agree on it, and a change of the calendar's clock does not change it.
enum StoreTime {
    @Sendable static func sinceBoot() -> Duration {
        var time = timespec()
        #if canImport(Darwin)
            clock_gettime(_CLOCK_MONOTONIC_RAW, &time)
        #else
            clock_gettime(CLOCK_BOOTTIME, &time)
        #endif
        return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }

    /// The identity of the machine's last start: times of another start mean nothing. Empty if it is not known.
    static let boot: String = {
        #if canImport(Darwin)
            var size = 0
            guard sysctlbyname("kern.bootsessionuuid", nil, &size, nil, 0) == 0, size > 1 else { return "" }
            var bytes = [UInt8](repeating: 0, count: size)
            guard sysctlbyname("kern.bootsessionuuid", &bytes, &size, nil, 0) == 0 else { return "" }
            return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        #else
            let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
            return String((text ?? "").prefix { $0 != "\n" })
        #endif
    }()
}
