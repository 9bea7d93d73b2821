internal import LarkspurSecurity

/// The checks of everything that a caller passes to ``BackgroundTransfers``. They run at once, before a record exists.
enum BackgroundRules {
    /// Throws `.invalidIdentifier` unless the identifier can be the name of a folder.
    static func check(identifier: String) throws(RequestError) {
        let isFolder = ![".", ".."].contains(identifier) && !identifier.utf8.contains(UInt8(ascii: "/"))
        let hasOnlyText = !identifier.unicodeScalars.contains {
            $0 == "\\" || $0.properties.generalCategory == .control
        }
        guard !identifier.isEmpty, identifier.utf8.count <= 200, isFolder, hasOnlyText else {
            throw RequestError(
                .invalidIdentifier,
                "the identifier of background transfers is empty, longer than 200 bytes, . or .., or contains a slash "
                    + "or a control character; use one such as com.example.films")
        }
    }

    /// Throws `.unsupportedInBackground` for a configuration that cannot work.
    ///
    /// - Parameter isSystem: Whether the system performs the transfers, also without the app.
    static func check(_ configuration: SessionConfiguration, isSystem: Bool) throws(RequestError) {
        if case .deliver = configuration.options.redirects {
            throw unsupported(
                "the configuration delivers redirects, so a redirect would take the place of the file; remove "
                    + "options.redirects")
        }
        guard isSystem else { return }
        if configuration.redirectHandler != nil {
            throw unsupported("the system follows redirects by itself; remove the configuration's redirectHandler")
        }
        if configuration.serverTrust != nil {
            throw unsupported(
                "the system evaluates servers without the app; remove serverTrust from the configuration, and pin keys "
                    + "in the app's Info.plist (NSPinnedDomains)")
        }
    }

    /// Throws unless the request has no body and can be sent.
    static func check(download request: OutgoingRequest) throws(RequestError) {
        guard case .none = request.body else {
            throw unsupported("a background download has no body; send the request with a session")
        }
        try checkParts(of: request)
    }

    /// Returns the file of an upload. Throws if the body is not a file, or the request cannot be sent.
    static func file(of request: OutgoingRequest) throws(RequestError) -> ResumableFile {
        guard case .file(let path, let length, _) = request.body else {
            throw unsupported(
                "only a file can be uploaded in the background, because data and streams are lost when the process "
                    + "ends; write the body to a file first")
        }
        let file = try ResumableFile(URL(fileURLWithPath: path), expecting: nil)
        guard file.length == length else {
            throw RequestError(.fileChanged, "the file \(path) has another length than the body; make the body again")
        }
        try checkParts(of: request)
        return file
    }

    private static func checkParts(of request: OutgoingRequest) throws(RequestError) {
        var copy = request
        try copy.complete()
    }

    static func unsupported(_ problem: String) -> RequestError { RequestError(.unsupportedInBackground, problem) }
}

/// The use of an identifier and its folder by one ``BackgroundTransfers``.
///
/// Within the process the identifier is claimed. Other processes are kept out by the lock on a file in the folder,
/// which the system releases if the process is killed.
final class BackgroundClaim: Sendable {
    private static let claimed = Protected<Set<String>>([])

    private let identifier: String
    private let lock: Protected<WritableFile?>

    init(_ identifier: String, _ folder: BackgroundFolder) throws(RequestError) {
        let isFirst = Self.claimed.withLock { $0.insert(identifier).inserted }
        guard isFirst else { throw Self.inUse("another BackgroundTransfers of this process has the same identifier") }
        do throws(RequestError) {
            lock = Protected(try WritableFile.claim(folder.path + "/lock", mode: 0o600))
        } catch {
            _ = Self.claimed.withLock { $0.remove(identifier) }
            guard error.code == .fileInUse else { throw error }
            throw Self.inUse("another process, or another identifier, uses the folder \(folder.path)")
        }
        self.identifier = identifier
    }

    deinit { release() }

    func release() {
        let wasHeld = lock.withLock { file in
            defer { file = nil }
            return file != nil
        }
        // After the first release, another object may have claimed the identifier.
        if wasHeld { _ = Self.claimed.withLock { $0.remove(identifier) } }
    }

    private static func inUse(_ reason: String) -> RequestError {
        RequestError(.identifierInUse, "the identifier is in use: \(reason); use one object for each identifier")
    }
}
