/// One serializer's answer, to be awaited: now or later, once or often, by one task or by many.
///
/// The serializer runs whether or not anybody awaits it. A cancelled awaiter is answered at once; the request is
/// cancelled with it only if nobody else wants anything of that request.
public struct DataTask<Value: Sendable>: Sendable {
    private let request: any Request
    private let slot: Int
    private let automaticallyCancelling: Bool
    /// Made where the serializer's type is known, and called from code that is compiled into the caller's: generic code
    /// that is specialised costs a fraction.
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

    /// The response; when the awaiting task is cancelled, one whose error `isCancelled`.
    @inlinable public var response: DataResponse<Value> { get async { await answer() } }

    /// The value, or why there is none.
    @inlinable public var result: Result<Value, RequestError> { get async { await response.result } }

    /// The value. Throws `CancellationError` for a cancel, else a `RequestError`.
    @inlinable public var value: Value {
        get async throws {
            switch await response.result {
            case .success(let value): return value
            case .failure(let error) where error.isCancelled: throw CancellationError()
            case .failure(let error): throw error
            }
        }
    }

    /// Withdraws this serializer; the request is cancelled with it only if it was the last that anybody wanted.
    public func cancel() {
        request.handle.core.withdraw(slot, automaticallyCancelling: automaticallyCancelling)
    }

    /// Suspends the whole request, for all its serializers.
    public func suspend() { request.suspend() }
    /// Starts the request, or lets it go on.
    public func resume() { request.resume() }
}
