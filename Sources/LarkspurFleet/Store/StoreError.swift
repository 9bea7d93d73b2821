/// The failure of a ``SharedStore``.
public struct StoreError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of a failure.
    public struct Code: RawRepresentable, Sendable, Hashable {
        public let rawValue: String

        /// Creates a code of your own.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The store cannot be reached, or does not answer. Whether a change was made is not known.
        public static let unavailable = Code(rawValue: "unavailable")
        /// Another process has blocked the store for too long. Nothing was changed.
        public static let busy = Code(rawValue: "busy")
        /// The store has no space left. Nothing was changed.
        public static let full = Code(rawValue: "full")
        /// The store does not allow the operation, for example because it is read-only. Nothing was changed.
        public static let denied = Code(rawValue: "denied")
        /// A record of the store is damaged, or is of a later version.
        public static let damaged = Code(rawValue: "damaged")
        /// The name is empty or too long, a value is too large, or a duration is not positive.
        public static let invalidInput = Code(rawValue: "invalidInput")
        /// A later holder of the lease has written to the key. The caller must stop its work.
        public static let staleLease = Code(rawValue: "staleLease")
    }

    /// The kind of the failure.
    public let code: Code
    /// A sentence for developers: what has failed and what to do.
    public let message: String

    /// Creates an error.
    public init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }

    public var description: String { "\(message) (\(code.rawValue))" }
}
