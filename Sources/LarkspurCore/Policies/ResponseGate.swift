/// The decision whether a request continues after its response's head has arrived.
public enum ResponseDisposition: Sendable {
    /// Continues with the request.
    case allow
    /// Cancels the request. Its serializers fail with an error whose `isCancelled` is true.
    case cancel
}

/// A closure that decides by a response's head whether the request continues.
typealias ResponseGate = @Sendable (ResponseHead) async -> ResponseDisposition
