/// The names and passwords of a session, for servers that ask for them. Each credential is for one origin, and
/// optionally for one realm.
///
///     let credentials = CredentialStore()
///     try credentials.set(Credential(username: "ada", password: password), for: "https://api.example.com")
///     let session = Session(configuration: SessionConfiguration { $0.credentials = credentials })
///
/// If a 401 offers Digest or Basic, and the request's body can be sent twice, the request is sent once more with the
/// credential. The strongest scheme is used, as with ``Request/authenticate(with:preemptively:)``.
///
/// After the server has accepted a credential, later requests to the same folder and its subfolders send the credential
/// without waiting for a 401 (RFC 7617, section 2.2). A folder is the path of a URL up to its last slash. With Digest,
/// these requests use the same nonce with the next nonce count. If the server refuses the credential, later requests
/// wait for a 401 again.
///
/// A credential is never sent to another origin. For example, a credential for an https URL is never sent over http.
/// Three things take precedence over the store: an `Authorization` field, user and password in the URL, and a
/// credential set by `authenticate`.
///
/// The store is thread-safe. If it changes, running requests use the change from their next hop on.
public final class CredentialStore: Sendable {
    private struct OriginCredentials {
        /// The credentials by realm; the key nil is for all other realms.
        var credentials: [String?: Credential] = [:]
        /// The credential that is sent before the server asks for one, and its realm.
        var preemptive: (realm: String?, credential: Credential)?
        /// The folders in which the server accepted a credential, the latest last. The path of a folder ends with a
        /// slash.
        var folders: [(path: String, proof: CredentialProof)] = []

        var preemptiveProof: CredentialProof? { preemptive.map { CredentialProof($0.credential, .basic) } }
    }

    /// The maximum number of folders that are kept for one origin. Outside of these folders, requests are sent without
    /// a credential until the server asks for it, unless a preemptive credential is set.
    private static let limitOfFolders = 64

    // Mutable state, guarded by the lock of `Protected`
    private let origins = Protected<[RequestURL.Origin: OriginCredentials]>([:])

    /// Creates a store without credentials.
    public init() {}

    /// Sets the credential for an origin; nil removes the credential.
    ///
    /// - Parameters:
    ///   - credential: The user's name and password; nil to remove them.
    ///   - origin: A URL, of which only scheme, host and port count.
    ///   - realm: The server's name for the protected area, compared exactly; nil for all realms without a credential
    ///     of their own.
    ///   - preemptively: Whether requests to the origin send the credential with the Basic scheme before the server
    ///     asks. This saves a round trip, but shows the password even to a server that would accept Digest. After the
    ///     first refusal, the credential is no longer sent in advance.
    /// - Throws: ``RequestError/Code/invalidURL`` for an origin that is not an http or https URL, and
    ///   ``RequestError/Code/invalidCredential`` for a credential that the Basic scheme cannot carry.
    public func set(
        _ credential: Credential?, for origin: any URLConvertible, realm: String? = nil, preemptively: Bool = false
    ) throws(RequestError) {
        let origin = try CredentialScope.origin(of: origin)
        _ = try credential?.basicField()
        origins.withLock { origins in
            var entry = origins[origin] ?? OriginCredentials()
            if entry.preemptive?.realm == realm { entry.preemptive = nil }
            if preemptively, let credential { entry.preemptive = (realm, credential) }
            entry.credentials[realm] = credential
            entry.folders = []
            origins[origin] = entry.credentials.isEmpty ? nil : entry
        }
    }

    /// Removes all credentials, for a logout.
    public func removeAll() { origins.withLock { $0 = [:] } }

    /// Returns the credentials for requests to this URL; nil if there are none.
    func authentication(for url: RequestURL) -> Authentication? {
        origins.withLock { origins in
            guard !origins.isEmpty, let entry = origins[url.origin] else { return nil }
            let folder = entry.folders.filter { url.path.hasPrefix($0.path) }.max { $0.path.count < $1.path.count }
            return Authentication(entry.credentials, for: url, accepted: folder?.proof ?? entry.preemptiveProof)
        }
    }

    func learn(_ proof: CredentialProof, isGood: Bool, at url: RequestURL) {
        origins.withLock { origins in
            // The credential may have been replaced while the request was in flight. In that case, ignore the result.
            guard var entry = origins[url.origin], entry.credentials.values.contains(proof.credential) else { return }
            let isPreemptive = entry.preemptiveProof?.isSame(as: proof) == true
            let isKnown =
                isPreemptive || entry.folders.contains { url.path.hasPrefix($0.path) && $0.proof.isSame(as: proof) }
            guard isKnown != isGood else { return }
            if isGood {
                let folder = url.path.prefix(through: url.path.lastIndex(of: "/") ?? url.path.startIndex)
                entry.folders.removeAll {
                    $0.path == folder || $0.path.hasPrefix(folder) && $0.proof.credential == proof.credential
                }
                entry.folders.append((String(folder), proof))
                if entry.folders.count > Self.limitOfFolders { entry.folders.removeFirst() }
            } else {
                if isPreemptive { entry.preemptive = nil }
                entry.folders.removeAll { url.path.hasPrefix($0.path) && $0.proof.isSame(as: proof) }
            }
            origins[url.origin] = entry
        }
    }
}

extension CredentialStore: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String {
        "CredentialStore(\(origins.withLock { $0.values.map(\.credentials.count).reduce(0, +) }) credentials)"
    }
    public var debugDescription: String { description }
    /// A mirror without children, because the stored properties contain secrets.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension SessionConfiguration {
    /// The credentials that answer authentication challenges; nil by default. All sessions with this configuration
    /// share the store.
    public var credentials: CredentialStore? {
        get { self[CredentialSettings.self].store }
        set { self[CredentialSettings.self].store = newValue }
    }
}

struct CredentialSettings: ParticipantSettings {
    var store: CredentialStore?

    static let place = 400

    func participant(
        in configuration: SessionConfiguration, extending parents: [any HopParticipant]
    ) -> (any HopParticipant)? {
        store.map(CredentialParticipant.init)
    }
}

/// The credentials of a session: each hop gets those of its origin, and its response tells whether they are good.
struct CredentialParticipant: SelectiveParticipant {
    let store: CredentialStore

    static let steps: HopSteps = [.prepares, .learns]

    func prepare(_ hop: inout OutgoingHop) { hop.request.renewCredentials(from: store) }

    func learnsLater(from hop: Hop) -> Bool {
        let authentication = hop.request.responder as? Authentication
        if let head = hop.head, let proof = authentication?.sessionProof(in: hop.request) {
            store.learn(proof, isGood: head.status != 401, at: hop.request.url)
        }
        return false
    }
}

extension OutgoingRequest {
    /// Replaces the session's credentials for the previous hop by its credentials for this hop's URL. The
    /// `Authorization` field is added at once if the server has accepted a credential there before, or if the
    /// credential is preemptive.
    fileprivate mutating func renewCredentials(from store: CredentialStore) {
        guard options.usesCredentials != false else { return }
        if let last = responder {
            guard let last = last as? Authentication, let place = last.hop, place != url else { return }
            if last.sessionProof(in: self) != nil { headers.remove(name: "Authorization") }
            options.responder = nil
        }
        guard headers["Authorization"] == nil, let authentication = store.authentication(for: url) else { return }
        options.responder = authentication
    }
}
