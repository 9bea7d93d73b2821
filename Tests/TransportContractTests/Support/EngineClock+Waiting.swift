import Larkspur
import Testing

extension EngineClock {
    /// Lets a time limit pass that has just begun: half of it does not end the hop, and the second half does.
    ///
    /// - Parameter settle: Waits until the transport has handled everything that has happened.
    /// - Returns: The trace of the hop, which has ended.
    func pass(
        _ limit: Duration, of delegate: RecordingDelegate, sourceLocation: SourceLocation = #_sourceLocation,
        settle: () async throws -> Void
    ) async throws -> Trace {
        for _ in 0..<2 {
            try await settle()
            #expect(!delegate.recorded.isCompleted, sourceLocation: sourceLocation)
            advance(by: limit / 2)
        }
        return try await delegate.wait { $0.isCompleted && $0.depth == 0 }
    }
}

extension Duration {
    /// A time that no delay of a busy machine reaches, for limits on an `EngineClock`.
    static func days(_ count: Double) -> Duration { .seconds(count * 86_400) }
}

extension TransportTimeouts {
    /// Limits that no delay of a busy machine reaches.
    static let long = only { ($0.connect, $0.firstByte, $0.idle) = (.days(1), .days(1), .days(1)) }

    /// Returns the timeouts that the closure sets, and no other.
    static func only(_ set: (inout TransportTimeouts) -> Void) -> TransportTimeouts {
        var timeouts = TransportTimeouts()
        (timeouts.connect, timeouts.firstByte, timeouts.idle, timeouts.total) = (nil, nil, nil, nil)
        set(&timeouts)
        return timeouts
    }
}

#if os(Linux)
    import LarkspurTesting

    extension CurlTransport {
        /// Creates a transport with one loop, which measures its timeouts with the clock.
        convenience init(clock: EngineClock, _ change: (inout Configuration) -> Void = { _ in }) {
            let configuration = Configuration {
                $0.loops = 1
                change(&$0)
            }
            self.init(configuration: configuration, clock: clock)
        }

        /// Performs a few other exchanges. Afterwards, the loop of a transport with one loop has handled everything that
        /// had happened before.
        func settle() async throws {
            let server = try MockServer { _ in .text("ok") }
            let request = TransportRequest(url: try RequestURL(server.url + "/"))
            for _ in 0..<3 { try await run(request).check(.response("ok")) }
        }
    }
#endif
