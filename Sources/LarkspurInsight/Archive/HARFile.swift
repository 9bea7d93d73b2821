import Dispatch
import Larkspur
internal import LarkspurAnnex

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

    private static let end = Array(HARWriter.end.utf8)

    private let path: String
    /// The system's function; another function in tests.
    private let perform: WholeWrite.Function
    /// Writes one entry at a time. All accesses to the file run here.
    private let queue = DispatchQueue(label: "Larkspur archive")
    private let state: Guarded<State>

    init(_ url: URL, write perform: @escaping WholeWrite.Function = WholeWrite.system) {
        path = url.path
        self.perform = perform
        var state = State()
        if !url.isFileURL {
            state.error = RequestError(.invalidFileURL, "the URL of the archive is not a file URL")
        } else {
            (state.descriptor, state.error) = Self.create(path)
        }
        self.state = Guarded(state)
        queue.sync { write(Array((HARWriter.beginning + HARWriter.end).utf8)) }
    }

    private static func create(_ path: String, _ flags: Int32 = 0) -> (Int32, RequestError?) {
        // Without O_NOFOLLOW, a link that another user has placed there would make this process truncate another file.
        // Without O_NONBLOCK, opening a pipe would wait for its reader. The file is truncated only if it is a file.
        let descriptor = open(
            path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | flags, 0o600)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            return (descriptor, error("cannot be created", path, errno))
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            return (descriptor, RequestError(.fileNotRegular, "the archive \(path) is not a regular file"))
        }
        // Two writers would write over each other. A file system without locks, such as some of networks, has none.
        if flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK {
            let text = "the archive \(path) is being written by another recorder; give each recorder a file of its own"
            return (descriptor, RequestError(.fileUnwritable, text))
        }
        // The other name of the file keeps its content. Another user may have made this name a link to it.
        if status.st_nlink > 1 {
            _ = posixClose(descriptor)
            guard unlink(path) == 0 else { return (-1, error("cannot be replaced", path, errno)) }
            return create(path, O_EXCL)
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
    func append(_ entry: HARArchive.Entry) { append(HARRecord(entry: entry)) }

    func append(_ record: HARRecord) {
        let text = Self.text(of: record)
        queue.sync { add(text) }
    }

    private static let separator = ",\n"

    /// Returns the text of an entry, with a separator before it and the closing brackets after it.
    private static func text(of record: HARRecord) -> [UInt8] {
        var writer = HARWriter()
        writer.raw(separator)
        writer.entry(record)
        writer.raw("\n")
        writer.raw(HARWriter.end)
        return writer.bytes
    }

    private func add(_ text: [UInt8]) {
        let isFirst = state.withLock { !$0.hasEntries }
        write(isFirst ? Array(text.dropFirst(Self.separator.utf8.count)) : text, isEntry: true)
    }

    /// Adds the last entries and closes the file. Throws the first error.
    func close(adding records: [HARRecord] = []) async throws(RequestError) {
        await withCheckedContinuation { continuation in
            queue.async {
                for record in records { self.add(Self.text(of: record)) }
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

    /// Writes a text that ends with the closing brackets over the old ones.
    private func write(_ text: [UInt8], isEntry: Bool = false) {
        let (descriptor, position, isBroken) = state.withLock { ($0.descriptor, $0.position, $0.error != nil) }
        guard descriptor >= 0, !isBroken else { return }
        let failure = WholeWrite.write(text, to: descriptor, at: position, with: perform)
        guard failure == 0 else {
            fail(failure)
            // The old closing brackets took this space before, so they still fit.
            if position > 0, WholeWrite.write(Self.end, to: descriptor, at: position, with: perform) == 0 {
                _ = ftruncate(descriptor, off_t(position + Int64(Self.end.count)))
            }
            return
        }
        state.withLock { state in
            state.position += Int64(text.count - Self.end.count)
            if isEntry { state.hasEntries = true }
        }
    }

    private func fail(_ number: Int32) {
        state.withLock { $0.error = $0.error ?? Self.error("cannot be written", path, number) }
    }

    /// Returns the reason of an error of Foundation: the text of the system's error, if there is one.
    static func reason(of error: any Error) -> String {
        let code = ((error as? CocoaError)?.userInfo["NSUnderlyingError"] as? POSIXError)?.code
        return code.map { String(cString: strerror($0.rawValue)) } ?? "\(error)"
    }

    private static func error(_ problem: String, _ path: String, _ number: Int32) -> RequestError {
        let code: RequestError.Code = number == ENOSPC || number == EDQUOT ? .diskFull : .fileUnwritable
        return RequestError(code, "the archive \(path) \(problem): \(String(cString: strerror(number)))")
    }
}

/// The system's `close`, whose name `HARFile` has too.
private func posixClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
