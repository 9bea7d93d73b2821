/// A serializer that tries several serializers in order, and returns the value of the first that succeeds.
///
///     request.serializingResponse(using: .firstOf([.decodable(of: NewUser.self), LegacyUserSerializer()]))
public struct CompoundResponseSerializer<Value: Sendable>: ResponseSerializer {
    private let serializers: [any ResponseSerializer<Value>]

    /// Creates a serializer; `.firstOf(_:)` is equivalent.
    public init(_ serializers: [any ResponseSerializer<Value>]) { self.serializers = serializers }

    public var readsDownloadedFile: Bool { serializers.contains(where: \.readsDownloadedFile) }

    public func serialize(_ exchange: CompletedExchange) async throws -> Value {
        try await first { try await $0.serialize(exchange) }
    }

    public func recover(from error: RequestError, _ exchange: CompletedExchange) async throws -> Value {
        do {
            return try await first { try await $0.recover(from: error, exchange) }
        } catch let failures as CompoundFailure {
            // No serializer recovered. Throw the first error that differs from the exchange's error, else the
            // exchange's error.
            throw failures.errors.first { ($0 as? RequestError)?.isSame(as: error) != true } ?? error
        }
    }

    private func first(_ attempt: (any ResponseSerializer<Value>) async throws -> Value) async throws -> Value {
        var errors: [any Error] = []
        for serializer in serializers {
            try Task.checkCancellation()
            do { return try await attempt(serializer) } catch { errors.append(error) }
        }
        throw CompoundFailure(errors: errors)
    }
}

/// The errors of all serializers of a ``CompoundResponseSerializer``.
public struct CompoundFailure: Error, Sendable, CustomStringConvertible {
    /// The errors, in the order of the serializers.
    public let errors: [any Error]

    public var description: String {
        errors.isEmpty
            ? "the list of serializers is empty"
            : "all serializers failed: " + errors.map { "\($0)" }.joined(separator: "; ")
    }
}

extension ResponseSerializer {
    /// Returns a serializer that tries the given serializers in order until one succeeds, and returns that value.
    public static func firstOf<Value>(
        _ serializers: [any ResponseSerializer<Value>]
    ) -> Self where Self == CompoundResponseSerializer<Value> {
        CompoundResponseSerializer(serializers)
    }
}
