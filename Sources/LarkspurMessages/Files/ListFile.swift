/// An element of a ``ListFile``.
package protocol ListFileElement: Codable, Sendable {
    /// The key of the list in the file.
    static var listKey: String { get }
    /// The words for such a file in errors.
    static var fileDescription: String { get }
    /// The code of the error about a damaged file.
    static var invalidFile: RequestError.Code { get }
}

/// A file with a list of elements, such as the cookies of a ``CookieJar``. The actor writes the file on a thread for
/// files, one write at a time. Each write replaces the file atomically. So a reader finds either the old list or the
/// new one, even if the process was killed during a write.
package actor ListFile<Element: ListFileElement> {
    private struct Content: Codable {
        private struct Key: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }

            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }

            static var version: Key { Key(stringValue: "version") }
            static var list: Key { Key(stringValue: Element.listKey) }
        }

        static var version: Int { 1 }
        let version: Int
        let list: [Element]

        init(_ list: [Element]) {
            version = Self.version
            self.list = list
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            version = try container.decode(Int.self, forKey: .version)
            list = version == Self.version ? try container.decode([Element].self, forKey: .list) : []
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(version, forKey: .version)
            try container.encode(list, forKey: .list)
        }
    }

    private struct State {
        /// Whether a write is scheduled and has not started. That write will include all changes made before it starts.
        var isDue = false
        var failure: RequestError?
    }

    // Immutable
    private nonisolated let thread = FileThread.assigned()
    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
    private let path: String
    private let isKept: @Sendable (Element) -> Bool

    // Mutable state, guarded by the lock of `Protected`
    private nonisolated let box = Protected(State())

    /// - Parameter isKept: Returns whether the file contains the element.
    package init(_ path: String, isKept: @escaping @Sendable (Element) -> Bool = { _ in true }) {
        self.path = path
        self.isKept = isKept
    }

    package nonisolated var failure: RequestError? { box.withLock { $0.failure } }

    /// Reads the list from the file. Returns an empty array if the file does not exist.
    package nonisolated func read() throws(RequestError) -> [Element] {
        let data: Data
        do {
            data = try Data(of: URL(fileURLWithPath: path))
        } catch {
            if error.code == .fileMissing { return [] }
            throw error
        }
        do {
            let content = try JSONDecoder().decode(Content.self, from: data)
            if content.version == Content.version { return content.list }
        } catch {
            // The decoder's error is not attached, because it may quote secrets from the file.
            throw RequestError(
                Element.invalidFile,
                "the file \(path) is not \(Element.fileDescription), or is damaged; move it or remove it")
        }
        throw RequestError(Element.invalidFile, "a later version of this library has written the file \(path)")
    }

    /// Schedules a write unless one is already scheduled. The write covers all changes made before it starts.
    package nonisolated func setNeedsWriting(_ list: @escaping @Sendable () -> [Element]) {
        guard box.withLock({ $0.isDue.setOnce() }) else { return }
        // The task is unstructured, because the caller must not wait for the disk. A task whose changes another write
        // has covered does nothing.
        Task { await writeDue(list) }
    }

    private func writeDue(_ list: @Sendable () -> [Element]) {
        // Another write may have covered the changes already.
        guard box.withLock({ $0.isDue }) else { return }
        try? write(list)
    }

    /// Writes the list that the closure returns. The closure is called on the actor, which writes one list after
    /// another. So an older list cannot overwrite a newer list.
    package func write(_ list: @Sendable () -> [Element]) throws {
        box.withLock { $0.isDue = false }
        do {
            try WritableFile.replace(path, by: JSONEncoder().encode(Content(list().filter(isKept))))
            box.withLock { $0.failure = nil }
        } catch {
            let failure = RequestError(wrapping: error, as: .fileUnwritable)
            box.withLock { $0.failure = failure }
            throw failure
        }
    }
}
