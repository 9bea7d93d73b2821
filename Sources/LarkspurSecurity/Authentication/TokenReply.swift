/// The reply to a token request (RFC 6749, section 5.1).
struct TokenReply: Decodable, Sendable {
    let accessToken: String
    /// The type of the token; nil if the reply has no type.
    let type: String?
    /// The lifetime of the token in seconds; nil if the reply has no lifetime or an invalid one.
    let lifetime: Double?
    let refreshToken: String?
    let scope: String?

    /// The field names of the RFC, and the names into which the key decoding strategy `convertFromSnakeCase` converts
    /// them.
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case access_token, accessToken
        case token_type, tokenType
        case expires_in, expiresIn
        case refresh_token, refreshToken
        case scope
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        // Some servers refuse with the status 200.
        let hasToken = values.contains(.access_token) || values.contains(.accessToken)
        if !hasToken, let refusal = try? OAuth2Error(from: decoder) { throw refusal }
        accessToken = try values.decode(
            String.self, forKey: values.contains(.accessToken) ? .accessToken : .access_token)
        type = try values.decodeIfPresent(String.self, forKey: values.contains(.tokenType) ? .tokenType : .token_type)
        refreshToken = try values.decodeIfPresent(
            String.self, forKey: values.contains(.refreshToken) ? .refreshToken : .refresh_token)
        scope = try values.decodeIfPresent(String.self, forKey: .scope)
        let key = values.contains(.expiresIn) ? CodingKeys.expiresIn : .expires_in
        // Some servers write the number as a string.
        let number = try? values.decodeIfPresent(Double.self, forKey: key)
        let text = try? values.decodeIfPresent(String.self, forKey: key)
        lifetime = (number ?? text.flatMap(Double.init)).flatMap { $0 >= 0 && $0 <= 1e9 ? $0 : nil }
    }

    /// Returns the token; nil if the token is empty or not a bearer token. The token's renewal date is `leeway` before
    /// its expiry, but not in the first half of its lifetime.
    func token(at date: Date, leeway: Duration) -> BearerToken? {
        guard (type ?? "bearer").lowercased() == "bearer", !accessToken.isEmpty else { return nil }
        let renewalDate = lifetime.map { date.addingTimeInterval($0 - min(leeway / .seconds(1), $0 / 2)) }
        return BearerToken(accessToken, refreshToken: refreshToken, renewalDate: renewalDate, scope: scope)
    }

    /// The reason why the reply has no usable token.
    var refusal: String {
        if accessToken.isEmpty { return "the server's reply has an empty access token" }
        guard let type else { return "the server's reply has no token_type" }
        return "the server issued a token of type \(type), which is not a bearer token"
    }
}
