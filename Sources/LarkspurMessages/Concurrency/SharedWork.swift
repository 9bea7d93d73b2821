/// The identity of work that several requests wait for, such as the refresh of a credential or a trust evaluation.
///
/// The work may itself make requests. Such a request must not wait for the work, because the work waits for the
/// request. So the tasks that do the work carry its identity in `current`, and each request stores the `current` of the
/// task that makes it.
package final class SharedWork: Sendable {
    /// The shared work that the current task belongs to. The array has several elements if one work runs as part of
    /// another.
    @TaskLocal package static var current: [SharedWork] = []

    package init() {}
}
