import Larkspur
internal import LarkspurAnnex

/// Keys by which a server recognises a request that another process has already sent.
///
///     let keys = SharedIdempotencyKeys(store) { request in
///         request.method == .post ? String(request.url.path) : nil  // /orders/42/payment
///     }
///     configuration.interceptors = [keys, RetryPolicy(idempotencyKey: .automatic())]
///
/// A process may be killed after it has sent a request, and before it has noted the response. The process that takes
/// its work over sends the request again. Both send the same `Idempotency-Key`: the first one stores a random key under
/// the name of the operation, before it sends the request.
///
/// A ``FileStore`` forgets keys when the machine restarts, because they have a lifetime. For work that goes on after a
/// restart, use a ``ValkeyStore``.
///
/// If the store fails, the request fails with the stage `adapting` and the ``StoreError``, and is not sent: with
/// another key, the server would process the operation twice.
///
/// A request that already has the header field keeps it. Interceptors run in their order, so this one comes before a
/// `RetryPolicy` with keys of its own. The names of operations are stored as hashes; a person who can read the store
/// can try guesses.
public struct SharedIdempotencyKeys: RequestInterceptor {
    /// Returns the name of the operation that a request performs, such as `order 42`; nil if it needs no key.
    public typealias Operation = @Sendable (OutgoingRequest) -> String?

    private let store: any SharedStore
    private let prefix: String
    private let header: String
    private let lifetime: Duration
    private let operation: Operation

    /// Creates an interceptor.
    ///
    /// - Parameters:
    ///   - name: The beginning of the names of all values in the store. Processes with equal names share keys.
    ///   - header: The name of the header field.
    ///   - lifetime: The time for which a key is stored; one day by default. Choose the time for which the server knows
    ///     a key.
    ///   - operation: Names the operation of a request. Two requests with equal names are one operation.
    public init(
        _ store: any SharedStore, name: String = "idempotency", header: String = "Idempotency-Key",
        lifetime: Duration = .seconds(86_400), operation: @escaping Operation
    ) {
        (self.store, prefix, self.header, self.lifetime) = (store, name + ":", header, lifetime)
        self.operation = operation
    }

    public func adapt(_ request: inout OutgoingRequest, using state: RequestAdapterState) async throws {
        guard request.headers[header] == nil, let operation = operation(request) else { return }
        request.headers.add(name: header, value: try await key(for: operation))
    }

    /// Retries nothing; a retrier beside this interceptor sends the same key again.
    public func retry(_ request: any Request, for session: Session, dueTo error: RequestError) async -> RetryResult {
        .doNotRetry
    }

    /// Returns the key of an operation, the same in all processes until its lifetime ends. If the store has none, it
    /// stores a random one.
    public func key(for operation: String) async throws(StoreError) -> String {
        let name = prefix + Fingerprint.sha256(operation)
        // The stored key may end between the two operations, but not several times in a row.
        for _ in 0..<3 {
            let new = UUID().uuidString.lowercased()
            let version = try await store.set(
                Data(new.utf8), for: name, if: .isAbsent, lifetime: lifetime, under: nil)
            if version != nil { return new }
            guard let stored = try await store.value(for: name) else { continue }
            guard let id = UUID(uuidString: String(decoding: stored.data, as: UTF8.self)) else {
                throw StoreError(.damaged, "the stored value \(name) is not an idempotency key")
            }
            return id.uuidString.lowercased()
        }
        throw StoreError(.unavailable, "the store does not keep the idempotency key \(name) for its lifetime")
    }
}
