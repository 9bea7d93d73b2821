/// The identity of work that several requests wait for: the refresh of a credential, or a trust evaluation.
///
/// The work may itself make requests, and they must not wait for it. So the tasks that do the work carry its identity,
/// and a request takes the identities of the task that makes it.
final class SharedWork: Sendable {
    /// The work that the current task does. There are several if one work waits for another one.
    @TaskLocal static var current: [SharedWork] = []
}
