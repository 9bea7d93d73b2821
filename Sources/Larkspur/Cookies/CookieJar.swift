/// Keeps what servers set, and gives it back to them and to nobody else, by RFC 6265bis.
///
/// Each session has one of its own unless told otherwise; it can be asked and filled by hand too, from any thread.
///
///     let session = Session()
///     _ = try await session.request("https://example.com/login", method: .post, parameters: login).serializingData().value
///     session.cookieJar?.cookies(for: try RequestURL("https://example.com/"))
///
/// At most 180 cookies are kept for a domain, and 3,000 in all.
public final class CookieJar: Sendable {
    // Immutable
    private let clock: WallClock
    private let file: CookieFile?

    // Guarded by boxes
    private let box: Protected<CookieStore>
    /// Whether there ever was a cookie, once for every so many requests: all threads ask it for every hop, and one box
    /// would have them queue.
    private let hadCookies: [Protected<Bool>]

    /// A jar in memory.
    ///
    /// - Parameter cookies: What it begins with; of two for the same place the later one counts.
    /// - Parameter clock: What cookies expire by.
    public convenience init(_ cookies: [Cookie] = [], clock: WallClock = .system) {
        self.init(cookies, in: nil, clock)
    }

    /// A jar that is kept in a file, which only its owner can read. The file is read at once; one that is not there yet is an
    /// empty jar, one that cannot be read or is damaged is left as it is: `.invalidCookieFile`, or what else was wrong.
    ///
    /// It is written after changes, by replacing it as a whole. Changes that come while it is being written go together into
    /// the next write; ``save()`` before the process ends has none of them lost. Of two jars with one file the last that is
    /// written wins; while one is being written, the other fails with `.fileInUse`, and writes with its next change.
    ///
    /// - Parameter keepsSessionCookies: Whether cookies that end with the session are kept in the file too.
    public convenience init(
        file: URL, keepsSessionCookies: Bool = false, clock: WallClock = .system
    ) throws(RequestError) {
        let file = CookieFile(try file.filePath, keepsSessionCookies: keepsSessionCookies)
        self.init(try file.read(), in: file, clock)
    }

    private init(_ cookies: [Cookie], in file: CookieFile?, _ clock: WallClock) {
        self.clock = clock
        self.file = file
        box = Protected(CookieStore(cookies, at: clock.now))
        hadCookies = (0..<8).map { _ in Protected(!cookies.isEmpty) }
    }

    func copy() -> CookieJar { CookieJar(all, clock: clock) }

    // MARK: What servers set

    /// Keeps the cookies of a response; those that this URL may not set are left out.
    public func store(_ head: ResponseHead, from url: RequestURL) {
        store(head.values(for: "Set-Cookie"), from: url)
    }

    /// Keeps the cookies of a response's `Set-Cookie` fields, of the first 180 of them.
    public func store(_ fields: [String], from url: RequestURL) {
        let now = clock.now
        let cookies = fields.prefix(CookieStore.limitForDomain).compactMap { SetCookie($0)?.cookie(from: url, at: now) }
        change(cookies, mayReplaceSecure: url.isSecure, at: now)
    }

    // MARK: What servers get

    /// The cookies for a request to this URL, those of longer paths first, then those that were set first.
    public func cookies(for url: RequestURL) -> [Cookie] {
        let now = clock.now
        return box.withLock { $0.cookies(for: url, at: now) }
    }

    /// The value of the field `Cookie` for a request to this URL; nil if there are no cookies for it.
    public func header(for url: RequestURL) -> String? {
        let cookies = cookies(for: url)
        guard !cookies.isEmpty else { return nil }
        return cookies.map { $0.name.isEmpty ? $0.value : "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }

    /// The same, and nothing but a look at a box while there are no cookies at all.
    func header(for url: RequestURL, askedBy id: RequestID) -> String? {
        let place = Int(id.number % UInt64(hadCookies.count))
        return hadCookies[place].withLock { $0 } ? header(for: url) : nil
    }

    // MARK: What the program does

    /// All cookies that have not expired; those that were used last come last.
    public var all: [Cookie] {
        let now = clock.now
        return box.withLock { $0.all(at: now) }
    }

    /// Keeps a cookie, in place of one of the same name, domain and path. One that has expired removes it.
    public func set(_ cookie: Cookie) { change([cookie], mayReplaceSecure: true, at: clock.now) }

    /// Removes the cookie of this name, domain and path, whatever its value.
    public func remove(_ cookie: Cookie) { remove([cookie]) }

    /// Removes every cookie.
    public func removeAll() { remove(all) }

    /// Removes the cookies for which the closure says so.
    public func removeAll(where isUnwanted: (Cookie) throws -> Bool) rethrows {
        remove(try all.filter(isUnwanted))  // R1: the closure runs without the lock
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

    /// Writes the file now; throws what keeps it from being written. A jar in memory has nothing to write.
    public func save() async throws { try await file?.write { all } }

    /// Why the file could not be written the last time; nil if it was. The next change tries again.
    public var fileError: RequestError? { file?.failure }
}

extension CookieJar: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "CookieJar(\(all.count) cookies)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
