/// Tries serializers in order; the first that succeeds gives the value.
///
///     request.serializingResponse(using: .firstOf([.decodable(of: NewUser.self), LegacyUserSerializer()]))
public struct CompoundResponseSerializer<Value: Sendable>: ResponseSerializer {
    private let serializers: [any ResponseSerializer<Value>]

    /// `.firstOf` is the same.
    public init(_ serializers: [any ResponseSerializer<Value>]) { self.serializers = serializers }

    public var readsDownloadedFile: Bool { serializers.contains(where: \.readsDownloadedFile) }

    public func serialize(_ exchange: CompletedExchange) async throws -> Value {
        try await first { try await $0.serialize(exchange) }
    }

    public func recover(from error: RequestError, _ exchange: CompletedExchange) async throws -> Value {
        do {
            return try await first { try await $0.recover(from: error, exchange) }
        } catch let failures as CompoundFailure {
            // None made a value of the failure: it stands, unless one of them has something else to say.
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

/// Why each of a compound's serializers failed, in their order.
public struct CompoundFailure: Error, Sendable, CustomStringConvertible {
    /// In the order of the serializers.
    public let errors: [any Error]

    public var description: String {
        errors.isEmpty
            ? "there is no serializer to try" : "none succeeded: " + errors.map { "\($0)" }.joined(separator: "; ")
    }
}

extension ResponseSerializer {
    /// The first of these that succeeds.
    public static func firstOf<Value>(
        _ serializers: [any ResponseSerializer<Value>]
    ) -> Self where Self == CompoundResponseSerializer<Value> {
        CompoundResponseSerializer(serializers)
    }
}
