/// The folder of an identifier: one file for each transfer's record, and files beside it that belong to the transfer.
///
/// Every file is written beside its place, flushed and renamed. So a record is complete or missing, whenever the
/// process ends. The functions block; callers run them on a thread for files.
struct BackgroundFolder: Sendable {
    /// A file that belongs to a transfer.
    enum Part: String, CaseIterable {
        case record = "json"
        /// The head of the response whose body is complete.
        case head
        /// The complete file of a download by the system, before it is moved to its destination.
        case body
        /// The data from which the system resumes a download.
        case resumption = "resume"
    }

    let path: String

    /// Creates the folder if it does not exist. Only its owner may use it: a folder that is there is made private, and
    /// refused if it belongs to another user.
    init(creating url: URL) throws(RequestError) {
        path = try url.absoluteURL.filePath
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw RequestError(
                .fileUnwritable, "the folder \(path) of the background transfers cannot be created: \(error)",
                underlying: error)
        }
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { if descriptor >= 0 { close(descriptor) } }
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else { throw .system("opened", path) }
        guard status.st_uid == geteuid() else {
            throw RequestError(
                .fileUnwritable,
                "the folder \(path) of the background transfers belongs to another user; use another folder"
            )
        }
        if status.st_mode & 0o077 != 0, fchmod(descriptor, 0o700) != 0 {
            throw .system("made private", path)
        }
    }

    /// Returns the folder of an identifier: on Linux in `$XDG_STATE_HOME`, by default `~/.local/state`, and on Apple's
    /// platforms in the folder for application support.
    static func standard(_ identifier: String, in environment: [String: String]) throws(RequestError) -> URL {
        #if canImport(Darwin)
            let base = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
        #else
            // The specification ignores relative paths.
            let paths = [environment["XDG_STATE_HOME"], environment["HOME"].map { $0 + "/.local/state" }]
            let base = paths.compactMap { $0 }.first { $0.hasPrefix("/") }.map { URL(fileURLWithPath: $0) }
        #endif
        guard let base else {
            throw RequestError(
                .fileUnwritable, "the process has no home folder; pass a folder for the background transfers")
        }
        return base.appendingPathComponent("larkspur").appendingPathComponent(identifier)
    }

    func path(_ part: Part, of id: UUID) -> String { "\(path)/\(id.uuidString).\(part.rawValue)" }

    // MARK: Reading

    /// Returns the records, the oldest first, and an error for each record that is damaged or of a later version.
    ///
    /// A damaged record is renamed, so that it is reported once. A record of a later version stays.
    func read() throws(RequestError) -> (records: [BackgroundRecord], problems: [RequestError]) {
        let names: [String]
        do { names = try FileManager.default.contentsOfDirectory(atPath: path).sorted() } catch {
            throw RequestError(.fileUnreadable, "the folder \(path) cannot be read: \(error)", underlying: error)
        }
        var (records, problems, ids) = ([BackgroundRecord](), [RequestError](), Set<UUID>())
        for name in names where name.hasSuffix(".\(Part.record.rawValue)") {
            guard let id = Self.id(of: name) else { continue }
            ids.insert(id)
            do throws(RequestError) { records.append(try record(id)) } catch { problems.append(error) }
        }
        for name in names {
            let part = Part(rawValue: String(name.split(separator: ".").last ?? ""))
            let isLost = part.map { $0 != .record && Self.id(of: name).map(ids.contains) == false } ?? false
            if isLost || name.hasSuffix(".new") { unlink("\(path)/\(name)") }
        }
        return (records.sorted { ($0.created, $0.id.uuidString) < ($1.created, $1.id.uuidString) }, problems)
    }

    private static func id(of name: String) -> UUID? {
        UUID(uuidString: String(name.prefix { $0 != "." }))
    }

    private struct Version: Codable { let version: Int }

    private func record(_ id: UUID) throws(RequestError) -> BackgroundRecord {
        let place = path(.record, of: id)
        let data = try Data(of: URL(fileURLWithPath: place))
        let decoder = JSONDecoder()
        if let later = try? decoder.decode(Version.self, from: data), later.version > BackgroundRecord.version {
            throw RequestError(
                .invalidTransferRecord,
                "a later version of this library has written the file \(place), so its transfer does not continue")
        }
        if let record = try? decoder.decode(BackgroundRecord.self, from: data), record.id == id,
            (try? record.request) != nil
        {
            return record
        }
        rename(place, place + ".damaged")
        throw RequestError(
            .invalidTransferRecord,
            "the record of a background transfer was damaged, and is now the file \(place).damaged; remove it")
    }

    /// Returns the head of the response if the complete file is at this path. A file without a head is removed.
    func arrival(of id: UUID, at file: String) -> ResponseHead? {
        var status = stat()
        guard lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let place = URL(fileURLWithPath: path(.head, of: id))
        if let data = try? Data(of: place),
            let head = try? JSONDecoder().decode(BackgroundRecord.Head.self, from: data),
            (200..<300).contains(head.status)
        {
            return head.head
        }
        unlink(file)
        return nil
    }

    // MARK: Writing

    func write(_ record: BackgroundRecord) throws(RequestError) {
        try write(record, to: .record, of: record.id)
    }

    /// Writes the head of a response before its body is complete.
    func write(_ head: ResponseHead, of id: UUID) throws(RequestError) {
        try write(BackgroundRecord.Head(head), to: .head, of: id)
    }

    private func write(_ value: some Encodable, to part: Part, of id: UUID) throws(RequestError) {
        do { try replace(part, of: id, by: JSONEncoder().encode(value)) } catch {
            throw RequestError(wrapping: error, as: .fileUnwritable)
        }
    }

    func replace(_ part: Part, of id: UUID, by data: Data) throws {
        try WritableFile.replace(path(part, of: id), by: data)
    }

    /// Removes the record first: if the process is killed meanwhile, the other files are removed by the next run.
    func remove(_ id: UUID) {
        for part in Part.allCases { unlink(path(part, of: id)) }
    }

    /// Removes the files of an unfinished download beside its destination.
    func removeArrival(at file: URL) {
        let partial = PartialFile.path(for: file.path)
        for path in [file.path, partial, partial + ".json", partial + ".json.new"] { unlink(path) }
    }

    /// Moves a complete file to its destination. Returns false if there is no file, neither here nor there.
    ///
    /// It can be repeated: if an earlier run was killed after it moved the file, nothing is left to do.
    func place(_ file: String, at target: URL, by rules: BackgroundRecord.Download) throws(RequestError) -> Bool {
        let target = try target.filePath
        var (own, other) = (stat(), stat())
        let isThere = lstat(target, &other) == 0
        guard lstat(file, &own) == 0 else { return isThere }
        if isThere, own.st_ino == other.st_ino, own.st_dev == other.st_dev {
            unlink(file)  // two names of one file: a run was killed between adding one and removing the other
            return true
        }
        do {
            if rules.createsFolders {
                try FileManager.default.createDirectory(
                    at: URL(fileURLWithPath: target).deletingLastPathComponent(), withIntermediateDirectories: true)
            }
            try DestinationRules.check(target, replacing: rules.replaces)
            let partial = try PartialFile(claiming: file, mode: 0o666) { _ in false }
            try partial.place(at: target, replacing: rules.replaces)
        } catch {
            throw RequestError(wrapping: error, as: .fileUnwritable)
        }
        return true
    }
}

/// The folder on a thread for files, so that no thread of Swift's task pool waits for the disk.
actor BackgroundFiles {
    nonisolated let folder: BackgroundFolder
    private nonisolated let thread = FileThread.assigned()
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(_ folder: BackgroundFolder) { self.folder = folder }

    func run<Value: Sendable>(
        _ body: @Sendable (BackgroundFolder) throws(RequestError) -> Value
    ) throws(RequestError) -> Value {
        try body(folder)
    }
}
