import Dispatch
import Larkspur
internal import LarkspurAnnex

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The changes of one record's file, found by looking at it again and again.
struct FileWatch {
    private static let interval = DispatchTimeInterval.milliseconds(20)

    let changes: AsyncStream<Void>

    init(_ path: String) {
        changes = AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let known = Guarded(Self.beginning(of: path))
            let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "Larkspur store"))
            timer.schedule(deadline: .now() + Self.interval, repeating: Self.interval, leeway: .milliseconds(5))
            timer.setEventHandler {
                let now = Self.beginning(of: path)
                let isChanged = known.withLock { known in
                    defer { known = now }
                    return known != now
                }
                if isChanged { continuation.yield() }
            }
            continuation.yield()
            let watch = Timer(source: timer)
            continuation.onTermination = { _ in watch.source.cancel() }
            timer.activate()
        }
    }

    /// Dispatch's timers are thread-safe, but not declared so.
    private struct Timer: @unchecked Sendable {  // rule R6: `cancel()` may be called on any thread
        let source: any DispatchSourceTimer
    }

    /// Returns the mark and the checksum of a record, which differ from version to version; empty if there is no file.
    /// The inode and the date are not enough: a file that is replaced twice in a short time can have the old ones
    /// again.
    private static func beginning(of path: String) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 12)
        let count = bytes.withUnsafeMutableBytes { pread(file, $0.baseAddress, $0.count, 0) }
        return count == bytes.count ? bytes : []
    }
}
