import Dispatch

/// Resumes the tasks that poll. A timer keeps no thread and no core busy, so a test that waits delays no other test.
private let pauses = DispatchQueue(label: "larkspur.tests.poll")

/// Waits for a state that no event reports, such as the release of an object or the size of a file.
///
/// The condition is checked after a millisecond, and then less and less often, on the caller's actor. The wait also ends when the task is cancelled, so
/// the time limit of the suite ends a wait for a state that never comes.
public func poll(
    isolation: isolated (any Actor)? = #isolation, until isReached: () async throws -> Bool
) async rethrows {
    var pause = 1
    while !Task.isCancelled, try await !isReached() {
        await withCheckedContinuation { continuation in
            pauses.asyncAfter(deadline: .now() + .milliseconds(pause)) { continuation.resume() }
        }
        // A test that hangs must not look busy.
        pause = min(20, pause + 1)
    }
}
