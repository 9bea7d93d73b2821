import Larkspur

/// A folder that goes with the test that made it.
final class TemporaryFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    }

    deinit { url.removeFolder() }

    /// The place of a file that is not there yet.
    subscript(name: String) -> URL { url.appendingPathComponent(name) }

    @discardableResult
    func write(_ bytes: some Collection<UInt8>, to name: String = "file") throws -> URL {
        try Data(bytes).write(to: self[name])
        return self[name]
    }

    var contents: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() } }
}

extension URL {
    /// Removes a folder, also one to which somebody writes a last file meanwhile: a cookie jar does that in its own time.
    func removeFolder() {
        for _ in 0..<100 where FileManager.default.fileExists(atPath: path) {
            try? FileManager.default.removeItem(at: self)
        }
    }

    /// How large the file is now; nil if there is none. Foundation leaks what it reads of one that grows meanwhile.
    var fileSize: Int? {
        (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int
    }
}
