/// A store for the cookies that servers set. A session sends each cookie only to the servers that the cookie is for
/// (RFC 6265bis).
///
/// By default each session has its own jar. A program can also read and fill a jar directly, from any thread.
///
///     let session = Session()
///     _ = try await session.request("https://example.com/login").serializingData().value
///     session.cookieJar?.cookies(for: try RequestURL("https://example.com/"))
///
/// A jar holds at most 180 cookies for a domain, and 3,000 in total.
public final class CookieJar: Sendable {
    // Immutable
    private let clock: WallClock
    private let file: ListFile<Cookie>?

    // Mutable state, guarded by the locks of `Protected`
    private let box: Protected<CookieStore>
    /// Whether the jar has ever held a cookie, in eight copies. Each hop reads only one of the copies, so that the
    /// threads of several requests do not contend for one lock.
    private let hadCookies: [Protected<Bool>]

    /// Creates a jar in memory.
    ///
    /// - Parameter cookies: The initial cookies. If two cookies have the same name, domain, path and `isHostOnly`, the
    ///   later cookie replaces the earlier one.
    /// - Parameter clock: The clock by which cookies expire.
    public convenience init(_ cookies: [Cookie] = [], clock: WallClock = .system) {
        self.init(cookies, in: nil, clock)
    }

    /// Creates a jar with the cookies of a file, and stores later changes in that file. Only the file's owner can read
    /// the file.
    ///
    /// If the file does not exist, the jar is empty. If the file is damaged, the initializer throws
    /// `.invalidCookieFile` and leaves the file unchanged. For other read errors it throws an error with another code.
    ///
    /// The jar replaces the file atomically after changes. Changes during a write are written by the next write. Call
    /// ``save()`` before the process ends, so that no change is lost. If two jars share a file, the last write wins. If
    /// their writes overlap, one of the writes fails with `.fileInUse`. The jar whose write failed writes again after
    /// its next change.
    ///
    /// - Parameter keepsSessionCookies: Whether the file also contains session cookies, which have no expiry date.
    public convenience init(
        file: URL, keepsSessionCookies: Bool = false, clock: WallClock = .system
    ) throws(RequestError) {
        let file = ListFile<Cookie>(try file.filePath) { keepsSessionCookies || $0.expires != nil }
        self.init(try file.read(), in: file, clock)
    }

    private init(_ cookies: [Cookie], in file: ListFile<Cookie>?, _ clock: WallClock) {
        self.clock = clock
        self.file = file
        box = Protected(CookieStore(cookies, at: clock.now))
        hadCookies = (0..<8).map { _ in Protected(!cookies.isEmpty) }
    }

    /// Whether the jar reads the time without code of users, so that it can be called from any thread.
    package var isOnSystemClock: Bool { clock.isSystem }

    package func copy() -> CookieJar { CookieJar(all, clock: clock) }

    // MARK: Cookies of responses

    /// Stores the cookies of a response, except those that this URL may not set.
    public func store(_ head: ResponseHead, from url: RequestURL) {
        store(head.values(for: "Set-Cookie"), from: url)
    }

    /// Stores the cookies of a response's first 180 `Set-Cookie` fields.
    public func store(_ fields: [String], from url: RequestURL) {
        let now = clock.now
        let cookies = fields.prefix(CookieStore.limitForDomain).compactMap { SetCookie($0)?.cookie(from: url, at: now) }
        change(cookies, mayReplaceSecure: url.isSecure, at: now)
    }

    // MARK: Cookies for requests

    /// Returns the cookies for a request to this URL, ordered by path length (longest first), then by creation (oldest
    /// first).
    public func cookies(for url: RequestURL) -> [Cookie] {
        let now = clock.now
        return box.withLock { $0.cookies(for: url, at: now) }
    }

    /// Returns the value of the `Cookie` field for a request to this URL; nil if no cookie matches.
    public func header(for url: RequestURL) -> String? {
        let cookies = cookies(for: url)
        guard !cookies.isEmpty else { return nil }
        var text = ""
        for cookie in cookies {
            if !text.isEmpty { text += "; " }
            if !cookie.name.isEmpty {
                text += cookie.name
                text += "="
            }
            text += cookie.value
        }
        return text
    }

    /// Returns the value of the `Cookie` field; nil if no cookie matches. If the jar has never held a cookie, the
    /// method takes only one lock.
    package func header(for url: RequestURL, askedBy id: RequestID) -> String? {
        let index = Int(id.number % UInt64(hadCookies.count))
        return hadCookies[index].withLock { $0 } ? header(for: url) : nil
    }

    // MARK: Reading and changing

    /// All cookies that have not expired, the most recently used last.
    public var all: [Cookie] {
        let now = clock.now
        return box.withLock { $0.all(at: now) }
    }

    /// Stores a cookie in place of a cookie with the same name, domain, path and `isHostOnly`. If the new cookie has
    /// expired, the old cookie is only removed.
    public func set(_ cookie: Cookie) { change([cookie], mayReplaceSecure: true, at: clock.now) }

    /// Removes the stored cookie with the same name, domain, path and `isHostOnly` as this cookie. The values may
    /// differ.
    public func remove(_ cookie: Cookie) { remove([cookie]) }

    /// Removes every cookie.
    public func removeAll() { remove(all) }

    /// Removes the cookies for which the closure returns true.
    public func removeAll(where isUnwanted: (Cookie) throws -> Bool) rethrows {
        remove(try all.filter(isUnwanted))  // rule R1: no lock is held while user code runs
    }

    private func remove(_ cookies: [Cookie]) {
        let isChanged = box.withLock { store in
            cookies.reduce(false) { isChanged, cookie in store.remove(cookie) || isChanged }
        }
        if isChanged { file?.setNeedsWriting { [self] in all } }
    }

    private func change(_ cookies: [Cookie], mayReplaceSecure: Bool, at now: Date) {
        guard !cookies.isEmpty else { return }
        let isChanged = box.withLock { store in
            defer { store.removeExcess(at: now) }
            return cookies.reduce(false) { isChanged, cookie in
                store.set(cookie, mayReplaceSecure: mayReplaceSecure, at: now) || isChanged
            }
        }
        guard isChanged else { return }
        for box in hadCookies { box.withLock { $0 = true } }
        file?.setNeedsWriting { [self] in all }
    }

    // MARK: The file

    /// Writes the file now, and throws if the write fails. Has no effect on a jar in memory.
    public func save() async throws { try await file?.write { all } }

    /// The error of the last write to the file; nil if that write succeeded. After an error, the jar writes the file
    /// again when a cookie changes.
    public var fileError: RequestError? { file?.failure }
}

extension Cookie: ListFileElement {
    package static var listKey: String { "cookies" }
    package static var fileDescription: String { "a cookie jar's file" }
    package static var invalidFile: RequestError.Code { .invalidCookieFile }
}

extension CookieJar: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "CookieJar(\(all.count) cookies)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
