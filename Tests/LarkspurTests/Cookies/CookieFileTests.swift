import Foundation
import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Cookie jars in files", .limited)
struct CookieFileTests {
    private let folder: TemporaryFolder
    private var file: URL { folder["cookies.json"] }

    init() throws {
        folder = try TemporaryFolder()
    }

    private func lines(_ jar: CookieJar) -> [String] { jar.all.map(\.line).sorted() }

    @Test("The next jar reads the saved cookies: persistent ones, and session cookies if the option is set")
    func roundTrip() async throws {
        for keepsAll in [false, true] {
            let (clock, file) = (MovedClock(), folder["\(keepsAll)"])
            let jar = try CookieJar(file: file, keepsSessionCookies: keepsAll, clock: clock.wall)
            #expect(jar.all.isEmpty)
            try jar.store(
                "a=1; Max-Age=60", "b=2", "c=3; Domain=h.com; Path=/x; Secure; HttpOnly; SameSite=None; Max-Age=5",
                from: "https://w.h.com/")
            try await jar.save()
            let again = try CookieJar(file: file, keepsSessionCookies: keepsAll, clock: clock.wall)
            #expect(lines(again) == lines(jar).filter { keepsAll || !$0.hasPrefix("b") })
            #expect(
                try jar.names(for: "https://w.h.com/x").filter { $0 != "b" }
                    == again.names(for: "https://w.h.com/x").filter { $0 != "b" })
            clock.advance(by: 5)
            #expect(try CookieJar(file: file, clock: clock.wall).all.contains { $0.name == "c" } == false)
        }
    }

    @Test(
        "Only its owner can read the file, even if a leftover file allowed more",
        arguments: [true, false])
    func mode(isLeft: Bool) async throws {
        if isLeft {
            let attributes = [FileAttributeKey.posixPermissions: 0o644]
            try #require(
                FileManager.default.createFile(atPath: file.path + ".new", contents: nil, attributes: attributes))
        }
        let jar = try CookieJar(file: file)
        try await jar.save()
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test("A hard link to a leftover file keeps its permissions")
    func otherName() async throws {
        let other = folder["other"].path
        let attributes = [FileAttributeKey.posixPermissions: 0o644]
        try #require(FileManager.default.createFile(atPath: other, contents: nil, attributes: attributes))
        try #require(link(other, file.path + ".new") == 0)
        try await CookieJar(file: file).save()
        #expect(try FileManager.default.attributesOfItem(atPath: other)[.posixPermissions] as? Int == 0o644)
    }

    @Test("Changes are written automatically, including the last one")
    func coalesced() async throws {
        let jar = try CookieJar(file: file)
        for number in 0..<500 { try jar.store("a\(number % 100)=\(number); Max-Age=6000", from: "https://h/") }
        let url = file
        await poll {
            guard let jar = try? CookieJar(file: url) else { return false }
            return Set(jar.all.map(\.value)) == Set((400..<500).map(String.init))
        }
        jar.removeAll { $0.name != "a7" }
        await poll { (try? CookieJar(file: url))?.all.map(\.name) == ["a7"] }
    }

    @Test("A jar that is released is still written")
    func letGo() async throws {
        try CookieJar(file: file).store("a=1; Max-Age=6000", from: "https://h/")
        let url = file
        await poll { (try? CookieJar(file: url))?.all.count == 1 }
    }

    @Test(
        "A file that is not a cookie jar's is refused and left unchanged",
        arguments: [
            "", "{", "[]", "{}", #"{"version": 2, "cookies": []}"#, #"{"version": 1, "cookies": [{"name": "a"}]}"#,
            #"{"version": 1, "cookies": [], "#, "\u{0}\u{1}", "hunter2",
        ])
    func broken(text: String) throws {
        let bytes = Array(text.utf8)
        try folder.write(bytes, to: "cookies.json")
        let error = #expect(throws: RequestError.self) { try CookieJar(file: file) }
        #expect(error?.code == .invalidCookieFile)
        #expect(error?.description.contains("hunter2") == false)
        // `Data(contentsOf:)` leaks memory for an empty file.
        #expect(try FileHandle(forReadingFrom: file).readToEnd() ?? Data() == Data(bytes))
        #expect(try folder.contents == ["cookies.json"])
    }

    @Test("A truncated file is refused at every length, and is never an empty jar")
    func cut() async throws {
        let jar = try CookieJar(file: file)
        try jar.store("a=1; Max-Age=6000", from: "https://h/")
        try await jar.save()
        let bytes = try Data(contentsOf: file)
        for length in 0..<bytes.count {
            try folder.write(bytes.prefix(length), to: "cut.json")
            let error = #expect(throws: RequestError.self) { try CookieJar(file: folder["cut.json"]) }
            #expect(error?.code == .invalidCookieFile)
        }
    }

    @Test("A file that cannot be read is an error with its own code")
    func unreadable() throws {
        func code(_ url: URL) -> RequestError.Code? {
            do {
                _ = try CookieJar(file: url)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(code(folder.url) == .fileIsDirectory)
        #expect(code(URL(fileURLWithPath: "/dev/null")) == .fileNotRegular)
        #expect(code(try #require(URL(string: "https://h/cookies"))) == .invalidFileURL)
        #expect(code(folder["none.json"]) == nil)
    }

    @Test("A file that cannot be written fails the save, loses nothing, and is written later")
    func unwritable() async throws {
        let url = folder["missing"].appendingPathComponent("cookies.json")
        let jar = try CookieJar(file: url)
        try jar.store("a=1; Max-Age=6000", from: "https://h/")
        let error = await #expect(throws: RequestError.self) { try await jar.save() }
        #expect(error?.code == .fileUnwritable)
        #expect(jar.fileError?.code == .fileUnwritable)
        #expect(jar.all.count == 1)
        try FileManager.default.createDirectory(at: folder["missing"], withIntermediateDirectories: false)
        try await jar.save()
        #expect(jar.fileError == nil)
        #expect(try CookieJar(file: url).all == jar.all)
    }

    @Test("A failed write leaves the old file unchanged, and no temporary file")
    func failedReplacement() async throws {
        // A directory that is not empty cannot be replaced.
        try FileManager.default.createDirectory(at: folder["held"], withIntermediateDirectories: false)
        let jar = try CookieJar(file: folder["held"].appendingPathComponent("x"))
        try await jar.save()
        let blocked = try CookieJar(file: folder["other"])
        try FileManager.default.moveItem(at: folder["held"], to: folder["other"])
        await #expect(throws: RequestError.self) { try await blocked.save() }
        #expect(try folder.contents == ["other"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder["other"].path) == ["x"])
    }

    @Test("Jars that share one file never corrupt it")
    func shared() async throws {
        let url = file
        let jars = try (0..<3).map { _ in try CookieJar(file: url) }
        await withTaskGroup(of: Void.self) { group in
            for (number, jar) in jars.enumerated() {
                group.addTask {
                    for round in 0..<8 {
                        try? jar.store("c\(number)=\(round); Max-Age=6000", from: "https://h/")
                        try? await jar.save()  // another jar may be writing it
                        #expect(throws: Never.self) { try CookieJar(file: url) }
                    }
                }
            }
        }
        let last = try #require(jars.last)
        repeat { try? await last.save() } while try CookieJar(file: url).all != last.all
    }
}
