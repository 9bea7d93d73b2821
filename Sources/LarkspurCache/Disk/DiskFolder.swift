/// The folder of a cache. All functions do I/O, and are called on file threads.
///
/// The files are in the subfolder `larkspur-cache-1` of the folder that the user names, which only the user may enter.
/// The subfolder has up to 256 subfolders.
final class DiskFolder: Sendable {
    private static let name = "larkspur-cache-1"
    private static let readFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK

    private let url: URL
    /// The open subfolder; nil before its first use.
    private let box = Protected<DiskFile?>(nil)

    init(_ url: URL) { self.url = url }

    // MARK: The folder

    func root() throws(DiskFailure) -> DiskFile {
        if let root = box.withLock({ $0 }) { return root }
        let root = try open()
        box.withLock { $0 = root }
        return root
    }

    /// Makes the next use open the folder again, for instance because it was removed.
    func forget() { _ = box.withLock { $0.take() } }

    private func open() throws(DiskFailure) -> DiskFile {
        guard url.isFileURL, !url.path.isEmpty, !url.path.utf8.contains(0) else {
            throw DiskFailure(code: EINVAL, "the URL of the cache's folder is not the URL of a file; use a file URL")
        }
        try Self.make(url.path)
        let what = "the cache's folder \(url.path)"
        let parent = systemOpen(AT_FDCWD, url.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard parent >= 0 else { throw DiskFailure("opened", what) }
        let folder = DiskFile(parent)
        if mkdirat(parent, Self.name, 0o700) != 0, errno != EEXIST { throw DiskFailure("written", what) }
        let descriptor = systemOpen(parent, Self.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw DiskFailure("opened", what) }
        let root = DiskFile(descriptor)
        guard let status = root.status, status.st_uid == geteuid() else {
            throw DiskFailure(code: EACCES, "\(what)/\(Self.name) belongs to another user; use another folder")
        }
        if status.st_mode & 0o077 != 0, fchmod(descriptor, 0o700) != 0 { throw DiskFailure("made private", what) }
        withExtendedLifetime(folder) {}
        return root
    }

    /// Makes a folder and those above it.
    private static func make(_ path: String) throws(DiskFailure) {
        var status = stat()
        if stat(path, &status) == 0 { return }
        let parent = URL(fileURLWithPath: path).deletingLastPathComponent().path
        if parent != path, !parent.isEmpty, stat(parent, &status) != 0 { try make(parent) }
        if mkdir(path, 0o700) != 0, errno != EEXIST { throw DiskFailure("created", "the cache's folder \(path)") }
    }

    // MARK: Files

    enum Opened {
        case missing
        /// The file cannot have been made by the cache.
        case foreign
        case file(DiskFile, stat)
    }

    func open(_ path: String) -> Opened {
        guard let root = try? root() else { return .missing }
        let descriptor = systemOpen(root.descriptor, path, Self.readFlags)
        guard descriptor >= 0 else { return [ELOOP, ENXIO, EMLINK].contains(errno) ? .foreign : .missing }
        let file = DiskFile(descriptor)
        guard let status = file.status else { return .missing }
        return status.isRegular && status.isOwn ? .file(file, status) : .foreign
    }

    /// Creates a temporary file in a subfolder.
    ///
    /// - Parameter number: A random number for the name of the file.
    func create(
        in shard: String, number: UInt64 = .random(in: .min ... .max)
    ) throws(DiskFailure) -> (DiskFile, path: String) {
        let root = try root()
        let path = DiskName.temporary(in: shard, number)
        let flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
        var descriptor = systemOpen(root.descriptor, path, flags, 0o600)
        if descriptor < 0, errno == ENOENT {
            if mkdirat(root.descriptor, shard, 0o700) != 0, errno != EEXIST { throw DiskFailure("created") }
            descriptor = systemOpen(root.descriptor, path, flags, 0o600)
        }
        guard descriptor >= 0 else { throw DiskFailure("created") }
        return (DiskFile(descriptor), path)
    }

    func rename(_ path: String, to target: String) throws(DiskFailure) {
        let root = try root()
        guard renameat(root.descriptor, path, root.descriptor, target) != 0 else { return }
        var failure = DiskFailure("renamed")
        failure.isLocal = [EISDIR, EEXIST, ENOTEMPTY].contains(failure.code)
        throw failure
    }

    @discardableResult
    func remove(_ path: String) -> Bool {
        guard let root = try? root() else { return false }
        return unlinkat(root.descriptor, path, 0) == 0
    }

    func status(of path: String) -> stat? {
        guard let root = try? root() else { return nil }
        var status = stat()
        return fstatat(root.descriptor, path, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
    }

    /// Opens an entry to append a record, if the path still leads to this file.
    func openToAppend(_ path: String, ifSameAs file: DiskFile) -> DiskFile? {
        guard let root = try? root(), let own = file.status else { return nil }
        let flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let descriptor = systemOpen(root.descriptor, path, flags)
        guard descriptor >= 0 else { return nil }
        let new = DiskFile(descriptor)
        return new.status.map { $0.isSame(as: own) } == true ? new : nil
    }

    // MARK: Lists

    /// Returns the names in a subfolder, or in the cache's folder itself, that begin with a prefix.
    func names(in shard: String?, beginningWith prefix: String = "") -> [String] {
        guard let root = try? root() else { return [] }
        let descriptor = systemOpen(
            root.descriptor, shard ?? ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return [] }
        guard let stream = fdopendir(descriptor) else {
            close(descriptor)
            return []
        }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { text in
                    strncmp(text, prefix, prefix.utf8.count) == 0 ? String(cString: text) : nil
                }
            }
            if let name, name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    // MARK: Removing everything

    private static let removedPrefix = "removed-"

    /// Takes all entries away from readers, in a few steps. `removedFolders` then lists them.
    func detachAll() {
        guard let root = try? root() else { return }
        for shard in names(in: nil) where DiskName.shards.contains(shard) {
            let target = "\(Self.removedPrefix)\(UInt64.random(in: .min ... .max))"
            _ = renameat(root.descriptor, shard, root.descriptor, target)
        }
    }

    var removedFolders: [String] { names(in: nil).filter { $0.hasPrefix(Self.removedPrefix) } }

    /// Removes a subfolder of `removedFolders` with all files of the cache.
    func removeFolder(_ folder: String) {
        guard let root = try? root() else { return }
        for name in names(in: folder) where DiskName.kind(of: name) != .foreign { remove("\(folder)/\(name)") }
        unlinkat(root.descriptor, folder, AT_REMOVEDIR)
    }
}

/// Calls `openat`. A function with this name in the class would hide it.
private func systemOpen(_ folder: Int32, _ path: String, _ flags: Int32, _ mode: mode_t = 0) -> Int32 {
    openat(folder, path, flags, mode)
}
