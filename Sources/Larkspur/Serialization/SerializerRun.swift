/// A mark of the tasks that work for a running serializer.
///
/// The responses of a request are delivered when its last serializer has ended. A serializer that awaits one of them
/// would wait for itself, so the request returns an error to such an awaiter. Child tasks and unstructured tasks
/// inherit the mark, because the serializer may wait for them; detached tasks do not.
final class SerializerRun: Sendable {
    /// The serializers that the current task works for. There are several if one waits for another request's
    /// serializer.
    @TaskLocal static var current: [SerializerRun] = []

    /// The request whose serializer runs; nil after its end, because a task with the mark may run longer.
    private let core: Protected<RequestCore?>

    init(of core: RequestCore) { self.core = Protected(core) }

    func belongs(to core: RequestCore) -> Bool { self.core.withLock { $0 === core } }

    func end() {
        _ = core.withLock { $0.take() }  // released after unlocking (R1)
    }
}

extension RequestCore {
    /// Runs a serializer, with this run added to the task-local ``SerializerRun/current``.
    ///
    /// If the serializer awaits a response of its own request, the request finds the entry and returns an error.
    /// Otherwise the task would wait for itself. Prompt serializers await nothing, so they need no entry.
    func run(
        _ job: SerializerJob, _ exchange: CompletedExchange
    ) async -> (response: AnyResponse, failure: RequestError?) {
        guard job.prompt == nil else { return await job.run(exchange) }
        let run = SerializerRun(of: self)
        defer { run.end() }
        return await SerializerRun.$current.withValue(SerializerRun.current + [run]) { await job.run(exchange) }
    }

    /// The error of a task that works for a serializer of this request and awaits a response of the same request.
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
