import Foundation
import TestSupport
import Testing

@Suite("Fuzzers' checks", .limited)
struct FuzzerTests {
    private static let corpus = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Fuzz/Corpus").standardizedFileURL

    @Test("The seeds of a fuzzer keep the rules, complete and truncated at any position", arguments: Fuzzer.allCases)
    func corpus(of fuzzer: Fuzzer) throws {
        let folder = Self.corpus.appendingPathComponent(fuzzer.rawValue)
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect((1...12).contains(files.count))
        let steps = fuzzer.usesSockets ? 8 : rounds(25, nightly: 100)
        for file in files {
            let bytes = [UInt8](try Data(contentsOf: file))
            #expect(bytes.count < 4_096)
            for count in stride(from: bytes.count, through: 0, by: -max(1, bytes.count / steps)) {
                #expect(throws: Never.self, "\(file.lastPathComponent), \(count) bytes") {
                    try fuzzer.check(Array(bytes.prefix(count)))
                }
            }
        }
    }
}
