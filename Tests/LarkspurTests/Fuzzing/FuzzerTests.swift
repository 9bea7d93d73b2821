import Foundation
import Testing

@Suite("Fuzzers' checks", .timeLimit(.minutes(3)))
struct FuzzerTests {
    private static let corpus = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Fuzz/Corpus").standardizedFileURL

    @Test("What a fuzzer begins with keeps the rules, whole and cut off anywhere", arguments: Fuzzer.allCases)
    func corpus(of fuzzer: Fuzzer) throws {
        let folder = Self.corpus.appendingPathComponent(fuzzer.rawValue)
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect((1...12).contains(files.count))
        for file in files {
            let bytes = [UInt8](try Data(contentsOf: file))
            #expect(bytes.count < 4_096)
            for count in stride(from: bytes.count, through: 0, by: -max(1, bytes.count / 100)) {
                #expect(throws: Never.self, "\(file.lastPathComponent), \(count) bytes") {
                    try fuzzer.check(Array(bytes.prefix(count)))
                }
            }
        }
    }
}
