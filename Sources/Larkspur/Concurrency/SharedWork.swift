/// The identity of work that several requests wait for: the refresh of a credential, or a trust evaluation.
///
/// The work may itself make requests, which must not wait for the work. Tasks that do the work therefore carry its
/// identity, and a request stores the identities of the task that makes it.
final class SharedWork: Sendable {
    /// The shared work that the current task belongs to. There are several elements if one work waits for another.
    @TaskLocal static var current: [SharedWork] = []
}
