import Foundation

/// A process of the tests' program for the contract suite over one engine.
enum EngineProcess {
    private static let variable = "LARKSPUR_CONTRACT_ENGINE"

    /// Whether this process was started for the engine.
    static let isEngine = ProcessInfo.processInfo.environment[variable] != nil
}
