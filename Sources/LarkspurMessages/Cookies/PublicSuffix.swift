internal import CLarkspur

/// Public suffixes: domains such as `com`, `co.uk` and `github.io`, below which different owners register names. A
/// cookie for such a domain would let one owner's site interfere with the sites of others.
enum PublicSuffix {
    /// Returns whether the domain is a public suffix. Uses libpsl's list if libpsl is installed, as it is on most
    /// systems with libcurl. Without libpsl, every domain of a single label counts as a public suffix.
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
