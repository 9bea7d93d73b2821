import Foundation
import LarkspurTesting
import Testing

@testable import Larkspur

@Suite("Cookie jars in files", .timeLimit(.minutes(3)))
struct CookieFileTests {
    private let folder: TemporaryFolder
    private var file: URL { folder["cookies.json"] }

    init() throws {
        folder = try TemporaryFolder()
    }

    private func lines(_ jar: CookieJar) -> [String] { jar.all.map(\.line).sorted() }

    @Test("What is saved is there for the next jar: cookies with a time, and the others if they are wanted")
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
        "The file is for its owner alone, also where one that others may read was left in its way",
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

    @Test("Another name of a file that was left in a jar's way keeps its permissions")
    func otherName() async throws {
        let other = folder["other"].path
        let attributes = [FileAttributeKey.posixPermissions: 0o644]
        try #require(FileManager.default.createFile(atPath: other, contents: nil, attributes: attributes))
        try #require(link(other, file.path + ".new") == 0)
        try await CookieJar(file: file).save()
        #expect(try FileManager.default.attributesOfItem(atPath: other)[.posixPermissions] as? Int == 0o644)
    }

    @Test("Changes are written by themselves, the last one too")
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

    @Test("A jar that is let go of is written all the same")
    func letGo() async throws {
        try CookieJar(file: file).store("a=1; Max-Age=6000", from: "https://h/")
        let url = file
        await poll { (try? CookieJar(file: url))?.all.count == 1 }
    }

    @Test(
        "A file that is none of a jar's is refused and left as it is",
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
        // `Data(contentsOf:)` leaks where a file is empty.
        #expect(try FileHandle(forReadingFrom: file).readToEnd() ?? Data() == Data(bytes))
        #expect(try folder.contents == ["cookies.json"])
    }

    @Test("A file cut anywhere is refused: it never is an empty jar")
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

    @Test("What is no file that can be read is said to be so")
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

    @Test("A file that cannot be written fails the save, loses nothing, and is written when it can be")
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

    @Test("A write that fails leaves the file of before, and nothing beside it")
    func failedReplacement() async throws {
        // A directory with something in it cannot be replaced.
        try FileManager.default.createDirectory(at: folder["held"], withIntermediateDirectories: false)
        let jar = try CookieJar(file: folder["held"].appendingPathComponent("x"))
        try await jar.save()
        let blocked = try CookieJar(file: folder["other"])
        try FileManager.default.moveItem(at: folder["held"], to: folder["other"])
        await #expect(throws: RequestError.self) { try await blocked.save() }
        #expect(try folder.contents == ["other"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder["other"].path) == ["x"])
    }

    @Test("Jars with one file never spoil it")
    func shared() async throws {
        let url = file
        let jars = try (0..<3).map { _ in try CookieJar(file: url) }
        await withTaskGroup(of: Void.self) { group in
            for (number, jar) in jars.enumerated() {
                group.addTask {
                    for round in 0..<8 {
                        try? jar.store("c\(number)=\(round); Max-Age=6000", from: "https://h/")
                        try? await jar.save()  // another one may be at it
                        #expect(throws: Never.self) { try CookieJar(file: url) }
                    }
                }
            }
        }
        let last = try #require(jars.last)
        repeat { try? await last.save() } while try CookieJar(file: url).all != last.all
    }

    /// Until a file is as it should be; the suite's time limit ends what never is.
    private func poll(_ isThere: @Sendable () -> Bool) async {
        while !isThere() { await Task.yield() }
    }
}
