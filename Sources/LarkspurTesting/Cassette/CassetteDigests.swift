import Larkspur
import LarkspurInsight

/// The digests of a response that an entry of a cassette plays.
///
/// An archive has decoded and redacted bodies, which the recorded digests do not fit. Digests of the played body take
/// their place. A digest of a body that is played as it was sent is kept, also if it never fitted.
struct CassetteDigests: Sendable {
    private let response: HARArchive.Response
    /// Whether the body is played in another form than it was sent in, even if no secret was hidden.
    private let isChanged: Bool
    /// Whether the recorded digests are played, because there is no body that they must fit.
    private let keepsAll: Bool

    private var body: Data { response.body.bytes ?? Data() }

    /// - Parameters:
    ///   - isReencoded: Whether the body is a text in another encoding than it was sent in.
    ///   - hasBody: Whether the body is played to its end.
    init(_ response: HARArchive.Response, isReencoded: Bool, hasBody: Bool) {
        let codings = response.headers.values(for: "Content-Encoding")
        (self.response, keepsAll) = (response, !hasBody)
        isChanged = isReencoded || codings.contains { $0.lowercased() != "identity" }
    }

    /// Returns the value of a field of the head or the trailers that fits the played body; nil to leave the field out.
    func value(of field: HTTPHeader) -> String? {
        let name = field.name.lowercased()
        guard !keepsAll, ["content-digest", "repr-digest", "digest", "content-md5"].contains(name),
            isChanged || body.firstRange(of: Data(Redaction.replacement.utf8)) != nil
        else { return field.value }
        switch name {
        case "content-digest": return digests(field.value)
        // The digest of a whole representation, of which a 206 has a part.
        case "repr-digest": return response.status == 206 ? nil : digests(field.value)
        default: return nil
        }
    }

    /// Returns the digests of the played body, by the algorithms of a value such as `sha-256=:…:, md5=:…:` that are
    /// known.
    private func digests(_ value: String) -> String? {
        let names = value.split(separator: ",").map { $0.prefix { $0 != "=" }.trimmingSpaces.lowercased() }
        let algorithms = DigestAlgorithm.allCases.filter { names.contains($0.rawValue) }
        if algorithms.isEmpty { return nil }
        return algorithms.map { $0.value(of: Array($0.digest(of: body))) }.joined(separator: ", ")
    }
}
