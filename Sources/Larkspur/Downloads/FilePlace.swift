/// The place where a downloaded file goes.
enum FilePlace {
    /// Throws unless a file may be put there: nothing is in its way, or only what may be replaced.
    ///
    /// Regular files are replaced, and symbolic links that lead to one or to nothing: the link itself, not the file that it
    /// leads to. Directories, devices, pipes and sockets never are.
    static func check(_ path: String, replacing: Bool) throws(RequestError) {
        var (status, target) = (stat(), stat())
        guard lstat(path, &status) == 0 else { return }
        var kind = status.st_mode & S_IFMT
        if kind == S_IFLNK, stat(path, &target) == 0 { kind = target.st_mode & S_IFMT }
        switch kind {
        case S_IFDIR: throw RequestError(.fileIsDirectory, "\(path), where a download goes, is a directory")
        case _ where !replacing: throw .fileExists(path)
        case S_IFREG, S_IFLNK: return
        default:
            throw RequestError(
                .fileNotRegular, "\(path), where a download goes, is a device, a pipe or a socket; it is not replaced")
        }
    }
}
