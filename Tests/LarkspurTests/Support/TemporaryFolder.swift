import Larkspur

/// A folder that is removed with the object.
final class TemporaryFolder: Sendable {
    let url: URL

    /// A folder on another volume, as most Linux systems have one.
    static let otherVolume = URL(fileURLWithPath: "/dev/shm")

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    }

    deinit { url.removeFolder() }

    /// Returns the URL of a file, which need not exist.
    subscript(name: String) -> URL { url.appendingPathComponent(name) }

    @discardableResult
    func write(_ bytes: some Collection<UInt8>, to name: String = "file") throws -> URL {
        try Data(bytes).write(to: self[name])
        return self[name]
    }

    /// The names of its files, including hidden ones.
    var contents: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() } }
}

extension URL {
    /// Removes a folder. Repeats it, because a cookie jar may still write a last file there.
    func removeFolder() {
        for _ in 0..<100 where FileManager.default.fileExists(atPath: path) {
            try? FileManager.default.removeItem(at: self)
        }
    }

    /// The size of the file; nil if it does not exist. Foundation leaks memory if it reads a file that grows meanwhile.
    var fileSize: Int? {
        (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int
    }
}
