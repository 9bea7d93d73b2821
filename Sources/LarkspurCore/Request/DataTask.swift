/// A handle to await the response of one serializer, at any time, repeatedly and from several tasks.
///
/// The serializer runs even if no task awaits its response. If an awaiting task is cancelled, that task gets a response
/// with a cancellation error at once. By default the request is then cancelled too, unless it has another serializer,
/// handler or awaiter.
public struct DataTask<Value: Sendable>: Sendable {
    private let request: any Request
    private let slot: Int
    private let automaticallyCancelling: Bool
    /// Awaits the serializer's response. The members that call it are inlinable, so that the compiler can specialize
    /// them for `Value` in the caller's module.
    @usableFromInline let answer: @Sendable () async -> DataResponse<Value>

    init(
        _ request: any Request, slot: Int, automaticallyCancelling: Bool,
        answer: @escaping @Sendable () async -> DataResponse<Value>
    ) {
        self.request = request
        self.slot = slot
        self.automaticallyCancelling = automaticallyCancelling
        self.answer = answer
    }

    /// The response. If the awaiting task is cancelled, the response's error is a cancellation.
    @inlinable public var response: DataResponse<Value> { get async { await answer() } }

    /// The value, or the error of the request or of the serializer.
    @inlinable public var result: Result<Value, RequestError> { get async { await response.result } }

    /// The value. Throws `CancellationError` if the request was cancelled, else a ``RequestError``.
    @inlinable public var value: Value {
        get async throws {
            switch await response.result {
            case .success(let value): return value
            case .failure(let error) where error.isCancelled: throw CancellationError()
            case .failure(let error): throw error
            }
        }
    }

    /// Ends this serializer with a cancellation error. Also cancels the request if the request has no other serializer,
    /// handler or awaiter, unless `automaticallyCancelling` is false.
    public func cancel() {
        request.handle.core.withdraw(slot, automaticallyCancelling: automaticallyCancelling)
    }

    /// Suspends the whole request with all its serializers.
    public func suspend() { request.suspend() }
    /// Starts or resumes the request.
    public func resume() { request.resume() }
}
