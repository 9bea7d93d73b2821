import Foundation
import Testing

/// A process of the tests' program for the tests of one engine. A fault of the engine that ends a process ends that one.
enum EngineProcess {
    private static let variable = "LARKSPUR_CONTRACT_ENGINE"

    /// Whether this process was started for the engine.
    static let isEngine = ProcessInfo.processInfo.environment[variable] != nil

    /// Runs the tests that match the filters. Returns the exit status and all that the process printed.
    static func run(_ filters: [String]) async throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["--testing-library", "swift-testing"] + filters.flatMap { ["--filter", $0] }
        process.environment = ProcessInfo.processInfo.environment.merging([variable: "URLSession"]) { $1 }
        let output = FileManager.default.temporaryDirectory.appendingPathComponent("engine-\(UUID().uuidString)")
        try Data().write(to: output)
        defer { try? FileManager.default.removeItem(at: output) }
        let file = try FileHandle(forWritingTo: output)
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = file
        process.standardError = file
        let status = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
                do { try process.run() } catch { continuation.resume(throwing: error) }
            }
        } onCancel: {
            process.terminate()
        }
        return (status, try String(decoding: Data(contentsOf: output), as: UTF8.self))
    }
}

extension Trait where Self == ConditionTrait {
    static var inEngineProcess: Self {
        .enabled(if: EngineProcess.isEngine, "the tests of this engine run in a process of their own")
    }
    static var inMainProcess: Self {
        .enabled(if: !EngineProcess.isEngine, "this is the engine's process")
    }
}
