/// A marker for one run of a serializer. The tasks that run on behalf of the serializer carry it as a task-local value.
///
/// A request delivers its responses when its last serializer has ended. A serializer that awaits a response of its own
/// request would therefore wait for itself. The request detects this by the marker, and returns an error to the
/// serializer. Child tasks and unstructured tasks inherit the marker, because the serializer may wait for them;
/// detached tasks do not inherit it.
final class SerializerRun: Sendable {
    /// The serializers on whose behalf the current task runs. There are several if a serializer awaits another request,
    /// and the serializer of that request runs too.
    @TaskLocal static var current: [SerializerRun] = []

    /// The request whose serializer runs; nil after the serializer has ended. A task with the marker may run longer
    /// than the serializer, and may then await the request's responses.
    private let core: Protected<RequestCore?>

    init(of core: RequestCore) { self.core = Protected(core) }

    func belongs(to core: RequestCore) -> Bool { self.core.withLock { $0 === core } }

    func end() {
        _ = core.withLock { $0.take() }  // released after unlocking, because its `deinit` may run user code (R1)
    }
}

extension RequestCore {
    /// Runs a serializer, with this run added to the task-local ``SerializerRun/current``.
    ///
    /// If the serializer awaits a response of its own request, the request finds this run in `current` and returns an
    /// error, so that the task does not wait for itself. Prompt serializers await nothing, so they need no marker.
    func run(
        _ job: SerializerJob, _ exchange: CompletedExchange
    ) async -> (response: AnyResponse, failure: RequestError?) {
        guard job.prompt == nil else { return await job.run(exchange) }
        let run = SerializerRun(of: self)
        defer { run.end() }
        return await SerializerRun.$current.withValue(SerializerRun.current + [run]) { await job.run(exchange) }
    }

    /// The error for an await by the current task, if that task runs on behalf of a serializer of this request; nil for
    /// other tasks.
    var selfAwait: RequestError? {
        guard SerializerRun.current.contains(where: { $0.belongs(to: self) }) else { return nil }
        return RequestError(
            wrapping: RequestError(
                .serializerAwaitsItself,
                "a serializer awaits a response of its own request, which is delivered after the serializer has ended; "
                    + "call the other serializer's serialize(_:) with the exchange, or await both from outside"),
            as: .serializerAwaitsItself, stage: .serializing)
    }
}
