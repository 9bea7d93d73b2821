import Dispatch
import Larkspur

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The file of an archive, which is valid JSON after each entry.
///
/// An entry is written over the closing brackets, followed by new ones, with one system call. If the disk is full, the
/// closing brackets are restored.
final class HARFile: Sendable {
    private struct State {
        var descriptor: Int32 = -1
        /// The position of the closing brackets.
        var position: Int64 = 0
        var hasEntries = false
        var error: RequestError?
    }

    /// The system's function `pwrite`; another function in tests.
    typealias Write = @Sendable (Int32, UnsafeRawPointer?, Int, off_t) -> Int

    private let path: String
    private let perform: Write
    /// Writes one entry at a time. All accesses to the file run here.
    private let queue = DispatchQueue(label: "Larkspur archive")
    private let state: Guarded<State>

    init(_ url: URL, write perform: @escaping Write = { pwrite($0, $1, $2, $3) }) {
        path = url.path
        self.perform = perform
        var state = State()
        if !url.isFileURL {
            state.error = RequestError(.invalidFileURL, "the URL of the archive is not a file URL")
        } else {
            (state.descriptor, state.error) = Self.create(path)
        }
        self.state = Guarded(state)
        queue.sync { write(HARFormat.beginning) }
    }

    private static func create(_ path: String) -> (Int32, RequestError?) {
        // Without O_NOFOLLOW, a link that another user has placed there would make this process truncate another file.
        // Without O_NONBLOCK, opening a pipe would wait for its reader. The file is truncated only if it is a file.
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0o600)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            return (descriptor, error("cannot be created", path, errno))
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            return (descriptor, RequestError(.fileNotRegular, "the archive \(path) is not a regular file"))
        }
        guard fchmod(descriptor, 0o600) == 0, ftruncate(descriptor, 0) == 0 else {
            return (descriptor, error("cannot be replaced", path, errno))
        }
        return (descriptor, nil)
    }

    deinit {
        let descriptor = state.withLock { $0.descriptor }
        if descriptor >= 0 { _ = posixClose(descriptor) }
    }

    /// Adds an entry, unless an earlier one could not be written.
    func append(_ entry: JSON) {
        let text = entry.text()
        queue.sync { add(text) }
    }

    private func add(_ entry: String) {
        let isFirst = state.withLock { !$0.hasEntries }
        write((isFirst ? "" : ",\n") + entry + "\n", isEntry: true)
    }

    /// Adds the last entries and closes the file. Throws the first error.
    func close(adding entries: [JSON] = []) async throws(RequestError) {
        await withCheckedContinuation { continuation in
            queue.async {
                for entry in entries { self.add(entry.text()) }
                let descriptor = self.state.withLock { state in
                    defer { state.descriptor = -1 }
                    return state.descriptor
                }
                if descriptor >= 0, posixClose(descriptor) != 0 { self.fail(errno) }
                continuation.resume()
            }
        }
        if let error = state.withLock({ $0.error }) { throw error }
    }

    private func write(_ text: String, isEntry: Bool = false) {
        let (descriptor, position, isBroken) = state.withLock { ($0.descriptor, $0.position, $0.error != nil) }
        guard descriptor >= 0, !isBroken else { return }
        let failure = write(text + HARFormat.end, to: descriptor, at: position)
        guard failure == 0 else {
            fail(failure)
            // The old closing brackets took this space before, so they still fit.
            if position > 0, write(HARFormat.end, to: descriptor, at: position) == 0 {
                _ = ftruncate(descriptor, off_t(position + Int64(HARFormat.end.utf8.count)))
            }
            return
        }
        state.withLock { state in
            state.position += Int64(text.utf8.count)
            if isEntry { state.hasEntries = true }
        }
    }

    private func fail(_ number: Int32) {
        state.withLock { $0.error = $0.error ?? Self.error("cannot be written", path, number) }
    }

    /// Writes the text. Returns the number of the system's error, or 0.
    private func write(_ text: String, to descriptor: Int32, at position: Int64) -> Int32 {
        var text = text
        return text.withUTF8 { bytes in
            var done = 0
            while done < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[done...])
                let count = perform(descriptor, rest.baseAddress, rest.count, off_t(position) + off_t(done))
                if count > 0 {
                    done += count
                } else if count == 0 {
                    return EIO
                } else if errno != EINTR {
                    return errno
                }
            }
            return 0
        }
    }

    private static func error(_ problem: String, _ path: String, _ number: Int32) -> RequestError {
        let code: RequestError.Code = number == ENOSPC || number == EDQUOT ? .diskFull : .fileUnwritable
        return RequestError(code, "the archive \(path) \(problem): \(String(cString: strerror(number)))")
    }
}

/// The system's `close`, whose name `HARFile` has too.
private func posixClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
