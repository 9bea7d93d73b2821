/// The rules for an existing item at the path of a download's destination.
package enum DestinationRules {
    /// Throws unless a file may be moved to the path.
    ///
    /// If `replacing` is true, a regular file may be replaced, and so may a symbolic link to a regular file or to a
    /// missing file. The link itself is replaced, not its target. Directories, devices, pipes and sockets are never
    /// replaced.
    package static func check(_ path: String, replacing: Bool) throws(RequestError) {
        var (status, target) = (stat(), stat())
        guard lstat(path, &status) == 0 else { return }
        var kind = status.st_mode & S_IFMT
        if kind == S_IFLNK, stat(path, &target) == 0 { kind = target.st_mode & S_IFMT }
        switch kind {
        case S_IFDIR: throw RequestError(.fileIsDirectory, "the download's destination \(path) is a directory")
        case _ where !replacing: throw .fileExists(path)
        case S_IFREG, S_IFLNK: return
        default:
            throw RequestError(
                .fileNotRegular,
                "the download's destination \(path) is a device, a pipe or a socket, which is never replaced")
        }
    }
}
