/// A jar's file. It is written on a thread for files, one time after the other, and replaced in one step: whoever reads
/// it, also after a kill, finds the old cookies or the new ones.
actor CookieFile {
    private struct Content: Codable {
        static let version = 1
        var version = Content.version
        let cookies: [Cookie]
    }

    private struct State {
        /// Whether a task is about to write what is there by then.
        var isDue = false
        var failure: RequestError?
    }

    // Immutable
    private nonisolated let thread = FileThread.assigned()
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
    private let path: String
    private let keepsSessionCookies: Bool

    // Guarded by the box
    private nonisolated let box = Protected(State())

    init(_ path: String, keepsSessionCookies: Bool) {
        self.path = path
        self.keepsSessionCookies = keepsSessionCookies
    }

    nonisolated var failure: RequestError? { box.withLock { $0.failure } }

    /// What is in the file; none if there is no file.
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
            // The reason may quote from the file.
            throw RequestError(.invalidCookieFile, "the file \(path) is not a jar's, or damaged; move it or remove it")
        }
        throw RequestError(.invalidCookieFile, "the file \(path) is of a later version of this library")
    }

    /// Has the file written soon, once for all that has changed until then.
    nonisolated func setNeedsWriting(_ cookies: @escaping @Sendable () -> [Cookie]) {
        guard box.withLock({ $0.isDue.raise() }) else { return }
        // Unstructured, one at a time: whoever stores a cookie must not wait for the disk.
        Task { await writeDue(cookies) }
    }

    private func writeDue(_ cookies: @Sendable () -> [Cookie]) {
        box.withLock { $0.isDue = false }
        try? write(cookies)
    }

    /// Asks for the cookies here, where no other write can come in between.
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
        // The claim keeps other jars with this file, and other processes, from writing to it at the same time.
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
