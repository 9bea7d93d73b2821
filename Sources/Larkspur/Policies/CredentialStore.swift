/// Names and passwords that a session answers with when servers ask who is there: each for one origin, and there for one
/// realm or for all that have none of their own.
///
///     let credentials = CredentialStore()
///     try credentials.set(Credential(username: "ada", password: password), for: "https://api.example.com")
///     let session = Session(configuration: SessionConfiguration { $0.credentials = credentials })
///
/// A 401 that offers Digest or Basic has the request sent once more, with the credential, if its body can be sent again. The
/// strongest scheme answers, as with ``Request/authenticate(with:preemptively:)``. Where a credential was accepted, requests
/// to the same folder and below bring it unasked (RFC 7617, section 2.2), by Digest with the next number of the same nonce,
/// until it is refused. It never goes to another origin, and so never over http if it is for https. What a request says
/// itself stands: a field `Authorization`, user and password in the URL, or a credential by `authenticate`.
///
/// A store can be changed at any time, from any thread; requests take notice with their next hop.
public final class CredentialStore: Sendable {
    private struct Space {
        /// By realm; nil is for those that are not named.
        var credentials: [String?: Credential] = [:]
        /// The credential that is sent before a challenge.
        var preemptive: Credential?
        /// Where credentials were accepted: paths up to a slash, those learned last at the end.
        var folders: [(path: String, proof: CredentialProof)] = []
    }

    /// For one origin; who asks so many places may be asked again.
    private static let limitOfFolders = 64

    // Guarded by the box
    private let spaces = Protected<[RequestURL.Origin: Space]>([:])

    /// A store without credentials.
    public init() {}

    /// Keeps a credential, in place of the one that was there; nil removes it.
    ///
    /// - Parameters:
    ///   - origin: A URL, of which scheme, host and port count.
    ///   - realm: What the server calls what it protects, letter by letter; nil is for all realms of the origin that have no
    ///     credential of their own.
    ///   - preemptively: Whether requests to the origin send the credential by Basic before the server asks. It saves a
    ///     round trip, and shows the password also to a server that would accept Digest. It ends with the first refusal.
    public func set(
        _ credential: Credential?, for origin: any URLConvertible, realm: String? = nil, preemptively: Bool = false
    ) throws(RequestError) {
        let origin = try CredentialScope.origin(of: origin)
        _ = try credential?.basicField()
        spaces.withLock { spaces in
            var space = spaces[origin] ?? Space()
            if preemptively {
                space.preemptive = credential
            } else if space.preemptive == space.credentials[realm] {
                space.preemptive = nil
            }
            space.credentials[realm] = credential
            space.folders = space.preemptive.map { [("/", CredentialProof($0, .basic))] } ?? []
            spaces[origin] = space.credentials.isEmpty ? nil : space
        }
    }

    /// Forgets all of them, for a logout.
    public func removeAll() { spaces.withLock { $0 = [:] } }

    /// What a request to this URL may answer challenges with; nil if there is nothing.
    func authentication(for url: RequestURL) -> Authentication? {
        spaces.withLock { spaces in
            guard !spaces.isEmpty, let space = spaces[url.origin] else { return nil }
            let folder = space.folders.filter { url.path.hasPrefix($0.path) }.max { $0.path.count < $1.path.count }
            return Authentication(space.credentials, for: url, accepted: folder?.proof)
        }
    }

    func learn(_ proof: CredentialProof, isGood: Bool, at url: RequestURL) {
        spaces.withLock { spaces in
            // It may have been replaced while the request was under way.
            guard var space = spaces[url.origin], space.credentials.values.contains(proof.credential) else { return }
            let isKnown = space.folders.contains { url.path.hasPrefix($0.path) && $0.proof.isSame(as: proof) }
            guard isKnown != isGood else { return }
            if isGood {
                let folder = url.path.prefix(through: url.path.lastIndex(of: "/") ?? url.path.startIndex)
                space.folders.removeAll {
                    $0.path == folder || $0.path.hasPrefix(folder) && $0.proof.credential == proof.credential
                }
                space.folders.append((String(folder), proof))
                if space.folders.count > Self.limitOfFolders { space.folders.removeFirst() }
            } else {
                space.folders.removeAll { url.path.hasPrefix($0.path) && $0.proof.isSame(as: proof) }
            }
            spaces[url.origin] = space
        }
    }
}

extension CredentialStore: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String {
        "CredentialStore(\(spaces.withLock { $0.values.map(\.credentials.count).reduce(0, +) }) credentials)"
    }
    public var debugDescription: String { description }
    /// Keeps `dump` from showing what the description hides.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension OutgoingRequest {
    /// Prepares for challenges to this hop, and brings the credential that was accepted there before, in place of what the
    /// hop before had of the session's.
    mutating func renewCredentials(from store: CredentialStore?) {
        defer { proveCredential() }
        guard let store, options.usesCredentials != false else { return }
        if let last = options.authentication {
            guard let place = last.hop, place != url else { return }
            if last.sessionProof(in: self) != nil { headers.remove(name: "Authorization") }
            options.authentication = nil
        }
        guard headers["Authorization"] == nil, let authentication = store.authentication(for: url) else { return }
        options.authentication = authentication
    }
}

extension RequestCore {
    private func proof(of hop: Hop) -> CredentialProof? {
        hop.request.options.authentication?.sessionProof(in: hop.request)
    }

    func learnFromCredential(of outcome: HopOutcome) {
        guard let store = context.configuration.credentials, let hop = outcome.hop, let head = hop.head,
            let proof = proof(of: hop)
        else { return }
        store.learn(proof, isGood: head.status != 401, at: hop.request.url)
    }
}
