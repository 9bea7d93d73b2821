import Larkspur

/// A transport that adds faults, latency and a limit of bandwidth to the traffic of another transport.
///
///     let flaky = FaultTransport(CurlTransport(), seed: 7) {
///         $0.refused = 0.05
///         $0.latency = .milliseconds(50)...(.milliseconds(400))
///         $0.bytesPerSecond = 64_000
///     }
///     let session = Session(transport: flaky)
///
/// The treatment of a hop depends on the seed, the hop's method and URL, and the number of earlier hops with the same
/// method and URL. So a run with the same seed meets the same faults, also if its requests are sent in another order.
public final class FaultTransport: TransportWrapper {
    /// The faults of a transport. A fraction is from 0, never, to 1, always; all are 0 by default. A hop has at most
    /// one fault.
    public struct Faults: Sendable, Hashable {
        /// The fraction of hops that fail with `.connectionRefused` and are not sent.
        public var refused = 0.0
        /// The fraction of hops that are sent, and fail with `.connectionLost` before the head of the response.
        public var lost = 0.0
        /// The fraction of hops whose body ends with `.truncated` in the first part that arrives. A response without a
        /// body is not changed.
        public var truncated = 0.0
        /// The time before each hop is sent; zero by default.
        public var latency: ClosedRange<Duration> = .zero ... .zero
        /// The average number of bytes of a response that are received in a second; nil, the default, means no limit.
        public var bytesPerSecond: Int?

        /// Creates faults: by default none.
        public init() {}
    }

    // Immutable
    /// The transport that sends the requests.
    public let base: any Transport
    let clock: any Clock<Duration>
    private let seed: UInt64

    // Mutable state, guarded by the lock of `Protected`
    private let box: Protected<(faults: Faults, counts: [UInt64: UInt64])>

    /// Creates a transport around another one.
    ///
    /// - Parameters:
    ///   - base: The transport that sends the requests.
    ///   - seed: The number that decides which hops have a fault.
    ///   - clock: The clock of latency and bandwidth.
    ///   - configure: Sets the faults.
    public init(
        _ base: any Transport, seed: UInt64, clock: any Clock<Duration> = ContinuousClock(),
        _ configure: (inout Faults) -> Void
    ) {
        (self.base, self.seed, self.clock) = (base, seed, clock)
        var faults = Faults()
        configure(&faults)
        box = Protected((faults, [:]))
    }

    /// The faults of later hops.
    public var faults: Faults {
        get { box.withLock { $0.faults } }
        set { box.withLock { $0.faults = newValue } }
    }

    public func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask {
        FaultTask(request, id: id, delegate: delegate, plan: plan(of: request), transport: self)
    }

    private func plan(of request: TransportRequest) -> FaultPlan {
        let name = FaultDice.hash("\(request.method) \(request.url.text)")
        let (faults, number) = box.withLock { state in
            state.counts[name, default: 0] += 1
            return (state.faults, state.counts[name] ?? 0)
        }
        var dice = FaultDice(state: seed ^ name &+ number &* 0x9E37_79B9_7F4A_7C15)
        return FaultPlan(faults, &dice)
    }
}

/// The treatment of one hop.
struct FaultPlan: Sendable {
    enum Fault: Sendable { case refused, lost, truncated }

    var fault: Fault?
    var latency = Duration.zero
    var bytesPerSecond: Int?

    init(_ faults: FaultTransport.Faults, _ dice: inout FaultDice) {
        let (chance, delay) = (dice.fraction(), dice.fraction())
        let (lost, truncated) = (faults.refused + faults.lost, faults.refused + faults.lost + faults.truncated)
        if chance < faults.refused {
            fault = .refused
        } else if chance < lost {
            fault = .lost
        } else if chance < truncated {
            fault = .truncated
        }
        let (low, high) = (max(.zero, faults.latency.lowerBound), max(.zero, faults.latency.upperBound))
        latency = low + (high - low) * delay
        bytesPerSecond = faults.bytesPerSecond.map { max(1, $0) }
    }
}

/// A generator of random numbers that gives the same numbers in every process (SplitMix64).
struct FaultDice {
    var state: UInt64

    /// Returns a hash of the text that is the same in every process (FNV-1a).
    static func hash(_ text: String) -> UInt64 {
        text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    /// Returns a number from 0 up to, but not including, 1.
    mutating func fraction() -> Double {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
        return Double((bits ^ bits >> 31) >> 11) * 0x1p-53
    }
}
