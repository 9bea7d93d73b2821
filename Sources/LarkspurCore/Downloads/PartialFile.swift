/// The file with the bytes of an unfinished download, and a record file next to it. A later request needs both to
/// resume.
///
/// The record identifies the version of the file on the server, and is written only while the partial file is empty.
/// The number of received bytes is taken from the length of the partial file and not from the record. So the bytes and
/// the record match even if the process is killed at any moment.
package final class PartialFile {
    package let file: WritableFile
    private(set) var record: DownloadRecord?

    package var url: URL { URL(fileURLWithPath: file.path) }

    package var recordPath: String { file.path + ".json" }

    /// - Parameter mode: The mode of a new file, reduced by the process's umask. If the mode gives access only to the
    ///   owner, an existing file also gets this mode.
    /// - Parameter accepts: Returns whether an existing file with this record may be resumed.
    package init(claiming path: String, mode: mode_t, accepting accepts: (DownloadRecord) -> Bool) throws(RequestError)
    {
        file = try WritableFile.claim(path, mode: mode)
        guard file.length > 0, let data = FileManager.default.contents(atPath: recordPath),
            var stored = try? JSONDecoder().decode(DownloadRecord.self, from: data), accepts(stored)
        else { return }
        stored.partialFile = url
        record = stored
    }

    /// The record with the file's current length; nil if a request cannot resume from the file.
    package var currentRecord: DownloadRecord? {
        guard file.length > 0, var record else { return nil }
        record.offset = file.length
        return record
    }

    /// Empties the file and replaces the record. The file is emptied first, so that old bytes cannot be joined with the
    /// new record if the process is killed between the two steps.
    package func restart(_ record: DownloadRecord?) throws {
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
            unlink(new)  // otherwise a full disk would leave an empty file
            throw error
        }
        self.record = record
    }

    package func discard() {
        unlink(file.path)
        unlink(recordPath)
    }

    /// Flushes the file to disk, and then moves it to the target atomically. So a reader of the target never sees an
    /// incomplete file.
    package func place(at target: String, replacing: Bool) throws {
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

    /// An error: the target is on another volume, so that a rename cannot move the file there.
    private struct OtherVolume: Error {}

    private static func move(_ path: String, to target: String, replacing: Bool) throws {
        if !replacing {
            // A rename would replace a file that another process created meanwhile; a hard link does not.
            if link(path, target) == 0 {
                unlink(path)
                return
            }
            if errno == EXDEV { throw OtherVolume() }
            // If the file system does not support hard links, the file is renamed below.
            if errno == EEXIST || access(target, F_OK) == 0 { throw RequestError.fileExists(target) }
        }
        // If another process creates a special file between this check and the rename, the rename replaces that file,
        // because a rename cannot depend on the kind of file. This is no risk: a process that may create files in the
        // folder may also remove files there.
        try DestinationRules.check(target, replacing: replacing)
        guard rename(path, target) != 0 else { return }
        throw errno == EXDEV ? OtherVolume() : RequestError.system("moved into place", target)
    }

    private func copy(to target: String, replacing: Bool) throws {
        // An earlier download to the target may have left a partial file and its record there.
        let copy = try PartialFile(claiming: Self.path(for: target), mode: 0o666) { _ in false }
        do {
            try copy.restart(nil)
            var pieces = try FilePieces(of: url)
            while let piece = try pieces.next() { try piece.withUnsafeBytes { try copy.file.append($0) } }
            try copy.file.flush()
            try Self.move(copy.file.path, to: target, replacing: replacing)
        } catch {
            copy.discard()
            throw error
        }
        unlink(file.path)
    }

    /// Returns the path of the partial file for this target. Both are in the same folder and so on the same volume,
    /// which a rename requires.
    package static func path(for target: String) -> String {
        let url = URL(fileURLWithPath: target)
        // A file name has at most 255 bytes, so the hash of a long name replaces the name.
        let name = url.lastPathComponent
        let short = name.utf8.count > 200 ? StreamingHash.hexadecimal(name, .sha256) : name
        return url.deletingLastPathComponent().appendingPathComponent(".\(short).larkspur").path
    }
}
