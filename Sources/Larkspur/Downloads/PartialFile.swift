/// The bytes of an unfinished download, and a record file next to it from which a later request resumes.
///
/// The record identifies the server's file. It is written once, while the partial file is empty. The number of received
/// bytes is the length of the partial file. So bytes and record match at any moment at which the process is killed.
final class PartialFile {
    let file: WritableFile
    private(set) var record: DownloadRecord?

    var url: URL { URL(fileURLWithPath: file.path) }

    private var recordPath: String { file.path + ".json" }

    /// - Parameter mode: The mode of a new file, less the process's umask. A mode for the owner alone is also applied
    ///   to an existing file.
    /// - Parameter accepts: Returns whether an existing file with this record may be resumed.
    init(claiming path: String, mode: mode_t, accepting accepts: (DownloadRecord) -> Bool) throws(RequestError) {
        file = try WritableFile.claim(path, mode: mode)
        guard file.length > 0, let data = FileManager.default.contents(atPath: recordPath),
            var stored = try? JSONDecoder().decode(DownloadRecord.self, from: data), accepts(stored)
        else { return }
        stored.partialFile = url
        record = stored
    }

    /// The record with the current length; nil if there are no bytes to resume from.
    var currentRecord: DownloadRecord? {
        guard file.length > 0, var record else { return nil }
        record.offset = file.length
        return record
    }

    /// Empties the file and replaces the record. The file is emptied first: if the process is killed between the two
    /// steps, old bytes cannot be joined with the new record.
    func restart(_ record: DownloadRecord?) throws {
        if file.length > 0 { try file.truncate() }
        self.record = nil
        guard let record else {
            unlink(recordPath)
            return
        }
        let new = recordPath + ".new"
        unlink(new)
        do {
            // Only the owner may read the record, because URLs can contain tokens.
            try WritableFile.create(new, mode: 0o600).append(JSONEncoder().encode(record))
            guard rename(new, recordPath) == 0 else { throw RequestError.system("renamed", new) }
        } catch {
            unlink(new)  // a full disk would leave an empty file
            throw error
        }
        self.record = record
    }

    func discard() {
        unlink(file.path)
        unlink(recordPath)
    }

    /// Flushes the file and moves it to the target in one step. So a reader never sees an incomplete file.
    func place(at target: String, replacing: Bool) throws {
        try file.flush()
        if target != file.path {
            try file.publish()
            do {
                try Self.move(file.path, to: target, replacing: replacing)
            } catch is OtherVolume {
                try copy(to: target, replacing: replacing)
            }
        }
        unlink(recordPath)
    }

    /// The target is on another volume.
    private struct OtherVolume: Error {}

    private static func move(_ path: String, to target: String, replacing: Bool) throws {
        if !replacing {
            // A rename would replace a file that another process created meanwhile; a hard link does not.
            if link(path, target) == 0 {
                unlink(path)
                return
            }
            if errno == EXDEV { throw OtherVolume() }
            // Not every file system supports hard links.
            if errno == EEXIST || access(target, F_OK) == 0 { throw RequestError.fileExists(target) }
        }
        // If another process creates a special file between this check and the rename, the rename replaces it, because
        // a rename has no condition on the kind of file. A process that may create files there may also remove them.
        try DestinationRules.check(target, replacing: replacing)
        guard rename(path, target) != 0 else { return }
        throw errno == EXDEV ? OtherVolume() : RequestError.system("moved into place", target)
    }

    private func copy(to target: String, replacing: Bool) throws {
        let copy = try WritableFile.claim(Self.path(for: target))
        do {
            try copy.truncate()
            var pieces = try FilePieces(of: url)
            while let piece = try pieces.next() { try piece.withUnsafeBytes { try copy.append($0) } }
            try copy.flush()
            try Self.move(copy.path, to: target, replacing: replacing)
        } catch {
            unlink(copy.path)
            throw error
        }
        unlink(file.path)
    }

    /// Returns the path of the partial file for this target. It is in the same folder, so it is on the same volume.
    static func path(for target: String) -> String {
        let url = URL(fileURLWithPath: target)
        // File names have at most 255 bytes.
        let name = url.lastPathComponent
        let short = name.utf8.count > 200 ? StreamingHash.hexadecimal(name, .sha256) : name
        return url.deletingLastPathComponent().appendingPathComponent(".\(short).larkspur").path
    }
}
