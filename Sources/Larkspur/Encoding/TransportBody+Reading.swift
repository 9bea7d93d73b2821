import LarkspurTransport

extension TransportBody {
    /// Reads the whole body on the caller's task, a buffer at a time, as a transport would.
    func read(_ take: (UnsafeRawBufferPointer) throws -> Void) async throws {
        let stream = JoinedBodyStream([self])  // which holds it to its length
        // One wake that waits is as good as many.
        let (wakes, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        stream.begin { bell.yield() }
        defer { stream.end() }
        var buffer = [UInt8](repeating: 0, count: 64 * 1_024)
        while true {
            try Task.checkCancellation()
            switch buffer.withUnsafeMutableBytes({ stream.read(into: $0) }) {
            case .bytes(let count):
                try buffer.withUnsafeBytes { try take(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            case .pending:
                for await _ in wakes { break }  // ends when the task is cancelled
            case .end:
                return
            case .failed(let error):
                throw RequestError(wrapping: error, as: .bodyFailed, stage: .building)
            }
        }
    }
}
