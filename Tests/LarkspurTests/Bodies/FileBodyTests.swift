import Larkspur
import TestSupport
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#endif

@Suite("Bodies of files", .limited)
struct FileBodyTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test("The bytes of a file are its body", arguments: [0, 1, 65_535, 65_536, 65_537], [1_000, 65_536])
    func whole(length: Int, size: Int) async throws {
        let body = try TransportBody.file(folder.write([UInt8].pattern(length)))
        #expect(body.length == UInt64(length))
        #expect(body.isReplayable)
        #expect(try await body.pulled(by: size) == .pattern(length))
        #expect(try await body.pulled(by: size) == .pattern(length))
    }

    @Test(
        "A file name may contain characters that are special in shells and URLs",
        arguments: ["a b", "ä", "100%", "a%20b", "#?&", "-", "👩‍👩‍👧", "a\nb"])
    func names(name: String) async throws {
        #expect(try await TransportBody.file(folder.write([1, 2, 3], to: name)).pulled() == [1, 2, 3])
    }

    @Test("Every file that cannot be a body has its own error code")
    func refused() throws {
        try folder.write([1])
        try #require(mkfifo(folder["pipe"].path, 0o600) == 0)
        for (from, to) in [("loop", "loop"), ("nowhere", "missing")] {
            try FileManager.default.createSymbolicLink(at: folder[from], withDestinationURL: folder[to])
        }
        let rows: [(URL?, RequestError.Code)] = [
            (URL(string: "http://example.com/file"), .invalidFileURL), (URL(string: "file"), .invalidFileURL),
            (folder["missing"], .fileMissing), (folder["missing/file"], .fileMissing),
            (folder["file/file"], .fileMissing), (folder["nowhere"], .fileMissing),
            (folder.url, .fileIsDirectory), (URL(fileURLWithPath: "/"), .fileIsDirectory),
            (folder["pipe"], .fileNotRegular), (URL(fileURLWithPath: "/dev/zero"), .fileNotRegular),
            (folder["loop"], .fileUnreadable),
        ]
        for (url, code) in rows {
            let error = #expect(throws: RequestError.self) { try TransportBody.file(try #require(url)) }
            #expect(error?.code == code, "\(String(describing: url)): \(String(describing: error))")
        }
    }

    @Test("A NUL in a URL does not truncate the file's name")
    func terminator() throws {
        try folder.write([1], to: "a")
        for url in [folder["a\0b"], URL(string: folder["a"].absoluteString + "%00b")] {
            #expect(throws: RequestError.self) { try TransportBody.file(try #require(url)) }
        }
    }

    enum Change: String, CaseIterable {
        case grown, shrunk, emptied, written, replaced, removed

        func make(_ folder: TemporaryFolder) throws {
            let (file, length) = (folder["file"], 200_000)
            switch self {
            case .grown: try #require(truncate(file.path, off_t(length + 1)) == 0)
            case .shrunk: try #require(truncate(file.path, off_t(length - 1)) == 0)
            case .emptied: try #require(truncate(file.path, 0) == 0)
            case .written:
                let date = Date(timeIntervalSinceNow: 60)
                try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file.path)
            case .replaced:
                let date = try FileManager.default.attributesOfItem(atPath: file.path)[.modificationDate]
                try folder.write([UInt8](repeating: 7, count: length), to: "other")
                try FileManager.default.setAttributes(
                    [.modificationDate: try #require(date)], ofItemAtPath: folder["other"].path)
                try #require(rename(folder["other"].path, file.path) == 0)
            case .removed: try FileManager.default.removeItem(at: file)
            }
        }
    }

    @Test("A file that has changed before it is sent sends no byte", arguments: Change.allCases)
    func changedBefore(change: Change) async throws {
        let body = try TransportBody.file(folder.write([UInt8].pattern(200_000)))
        try change.make(folder)
        var pulled = PulledBody(body)
        let error = await #expect(throws: TransportError.self) { try await pulled.rest(by: 65_536) }
        #expect(error?.code == .bodyFailed)
        #expect(pulled.bytes.isEmpty)
    }

    @Test(
        "A file that changes while it is sent never looks complete",
        arguments: [.grown, .shrunk, .emptied, .written] as [Change])
    func changedWithin(change: Change) async throws {
        var pulled = PulledBody(try TransportBody.file(folder.write([UInt8].pattern(200_000))))
        #expect(try await pulled.next(65_536) == 65_536)
        try change.make(folder)
        let error = await #expect(throws: TransportError.self) { try await pulled.rest(by: 65_536) }
        #expect(error?.code == .bodyFailed)
        #expect(pulled.bytes.count < 200_000)
    }

    @Test(
        "A file that is replaced or removed while it is sent is sent unchanged",
        arguments: [.replaced, .removed] as [Change])
    func unlinkedWithin(change: Change) async throws {
        var pulled = PulledBody(try TransportBody.file(folder.write([UInt8].pattern(200_000))))
        #expect(try await pulled.next(65_536) == 65_536)
        try change.make(folder)
        try await pulled.rest(by: 65_536)
        #expect(pulled.bytes == .pattern(200_000))
    }

    @Test("A file is closed when its body ends, however much was read", arguments: [0, 1, 3, 4])
    func closed(reads: Int) async throws {
        var pulled = PulledBody(try TransportBody.file(folder.write([UInt8].pattern(200_000))))
        for _ in 0..<reads { _ = try await pulled.next(65_536) }
        #expect(folder.openFiles == (reads > 0 ? 1 : 0))
        pulled.stream.end()
        #expect(folder.openFiles == 0)
        #expect(try await pulled.next(10) == 0)
    }
}

extension TemporaryFolder {
    /// The number of this process's descriptors for files in this folder; 0 where the system does not report them.
    var openFiles: Int {
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return descriptors.count { descriptor in
            let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
            return path?.hasPrefix(url.resolvingSymlinksInPath().path) == true
        }
    }
}
