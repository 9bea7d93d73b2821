import Larkspur
import Testing

extension SourceTests {
    @Test("R7: the package is in the Swift 6 language mode and disables no check; a warning is an error")
    func languageMode() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../..")
        let manifest = try String(contentsOf: root.appendingPathComponent("Package.swift"), encoding: .utf8)
        #expect(manifest.contains("swiftLanguageModes: [.v6]"))
        // The one flag, of test modules alone, makes the index smaller. It changes no check.
        let flags = manifest.split(separator: "unsafeFlags", omittingEmptySubsequences: false).dropFirst()
        #expect(flags.count == 1 && flags.allSatisfy { $0.hasPrefix(#"(["-index-ignore-system-modules"])]"#) })
        for relaxation in [".swiftLanguageMode(", "StrictConcurrency", "treatAllWarnings"] {
            #expect(!manifest.contains(relaxation))
        }
        let ci = try String(contentsOf: root.appendingPathComponent(".ci/run"), encoding: .utf8)
        #expect(ci.contains("swift build --build-tests 2>&1"))
        #expect(ci.contains("error: a warning is an error"))
    }
}
