/// The identifier of a request, unique within its session.
public struct RequestID: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let number: UInt64

    package init(_ number: UInt64) { self.number = number }

    public static func < (lhs: RequestID, rhs: RequestID) -> Bool { lhs.number < rhs.number }
    public var description: String { "#\(number)" }
}
