/// A download's bytes so far, and beside them the record by which a later request goes on with them.
///
/// The record is written once, when the file is still empty, and names what its bytes will be of; how many there are is the
/// file's own length. So both are right whenever the process is killed.
final class PartialFile {
    let file: WritableFile
    private(set) var record: DownloadRecord?

    var url: URL { URL(fileURLWithPath: file.path) }

    private var recordPath: String { file.path + ".json" }

    /// - Parameter mode: That of a file that is not there yet, less the process's umask; one for the owner alone is also given
    ///   to one that is there.
    /// - Parameter accepts: Whether what is there already is to be continued.
    init(claiming path: String, mode: mode_t, accepting accepts: (DownloadRecord) -> Bool) throws(RequestError) {
        file = try WritableFile.claim(path, mode: mode)
        guard file.length > 0, let data = FileManager.default.contents(atPath: recordPath),
            var stored = try? JSONDecoder().decode(DownloadRecord.self, from: data), accepts(stored)
        else { return }
        stored.partialFile = url
        record = stored
    }

    /// The record as it is now; nil if there is nothing to go on with.
    var currentRecord: DownloadRecord? {
        guard file.length > 0, var record else { return nil }
        record.offset = file.length
        return record
    }

    /// Begins anew. The bytes go before the record of others comes, or a kill in between would join the two.
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
            // For the owner's eyes: URLs carry tokens.
            try WritableFile.create(new, mode: 0o600).append(JSONEncoder().encode(record))
            guard rename(new, recordPath) == 0 else { throw RequestError.system("renamed", new) }
        } catch {
            unlink(new)  // a full disk would keep an empty file
            throw error
        }
        self.record = record
    }

    func discard() {
        unlink(file.path)
        unlink(recordPath)
    }

    /// Moves the file, flushed, to its place in one step: whoever looks there sees all of it or nothing.
    func place(at target: String, replacing: Bool) throws {
        try file.flush()
        if target != file.path {
            try file.publish()
            do {
                try Self.move(file.path, to: target, replacing: replacing)
            } catch is Elsewhere {
                try copy(to: target, replacing: replacing)
            }
        }
        unlink(recordPath)
    }

    /// The target is on another volume.
    private struct Elsewhere: Error {}

    private static func move(_ path: String, to target: String, replacing: Bool) throws {
        if !replacing {
            // A rename would replace what somebody has put there meanwhile; a second name does not.
            if link(path, target) == 0 {
                unlink(path)
                return
            }
            if errno == EXDEV { throw Elsewhere() }
            // Not every file system has links.
            if errno == EEXIST || access(target, F_OK) == 0 { throw RequestError.fileExists(target) }
        }
        // A special file that another process puts there between this look and the rename is replaced: a rename has no
        // condition on the kind of file. A process that may do so may also remove the special file.
        try FilePlace.check(target, replacing: replacing)
        guard rename(path, target) != 0 else { return }
        throw errno == EXDEV ? Elsewhere() : RequestError.system("put in its place", target)
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

    /// Where the bytes are that will once be in this file: beside it, on the same volume.
    static func path(for target: String) -> String {
        let url = URL(fileURLWithPath: target)
        // Names have at most 255 bytes.
        let name = url.lastPathComponent
        let short = name.utf8.count > 200 ? StreamingHash.hexadecimal(name, .sha256) : name
        return url.deletingLastPathComponent().appendingPathComponent(".\(short).larkspur").path
    }
}
