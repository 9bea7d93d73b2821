/// The time of day, from a source that a test can replace.
public struct WallClock: Sendable {
    private let read: @Sendable () -> Date

    /// A clock that asks the closure for the time.
    public init(_ read: @escaping @Sendable () -> Date) { self.read = read }

    /// The time.
    public var now: Date { read() }

    /// The time of the system.
    public static let system = WallClock { Date() }
}
