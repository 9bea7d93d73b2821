/// An optional `Duration` stored in eight bytes, with nanosecond resolution.
///
/// The maximum is about 580 years; a negative duration becomes zero. A `Duration?` would need 24 bytes and 128-bit
/// arithmetic. That is too expensive for timeouts and metrics, because every hop has many of them and most are only
/// passed on.
@propertyWrapper
@_documentation(visibility: internal)
public struct CompactDuration: Sendable, Hashable {
    /// The value in nanoseconds; `UInt64.max` stands for nil.
    @usableFromInline package var nanoseconds: UInt64

    @inlinable package static var none: UInt64 { .max }

    @inlinable public init() { nanoseconds = Self.none }

    public init(seconds: UInt64) { nanoseconds = seconds * 1_000_000_000 }

    public init(wrappedValue: Duration?) {
        nanoseconds = Self.none
        self.wrappedValue = wrappedValue
    }

    public var wrappedValue: Duration? {
        @inlinable get { nanoseconds == Self.none ? nil : .nanoseconds(nanoseconds) }
        set {
            guard let (seconds, attoseconds) = newValue?.components else { return nanoseconds = Self.none }
            guard seconds < Int64(Self.none / 1_000_000_000) else { return nanoseconds = Self.none - 1 }
            guard seconds >= 0, attoseconds >= 0 else { return nanoseconds = 0 }
            // Round up: a limit below one nanosecond must not become zero.
            nanoseconds = UInt64(seconds) * 1_000_000_000 + UInt64((attoseconds + 999_999_999) / 1_000_000_000)
        }
    }

    public var projectedValue: CompactDuration {
        get { self }
        set { self = newValue }
    }
}
