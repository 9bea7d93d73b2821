/// An evaluator that neither waits nor runs a user's code, and so may be asked on the transport's thread (R2).
protocol ImmediateTrustEvaluating: ServerTrustEvaluating {
    func judge(_ trust: ServerTrust) throws(TrustError)
}

extension ImmediateTrustEvaluating {
    public func evaluate(_ trust: ServerTrust) async throws { try judge(trust) }
}

/// What the system says, as without any evaluator: a chain to an authority that is trusted here, and the host's name.
public struct DefaultTrustEvaluator: ImmediateTrustEvaluating {
    private let validateHost: Bool

    /// The system's verdict, with the name unless told otherwise.
    public init(validateHost: Bool = true) { self.validateHost = validateHost }

    func judge(_ trust: ServerTrust) throws(TrustError) { try trust.verify(host: validateHost) }
}

/// Trusts everybody. For a development server; whoever is in between reads and changes everything.
public struct DisabledTrustEvaluator: ImmediateTrustEvaluating {
    /// `.disabled` is the same.
    public init() {}

    func judge(_ trust: ServerTrust) throws(TrustError) {}
}

/// Wants one of these keys: in the host's own certificate, or in one of those that vouch for it.
///
/// Give at least one more pin than is in use, of a key that is kept elsewhere, or a host whose key is lost is out of reach for
/// every copy of the app.
public struct PinnedKeysTrustEvaluator: ImmediateTrustEvaluating {
    private let pins: Set<PublicKeyPin>
    private let expires: Date?
    private let performDefaultValidation: Bool
    private let validateHost: Bool
    private let report: (@Sendable (TrustError, ServerTrust) -> Void)?

    /// - Parameter expires: From when on the pins do not count any more: an app that is never updated works on.
    /// - Parameter performDefaultValidation: With false the pin alone decides, and only the host's own key counts, for then
    ///   nothing is proved of the others.
    /// - Parameter reportOnly: Called, on a task of its own, instead of failing the request: to try pins out.
    public init(
        _ pins: [PublicKeyPin], expires: Date? = nil, performDefaultValidation: Bool = true, validateHost: Bool = true,
        reportOnly: (@Sendable (TrustError, ServerTrust) -> Void)? = nil
    ) {
        self.pins = Set(pins)
        self.expires = expires
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
        report = reportOnly
    }

    func judge(_ trust: ServerTrust) throws(TrustError) {
        if performDefaultValidation { try trust.verify(host: validateHost) }
        if let expires, expires <= Date() {
            // Without either check there would be none.
            return performDefaultValidation ? () : try trust.verify(host: validateHost)
        }
        let candidates = performDefaultValidation ? trust.certificates[...] : trust.certificates.prefix(1)
        let shown = candidates.map(\.pin)
        guard !shown.contains(where: pins.contains) else { return }
        let error = TrustError(
            .pinMismatch,
            "\(trust.host) has none of the \(pins.count) pinned keys; it shows \(shown.map(\.description).joined(separator: ", "))"
        )
        guard let report else { throw error }
        // Unstructured, one for each report: user code has no place on the transport's thread.
        Task { report(error, trust) }
    }
}

/// Wants one of these very certificates: the host's own, or one that vouches for it.
public struct PinnedCertificatesTrustEvaluator: ImmediateTrustEvaluating {
    private let certificates: Set<Certificate>
    private let performDefaultValidation: Bool
    private let validateHost: Bool

    /// - Parameter performDefaultValidation: With false the comparison alone decides, as self-signed certificates need it, and
    ///   only the host's own certificate counts.
    public init(_ certificates: [Certificate], performDefaultValidation: Bool = true, validateHost: Bool = true) {
        self.certificates = Set(certificates)
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
    }

    func judge(_ trust: ServerTrust) throws(TrustError) {
        if performDefaultValidation { try trust.verify(host: validateHost) }
        let candidates = performDefaultValidation ? trust.certificates[...] : trust.certificates.prefix(1)
        guard !candidates.contains(where: certificates.contains) else { return }
        throw TrustError(.pinMismatch, "\(trust.host) has none of the \(certificates.count) pinned certificates")
    }
}

/// Wants all of them to agree; the first that does not decides.
public struct CompositeTrustEvaluator: ServerTrustEvaluating {
    let evaluators: [any ServerTrustEvaluating]

    /// An evaluator that asks these, in their order.
    public init(_ evaluators: [any ServerTrustEvaluating]) { self.evaluators = evaluators }

    public func evaluate(_ trust: ServerTrust) async throws {
        for evaluator in evaluators { try await evaluator.evaluate(trust) }
    }
}

/// Judges by a closure.
public struct ClosureTrustEvaluator: ServerTrustEvaluating {
    private let judge: @Sendable (ServerTrust) async throws -> Void

    /// An evaluator that asks the closure.
    public init(_ judge: @escaping @Sendable (ServerTrust) async throws -> Void) { self.judge = judge }

    public func evaluate(_ trust: ServerTrust) async throws { try await judge(trust) }
}

extension ServerTrustEvaluating {
    /// What it comes to at once; nil if that needs code which must not run where it is asked.
    func immediately(_ trust: ServerTrust) -> Result<Void, TrustError>? {
        if let composite = self as? CompositeTrustEvaluator {
            for evaluator in composite.evaluators {
                guard let result = evaluator.immediately(trust) else { return nil }
                if case .failure = result { return result }
            }
            return .success(())
        }
        guard let immediate = self as? any ImmediateTrustEvaluating else { return nil }
        return Result { () throws(TrustError) in try immediate.judge(trust) }
    }
}

extension ServerTrustEvaluating where Self == DefaultTrustEvaluator {
    /// What the system says.
    public static var `default`: Self { DefaultTrustEvaluator() }
}

extension ServerTrustEvaluating where Self == DisabledTrustEvaluator {
    /// Everybody is trusted.
    public static var disabled: Self { DisabledTrustEvaluator() }
}

extension ServerTrustEvaluating where Self == PinnedKeysTrustEvaluator {
    /// One of these keys, beside what the system says.
    public static func pinnedKeys(_ pins: PublicKeyPin...) -> Self { PinnedKeysTrustEvaluator(pins) }
}

extension ServerTrustEvaluating where Self == PinnedCertificatesTrustEvaluator {
    /// One of these certificates, beside what the system says.
    public static func pinnedCertificates(_ certificates: [Certificate]) -> Self {
        PinnedCertificatesTrustEvaluator(certificates)
    }
}
