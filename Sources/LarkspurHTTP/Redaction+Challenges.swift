extension Redaction {
    /// The parameters of challenges that contain no secret.
    private static let harmlessParameters: Set = [
        "algorithm", "charset", "domain", "error", "qop", "realm", "resource_metadata", "scope", "service", "stale",
        "userhash",
    ]
    /// The parameters whose values are written without quotes, as RFC 7616 requires.
    private static let unquotedParameters: Set = ["algorithm", "charset", "stale", "userhash"]

    /// Returns whether a field has challenges whose harmless parts are shown. Rules that name the field itself hide the
    /// whole value.
    func showsChallenges(of name: String) -> Bool {
        switch name.utf8.count {
        case 16: HTTPHeaders.areEqual(name, "WWW-Authenticate") && !names.contains("wwwauthenticate")
        case 18: HTTPHeaders.areEqual(name, "Proxy-Authenticate") && !names.contains("proxyauthenticate")
        default: false
        }
    }

    /// Returns the challenges of `WWW-Authenticate` or `Proxy-Authenticate` without secrets.
    ///
    /// The result is a valid value of the field, so that a client can respond to a recorded challenge. The text that
    /// replaces a nonce depends on the nonce: a client responds again only if the server sends another nonce.
    func challenges(_ value: String) -> String {
        let challenges = AuthenticationChallenge.parse(CollectionOfOne(value))
        return challenges.isEmpty ? Self.replacement : challenges.map(shown).joined(separator: ", ")
    }

    private func shown(_ challenge: AuthenticationChallenge) -> String {
        // An unknown first word may be a part of a credential.
        guard Self.schemes.contains(challenge.scheme.lowercased()) else { return Self.replacement }
        if challenge.token != nil { return "\(challenge.scheme) \(Self.replacement)" }
        if challenge.parameters.isEmpty { return challenge.scheme }
        return "\(challenge.scheme) \(challenge.parameters.map(shown).joined(separator: ", "))"
    }

    private func shown(_ parameter: AuthenticationChallenge.Parameter) -> String {
        let name = parameter.name.lowercased()
        let value =
            switch name {
            case "nonce": "\(Self.replacement)-\(StreamingHash.hexadecimal(parameter.value, .sha256).prefix(8))"
            case _ where Self.harmlessParameters.contains(name) && !hides(name): reference(parameter.value)
            default: Self.replacement
            }
        let isToken = !value.isEmpty && value.utf8.allSatisfy(\.isTokenByte)
        if isToken, Self.unquotedParameters.contains(name) { return "\(parameter.name)=\(value)" }
        let escaped = value.replacing("\\", with: #"\\"#).replacing("\"", with: #"\""#)
        return "\(parameter.name)=\"\(escaped)\""
    }
}
