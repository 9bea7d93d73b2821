/// The file of a ``CookieJar``. The actor writes the file on a thread for files, one write at a time. Each write
/// replaces the file atomically. So a reader finds either the old cookies or the new ones, even if the process was
/// killed during a write.
actor CookieFile {
    private struct Content: Codable {
        static let version = 1
        var version = Content.version
        let cookies: [Cookie]
    }

    private struct State {
        /// Whether a write is scheduled and has not started. That write will include all changes made before it starts.
        var isDue = false
        var failure: RequestError?
    }

    // Immutable
    private nonisolated let thread = FileThread.assigned()
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
    private let path: String
    private let keepsSessionCookies: Bool

    // Mutable state, guarded by the lock of `Protected`
    private nonisolated let box = Protected(State())

    init(_ path: String, keepsSessionCookies: Bool) {
        self.path = path
        self.keepsSessionCookies = keepsSessionCookies
    }

    nonisolated var failure: RequestError? { box.withLock { $0.failure } }

    /// Reads the cookies from the file. Returns an empty array if the file does not exist.
    nonisolated func read() throws(RequestError) -> [Cookie] {
        let data: Data
        do {
            data = try Data(of: URL(fileURLWithPath: path))
        } catch {
            if error.code == .fileMissing { return [] }
            throw error
        }
        do {
            let content = try JSONDecoder().decode(Content.self, from: data)
            if content.version == Content.version { return content.cookies }
        } catch {
            // The decoder's error is not attached, because it may quote cookie values from the file.
            throw RequestError(
                .invalidCookieFile, "the file \(path) is not a cookie jar's file, or is damaged; move it or remove it")
        }
        throw RequestError(.invalidCookieFile, "a later version of this library has written the file \(path)")
    }

    /// Schedules a write unless one is already scheduled. The write covers all changes made before it starts.
    nonisolated func setNeedsWriting(_ cookies: @escaping @Sendable () -> [Cookie]) {
        guard box.withLock({ $0.isDue.setOnce() }) else { return }
        // The task is unstructured, because storing a cookie must not wait for the disk. `isDue` allows only one
        // waiting task.
        Task { await writeDue(cookies) }
    }

    private func writeDue(_ cookies: @Sendable () -> [Cookie]) {
        box.withLock { $0.isDue = false }
        try? write(cookies)
    }

    /// Writes the cookies that the closure returns. The closure is called on the actor, which writes one list after
    /// another. So an older list cannot overwrite a newer list.
    func write(_ cookies: @Sendable () -> [Cookie]) throws {
        do {
            try replace(by: cookies().filter { keepsSessionCookies || $0.expires != nil })
            box.withLock { $0.failure = nil }
        } catch {
            let failure = RequestError(wrapping: error, as: .fileUnwritable)
            box.withLock { $0.failure = failure }
            throw failure
        }
    }

    private func replace(by cookies: [Cookie]) throws {
        let data = try JSONEncoder().encode(Content(cookies: cookies))
        // `claim` locks the new file, so that other jars and other processes cannot write to it at the same time.
        let new = try WritableFile.claim(path + ".new", mode: 0o600)
        do {
            try new.truncate()
            try new.append(data)
            try new.flush()
            guard rename(new.path, path) == 0 else { throw RequestError.system("replaced", path) }
        } catch {
            unlink(new.path)
            throw error
        }
    }
}
