import Larkspur
import TestSupport
import Testing

/// The Swift code of the guides and the README compiles, because the tests of this folder contain it word for word. The
/// code of the guide "Engines" is among the tests of the engines, and the code of the guide to stores is among theirs.
///
/// A block may have several parts, divided by a blank line or a line with only `…`. A test must contain each part as
/// successive lines, with any indentation. The comment `<!-- not compiled: why -->` before a block excludes it.
@Suite("The guides", .limited)
struct GuideTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    private static let root = folder.appendingPathComponent("../../..").standardizedFileURL

    /// The README and all pages.
    static let pages: [String] = {
        let sources = FileManager.default.enumerator(
            at: root.appendingPathComponent("Sources"), includingPropertiesForKeys: nil)
        var pages = ["README.md"]
        while let file = sources?.nextObject() as? URL {
            let path = file.standardizedFileURL.path
            guard path.contains(".docc/"), path.hasSuffix(".md") else { continue }
            pages.append(String(path.dropFirst(root.path.count + 1)))
        }
        return pages.sorted()
    }()

    /// The files of this folder and of other modules' guides, as lines without indentation.
    private static let tests: [String] = {
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        let others = ["TransportContractTests/EngineExamples.swift", "LarkspurFleetTests/FleetExamples.swift"].map {
            root.appendingPathComponent("Tests/\($0)")
        }
        return (files + others).filter { $0.pathExtension == "swift" }.compactMap { file in
            (try? String(contentsOf: file, encoding: .utf8)).map { text in
                let lines = text.components(separatedBy: "\n").map { plain($0) }
                return "\n" + lines.filter { $0 != "// swift-format-ignore" }.joined(separator: "\n") + "\n"
            }
        }
    }()

    /// Returns the line without the differences between a page and a test: indentation and access level.
    private static func plain(_ line: String) -> String {
        let line = line.trimmingCharacters(in: .whitespaces)
        return line.hasPrefix("private ") ? String(line.dropFirst(8)) : line
    }

    /// The parts of a page's Swift blocks.
    static func parts(of page: String) -> [String] {
        var parts: [String] = []
        var part: [String]?
        var before = ""
        for line in page.components(separatedBy: "\n").map(plain) {
            if part == nil {
                if line == "```swift", !before.hasPrefix("<!-- not compiled:") { part = [] }
            } else if ["", "…", "```"].contains(line) {
                if let lines = part, !lines.isEmpty { parts.append(lines.joined(separator: "\n")) }
                part = line == "```" ? nil : []
            } else {
                part?.append(line)
            }
            before = line
        }
        return parts
    }

    @Test("A test contains the code of a page", arguments: pages)
    func wordForWord(_ page: String) throws {
        let text = try String(contentsOf: Self.root.appendingPathComponent(page), encoding: .utf8)
        for part in Self.parts(of: text) {
            #expect(Self.tests.contains { $0.contains("\n\(part)\n") }, "not compiled: \(part)")
        }
    }

    @Test("There are pages with code")
    func amount() throws {
        #expect(Self.pages.count > 15)
        let parts = try Self.pages.flatMap { page in
            Self.parts(of: try String(contentsOf: Self.root.appendingPathComponent(page), encoding: .utf8))
        }
        #expect(parts.count > 100)
    }

    @Test("The links of the README have a target")
    func links() throws {
        let text = try String(contentsOf: Self.root.appendingPathComponent("README.md"), encoding: .utf8)
        let paths = text.components(separatedBy: "](").dropFirst().compactMap { $0.split(separator: ")").first }
        #expect(paths.count > 10)
        for path in paths where !path.hasPrefix("http") {
            let file = Self.root.appendingPathComponent(String(path))
            #expect(FileManager.default.fileExists(atPath: file.path), "\(path)")
        }
    }

    @Test("The README and the first page of the documentation name the same tasks and types")
    func tasks() throws {
        let tables = try ["README.md", "Sources/Larkspur/Larkspur.docc/Larkspur.md"].map { path in
            let text = try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
            let rest = text.components(separatedBy: "| I want to … |").last ?? ""
            let table = rest.components(separatedBy: "\n\n")[0]
            // The links in the third column have different forms.
            return table.split(separator: "\n").dropFirst().map {
                $0.split(separator: "|").prefix(2).joined(separator: "|")
            }
        }
        #expect(tables[0].count > 20)
        #expect(tables[0] == tables[1])
    }

    @Test("A block is split into parts, and an excluded block is ignored")
    func reading() {
        let page = """
            ```swift
                let a = 1
            let b = 2

            let c = 3
            …
            let d = 4
            ```
            <!-- not compiled: of another library -->
            ```swift
            let e = 5
            ```
            ```
            let f = 6
            ```
            """
        #expect(Self.parts(of: page) == ["let a = 1\nlet b = 2", "let c = 3", "let d = 4"])
    }
}
