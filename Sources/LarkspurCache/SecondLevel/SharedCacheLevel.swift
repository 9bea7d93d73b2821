/// A second level of an ``HTTPCache``, which several processes share: values with a lifetime, and the right to ask the
/// server for a response.
///
/// The cache gives a level bytes alone. They hold responses, so a level that other parties can read should encrypt
/// them. Names have at most 80 ASCII characters, and no secrets. The cache recognises values that are damaged, or that
/// are of another name, and removes them.
///
/// A function that throws makes the request go on without the level. All functions return or throw after a limited
/// time, also if the level cannot be reached.
public protocol SharedCacheLevel: Sendable {
    /// The maximum size of a response's body in bytes. Larger responses are not shared.
    var maximumSize: Int { get }
    /// The maximum lifetime of a response.
    var maximumLifetime: Duration { get }

    /// Returns the value of each name, in the same order; nil if there is none, or its lifetime has ended.
    func values(for names: [String]) async throws -> [Data?]

    /// Stores a value, whatever the name had before.
    func set(_ value: Data, for name: String, lifetime: Duration) async throws

    /// Returns the value of a name. If there is none, stores the given value first.
    ///
    /// Of several processes that call it at once, one stores its value, and all return this value. By default, the
    /// function reads the value and then calls ``set(_:for:lifetime:)``: processes that do so at once replace each
    /// other's values, and the responses that they store are requested once more.
    func value(for name: String, orStoring value: Data, lifetime: Duration) async throws -> Data

    /// Removes a value.
    func removeValue(for name: String) async throws

    /// Waits until this process has the right to ask the server, or until another process has stored the response.
    ///
    /// The closure runs where its caller does, on the same actor. In a module without the upcoming feature
    /// `NonisolatedNonsendingByDefault`, write the attribute out, because otherwise the function does not fulfil the
    /// requirement:
    ///
    ///     func claim(
    ///         _ name: String, unless isStored: nonisolated(nonsending) @escaping @Sendable () async throws -> Bool
    ///     ) async throws -> SharedCacheTurn?
    ///
    /// - Parameters:
    ///   - name: The name of the right.
    ///   - isStored: Looks for the response. The level calls it from time to time while another process has the right.
    /// - Returns: The right; nil if the response is stored, or if the limit of the level is reached.
    func claim(
        _ name: String, unless isStored: @escaping @Sendable () async throws -> Bool
    ) async throws -> SharedCacheTurn?
}

extension SharedCacheLevel {
    public func value(for name: String, orStoring value: Data, lifetime: Duration) async throws -> Data {
        if let stored = try await values(for: [name]).first ?? nil { return stored }
        try await set(value, for: name, lifetime: lifetime)
        return value
    }
}

/// The right of one process to ask the server for a response, which the others wait for.
public final class SharedCacheTurn: Sendable {
    private let box: Protected<(@Sendable () async -> Void)?>

    /// Creates a right.
    ///
    /// - Parameter end: Gives the right up. The cache calls it once, when the response is stored or cannot be.
    public init(_ end: @escaping @Sendable () async -> Void) { box = Protected(end) }

    /// Gives the right up.
    func end() async { await box.withLock { $0.take() }?() }

    deinit {
        guard let end = box.withLock({ $0.take() }) else { return }
        Task { await end() }
    }
}
