import Foundation
import Testing

/// A run of the tests for one engine alone, in a process of its own. A fault of the engine can end that process only.
enum EngineProcess {
    private static let variable = "LARKSPUR_CONTRACT_ENGINE"

    /// Whether this process tests the engine alone.
    static let isEngine = ProcessInfo.processInfo.environment[variable] != nil
}

extension Trait where Self == ConditionTrait {
    static var inEngineProcess: Self {
        .enabled(if: EngineProcess.isEngine, "the tests of this engine run in a process of their own")
    }
}
