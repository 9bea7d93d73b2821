import LarkspurTransport

extension TransportBody {
    /// Reads the whole body on the caller's task, a buffer at a time, as a transport would.
    func read(_ take: (UnsafeRawBufferPointer) throws -> Void) async throws {
        let stream = JoinedBodyStream([self])  // which holds it to its length
        let bell = Bell()
        stream.begin(wake: bell.ring)
        defer { stream.end() }
        var buffer = [UInt8](repeating: 0, count: 64 * 1_024)
        while true {
            try Task.checkCancellation()
            switch buffer.withUnsafeMutableBytes({ stream.read(into: $0) }) {
            case .bytes(let count):
                try buffer.withUnsafeBytes { try take(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            case .pending:
                await withTaskCancellationHandler(operation: bell.wait, onCancel: bell.ring)
            case .end:
                return
            case .failed(let error):
                throw RequestError(wrapping: error, as: .bodyFailed, stage: .building)
            }
        }
    }
}

/// Wakes one waiter; rung before somebody waits, it counts as well.
private final class Bell: Sendable {
    private enum State {
        case silent
        case rung
        case awaited(Suspension<Void>)
    }

    private let box = Protected(State.silent)

    @Sendable func ring() {
        let waiter = box.withLock { state -> Suspension<Void>? in
            guard case .awaited(let waiter) = state else {
                state = .rung
                return nil
            }
            state = .silent
            return waiter
        }
        waiter?.resume()
    }

    @Sendable func wait() async {
        await suspended { continuation in
            let isRung = box.withLock { state in
                guard case .rung = state else {
                    state = .awaited(continuation)
                    return false
                }
                state = .silent
                return true
            }
            if isRung { continuation.resume() }
        }
    }
}
