/// An evaluator that neither waits nor runs user code. It can therefore run on the transport's thread, which must do
/// neither (rule R2 in Concurrency.md).
protocol ImmediateTrustEvaluating: ServerTrustEvaluating {
    func judge(_ trust: ServerTrust) throws(TrustError)
}

extension ImmediateTrustEvaluating {
    public func evaluate(_ trust: ServerTrust) async throws { try judge(trust) }
}

/// An evaluator that uses only the system's verdict: the chain must lead to a trusted authority, and the certificate
/// must be for the host.
public struct DefaultTrustEvaluator: ImmediateTrustEvaluating {
    private let validateHost: Bool

    /// Creates an evaluator.
    ///
    /// - Parameter validateHost: Whether the host's name is checked; true by default.
    public init(validateHost: Bool = true) { self.validateHost = validateHost }

    func judge(_ trust: ServerTrust) throws(TrustError) { try trust.verify(host: validateHost) }
}

/// An evaluator that trusts every server. Use it only for development: an attacker on the network can read and change
/// all data.
public struct DisabledTrustEvaluator: ImmediateTrustEvaluating {
    /// Creates the evaluator; `.disabled` is equivalent.
    public init() {}

    func judge(_ trust: ServerTrust) throws(TrustError) {}
}

/// An evaluator that requires one of the pinned public keys in the server's certificate chain.
///
/// Add at least one backup pin of a key that is stored in another place. If a server loses its only pinned key,
/// installed copies of the app cannot connect to the server.
public struct PinnedKeysTrustEvaluator: ImmediateTrustEvaluating {
    private let pins: Set<PublicKeyPin>
    private let expires: Date?
    private let performDefaultValidation: Bool
    private let validateHost: Bool
    private let report: (@Sendable (TrustError, ServerTrust) -> Void)?

    /// Creates an evaluator.
    ///
    /// - Parameters:
    ///   - pins: The pins; one match is enough.
    ///   - expires: The date from which the pins are ignored, so that an app without updates continues to work. By
    ///     default the pins do not expire.
    ///   - performDefaultValidation: Whether the system's verification must succeed too; true by default. If false,
    ///     only the key of the server's own certificate is compared, because nothing proves that the other certificates
    ///     of the chain are genuine.
    ///   - validateHost: Whether the system's verification checks the host's name; true by default.
    ///   - reportOnly: A closure that is called in a task of its own when no pin matches. With such a closure, a
    ///     request continues although no pin matches. Use it to test pins. Nil, the default, makes the request fail.
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
            // After the pins have expired, the system's verification is the only check, so it is never skipped.
            return performDefaultValidation ? () : try trust.verify(host: validateHost)
        }
        let candidates = performDefaultValidation ? trust.certificates[...] : trust.certificates.prefix(1)
        let shown = candidates.map(\.pin)
        guard !shown.contains(where: pins.contains) else { return }
        let keys = shown.map(\.description).joined(separator: ", ")
        let error = TrustError(
            .pinMismatch,
            "no certificate of \(trust.host) has one of the \(pins.count) pinned keys; the server's keys are \(keys); "
                + "if the server has a new key, add its pin")
        guard let report else { throw error }
        // The closure runs in an unstructured task, because user code must not run on the transport's thread.
        Task { report(error, trust) }
    }
}

/// An evaluator that requires one of the pinned certificates in the server's chain.
public struct PinnedCertificatesTrustEvaluator: ImmediateTrustEvaluating {
    private let certificates: Set<Certificate>
    private let performDefaultValidation: Bool
    private let validateHost: Bool

    /// Creates an evaluator.
    ///
    /// - Parameters:
    ///   - certificates: The certificates; one match is enough.
    ///   - performDefaultValidation: Whether the system's verification must succeed too; true by default. If false, as
    ///     for self-signed certificates, only the server's own certificate is compared.
    ///   - validateHost: Whether the system's verification checks the host's name; true by default.
    public init(_ certificates: [Certificate], performDefaultValidation: Bool = true, validateHost: Bool = true) {
        self.certificates = Set(certificates)
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
    }

    func judge(_ trust: ServerTrust) throws(TrustError) {
        if performDefaultValidation { try trust.verify(host: validateHost) }
        let candidates = performDefaultValidation ? trust.certificates[...] : trust.certificates.prefix(1)
        guard !candidates.contains(where: certificates.contains) else { return }
        throw TrustError(
            .pinMismatch,
            "the certificate chain of \(trust.host) contains none of the \(certificates.count) pinned certificates; "
                + "if the server has a new certificate, pin it too")
    }
}

/// An evaluator that requires all of its evaluators to succeed. The first error ends the evaluation.
public struct CompositeTrustEvaluator: ServerTrustEvaluating {
    let evaluators: [any ServerTrustEvaluating]

    /// Creates an evaluator that calls the given evaluators in their order.
    public init(_ evaluators: [any ServerTrustEvaluating]) { self.evaluators = evaluators }

    public func evaluate(_ trust: ServerTrust) async throws {
        for evaluator in evaluators { try await evaluator.evaluate(trust) }
    }
}

/// An evaluator that calls a closure.
public struct ClosureTrustEvaluator: ServerTrustEvaluating {
    private let judge: @Sendable (ServerTrust) async throws -> Void

    /// Creates an evaluator that calls the closure.
    public init(_ judge: @escaping @Sendable (ServerTrust) async throws -> Void) { self.judge = judge }

    public func evaluate(_ trust: ServerTrust) async throws { try await judge(trust) }
}

extension ServerTrustEvaluating {
    /// Evaluates the trust at once and returns the result, if no user code has to run for it. Otherwise returns nil.
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

    /// Whether the evaluator accepts every certificate, as far as that is known without calling user code.
    var acceptsEverything: Bool {
        (self as? CompositeTrustEvaluator)?.evaluators.allSatisfy(\.acceptsEverything)
            ?? (self is DisabledTrustEvaluator)
    }
}

extension ServerTrustEvaluating where Self == DefaultTrustEvaluator {
    /// An evaluator that uses only the system's verdict.
    public static var `default`: Self { DefaultTrustEvaluator() }
}

extension ServerTrustEvaluating where Self == DisabledTrustEvaluator {
    /// An evaluator that trusts every server; for development only.
    public static var disabled: Self { DisabledTrustEvaluator() }
}

extension ServerTrustEvaluating where Self == PinnedKeysTrustEvaluator {
    /// Returns an evaluator that requires one of the pinned keys, in addition to the system's verification.
    public static func pinnedKeys(_ pins: PublicKeyPin...) -> Self { PinnedKeysTrustEvaluator(pins) }

    /// Returns an evaluator that requires the public key of one of these certificates, in addition to the system's
    /// verification. Without certificates no server is trusted.
    public static func pinnedKeys(of certificates: [Certificate]) -> Self {
        PinnedKeysTrustEvaluator(certificates.map(\.pin))
    }
}

extension ServerTrustEvaluating where Self == PinnedCertificatesTrustEvaluator {
    /// Returns an evaluator that requires one of the pinned certificates, in addition to the system's verification.
    public static func pinnedCertificates(_ certificates: [Certificate]) -> Self {
        PinnedCertificatesTrustEvaluator(certificates)
    }
}
