/// A clock for dates, which tests can replace.
public struct WallClock: Sendable {
    private let read: @Sendable () -> Date
    /// Whether this is the system's clock, which is no code of users.
    package let isSystem: Bool

    /// Creates a clock that calls the closure for the current date.
    public init(_ read: @escaping @Sendable () -> Date) { self.init(isSystem: false, read) }

    private init(isSystem: Bool, _ read: @escaping @Sendable () -> Date) {
        self.isSystem = isSystem
        self.read = read
    }

    /// The current date.
    public var now: Date { read() }

    /// The system's clock.
    public static let system = WallClock(isSystem: true) { Date() }
}
