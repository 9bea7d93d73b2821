/// A remark that a session makes about the program: the code is valid, but probably does not do what its author
/// expects.
///
///     GET https://api.example.com/users was answered with the status 503, which is a success here, because no
///     validator checks the status: the retrier RetryPolicy was not asked. …
///
/// A session makes each kind of remark once. Monitors receive it as ``RequestEvent/advise(_:)``, and a ``LogMonitor``
/// writes it. A debug build of the program also writes it to the standard error, once in the process.
public struct Advice: Sendable, Hashable, CustomStringConvertible {
    /// A kind of remark; later versions may add kinds.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A retrier or an authenticator was not asked about an error status, because no validator rejects the status.
        public static let unvalidatedRetry = Kind(rawValue: "unvalidatedRetry")
        /// The body of a response with an error status was saved as a download's file, because no validator rejects the
        /// status.
        public static let unvalidatedDownload = Kind(rawValue: "unvalidatedDownload")
        /// Settings of a `URLRequest`, such as `allowsCellularAccess`, have no effect.
        public static let ignoredURLRequestSettings = Kind(rawValue: "ignoredURLRequestSettings")
    }

    /// The kind of the remark.
    public let kind: Kind
    /// One line with the cause and the remedy, without secrets.
    public let description: String
}

/// The kinds of remarks that were made already.
package final class AdviceRecord: Sendable {
    private let kinds = Protected<Set<Advice.Kind>>([])

    /// The remarks that this process has written to its standard error.
    static let ofProcess = AdviceRecord()

    /// Returns whether this is the first remark of its kind.
    func isFirst(_ kind: Advice.Kind) -> Bool { kinds.withLock { $0.insert(kind).inserted } }
}
