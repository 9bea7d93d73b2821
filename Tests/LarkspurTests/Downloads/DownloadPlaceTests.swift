import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Existing items at a download's destination", .limited)
struct DownloadPlaceTests {
    enum Special: CaseIterable, Sendable {
        case pipe, unixSocket, linkToPipe, linkToDirectory

        func make(at path: String) throws {
            switch self {
            case .pipe: try #require(mkfifo(path, 0o600) == 0)
            case .unixSocket: try makeSocket(at: path)
            case .linkToPipe:
                try #require(mkfifo(path + ".pipe", 0o600) == 0)
                try #require(symlink(path + ".pipe", path) == 0)
            case .linkToDirectory: try #require(symlink("/", path) == 0)
            }
        }

        private func makeSocket(at path: String) throws {
            let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(descriptor) }
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            try #require(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path))
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let status = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            try #require(status == 0)
        }

        var code: RequestError.Code { self == .linkToDirectory ? .fileIsDirectory : .fileNotRegular }
    }

    private let folder: TemporaryFolder
    private let log = TransportLog()

    init() throws { folder = try TemporaryFolder() }

    private func download(_ options: [DownloadOption] = [.removePreviousFile]) async -> DownloadRequest {
        await log.session { _, _ in .text("new") }.download("http://h/", to: .file(folder["a"]), options: options)
    }

    /// The type and the inode of the file; a link is not followed.
    private func identity(_ name: String) throws -> [UInt64] {
        var status = stat()
        try #require(lstat(folder[name].path, &status) == 0)
        return [UInt64(status.st_mode), UInt64(status.st_ino)]
    }

    @Test("A special file is never replaced: the request fails before a byte is fetched", arguments: Special.allCases)
    func special(_ special: Special) async throws {
        try special.make(at: folder["a"].path)
        let before = try identity("a")
        let error = try #require(await download().serializingFile().response.error)
        #expect(error.code == special.code)
        #expect(log.count == 0)
        #expect(try identity("a") == before)
        let without = await download([]).serializingFile().response.error
        #expect(without?.code == (special == .linkToDirectory ? .fileIsDirectory : .fileExists))
    }

    @Test(
        "A special file that is created during the download is not replaced either",
        arguments: [Special.pipe, .linkToPipe])
    func meanwhile(_ special: Special) async throws {
        let path = folder["a"].path
        let request = await download().onResponseHead { _ in (try? special.make(at: path)) == nil ? .cancel : .allow }
        let error = try #require(await request.serializingFile().response.error)
        #expect(error.code == .fileNotRegular)
        let kind = try identity("a")[0] & UInt64(S_IFMT)
        #expect(kind == UInt64(special == .pipe ? S_IFIFO : S_IFLNK))
    }

    @Test("A link is replaced, and its target stays", arguments: [true, false])
    func link(isDangling: Bool) async throws {
        let other = folder["other"]
        if !isDangling { try Data("old".utf8).write(to: other) }
        try #require(symlink(other.path, folder["a"].path) == 0)
        #expect(await download([]).serializingFile().response.error?.code == .fileExists)
        #expect(log.count == 0)
        _ = try await download().serializingFile().value
        #expect(try identity("a")[0] & UInt64(S_IFMT) == UInt64(S_IFREG))
        #expect(try Data(contentsOf: folder["a"]) == Data("new".utf8))
        if !isDangling { #expect(try Data(contentsOf: other) == Data("old".utf8)) }
    }

    @Test("A record that cannot be written leaves no file behind")
    func record() async throws {
        // The record cannot be moved into place, as on a full disk.
        let record = folder[".a.larkspur.json"]
        try FileManager.default.createDirectory(at: record, withIntermediateDirectories: true)
        let session = log.session { _, _ in .response(headers: ["ETag": "\"1\""], chunks: [Data("new".utf8)]) }
        let request = await session.download("http://h/", to: .file(folder["a"]))
        #expect(await request.serializingFile().response.error?.code == .fileUnwritable)
        _ = await request.file.closed()
        #expect(try folder.contents == [".a.larkspur.json"])
    }
}
