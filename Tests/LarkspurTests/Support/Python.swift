import Larkspur
import Testing

/// The machine's Python, as a second implementation and a second process.
enum Python {
    static let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .map { "\($0)/python3" }.first { FileManager.default.isExecutableFile(atPath: $0) }

    /// Runs a program, and returns its output.
    static func run(_ program: String, input: String) async throws -> String {
        let folder = try TemporaryFolder()
        let file = try folder.write(Array(input.utf8), to: "input")
        let script = try folder.write(Array(program.utf8), to: "program.py")
        let command = "'\(try #require(path))' '\(script.path)' < '\(file.path)'"
        // Not Foundation's Process, which reads beyond the end of a list if the process has many open files.
        return try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        let stream = try #require(popen(command, "r"))
                        defer { pclose(stream) }
                        var output = Data()
                        var buffer = [UInt8](repeating: 0, count: 65_536)
                        while case let count = fread(&buffer, 1, buffer.count, stream), count > 0 {
                            output += buffer[..<count]
                        }
                        withExtendedLifetime(folder) {}
                        return String(decoding: output, as: UTF8.self)
                    })
            }
        }
    }
}
