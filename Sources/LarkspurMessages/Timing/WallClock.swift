/// A clock for dates, which tests can replace.
public struct WallClock: Sendable {
    private let read: @Sendable () -> Date

    /// Creates a clock that calls the closure for the current date.
    public init(_ read: @escaping @Sendable () -> Date) { self.read = read }

    /// The current date.
    public var now: Date { read() }

    /// The system's clock.
    public static let system = WallClock { Date() }
}
