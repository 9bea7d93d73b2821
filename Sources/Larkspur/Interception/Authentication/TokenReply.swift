/// The answer to a token request (RFC 6749, section 5.1).
struct TokenReply: Decodable, Sendable {
    let accessToken: String
    /// Nil if the server names none.
    let type: String?
    /// In seconds; nil if the server names none, or an impossible one.
    let lifetime: Double?
    let refreshToken: String?
    let scope: String?

    /// The fields of the RFC, and the same as a decoder with the strategy `convertFromSnakeCase` gives them.
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case access_token, accessToken
        case token_type, tokenType
        case expires_in, expiresIn
        case refresh_token, refreshToken
        case scope
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        accessToken = try values.decode(
            String.self, forKey: values.contains(.accessToken) ? .accessToken : .access_token)
        type = try values.decodeIfPresent(String.self, forKey: values.contains(.tokenType) ? .tokenType : .token_type)
        refreshToken = try values.decodeIfPresent(
            String.self, forKey: values.contains(.refreshToken) ? .refreshToken : .refresh_token)
        scope = try values.decodeIfPresent(String.self, forKey: .scope)
        let key = values.contains(.expiresIn) ? CodingKeys.expiresIn : .expires_in
        // Some servers write the number as a text.
        let number = try? values.decodeIfPresent(Double.self, forKey: key)
        let text = try? values.decodeIfPresent(String.self, forKey: key)
        lifetime = (number ?? text.flatMap(Double.init)).flatMap { $0 >= 0 && $0 <= 1e9 ? $0 : nil }
    }

    /// The token, to be renewed before its end, by at most half its lifetime; nil if it is empty or of another type.
    func token(at date: Date, leeway: Duration) -> BearerToken? {
        guard (type ?? "bearer").lowercased() == "bearer", !accessToken.isEmpty else { return nil }
        let renewalDate = lifetime.map { date.addingTimeInterval($0 - min(leeway / .seconds(1), $0 / 2)) }
        return BearerToken(accessToken, refreshToken: refreshToken, renewalDate: renewalDate, scope: scope)
    }

    /// Why there is no token.
    var refusal: String {
        if accessToken.isEmpty { return "the server gave an empty token" }
        guard let type else { return "the server does not name the type of the token (token_type)" }
        return "the server gave a token of the type \(type), not a bearer token"
    }
}
