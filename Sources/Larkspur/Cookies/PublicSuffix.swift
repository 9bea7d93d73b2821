internal import CLarkspur

/// Names below which anybody can have one of his own: `com`, `co.uk`, `github.io`. A cookie for all of them would be a way
/// for one site to meddle with others.
enum PublicSuffix {
    /// By the list of libpsl where that is there, as it is on most systems with libcurl; else by the rule for names that
    /// no list has.
    static func contains(_ domain: String) -> Bool {
        let name = domain.hasSuffix(".") ? String(domain.dropLast()) : domain
        return switch clarkspur_psl_verdict_on(name) {
        case clarkspur_psl_public: true
        case clarkspur_psl_private: false
        default: isSingleLabel(name)
        }
    }

    static func isSingleLabel(_ name: String) -> Bool { !name.contains(".") }
}
