/// Reads a body on the caller's task, a buffer at a time, as a transport would; it is closed when nobody has it any more.
final class BodyReader {
    private let stream: JoinedBodyStream
    private let wakes: AsyncStream<Void>

    init(_ body: TransportBody) {
        stream = JoinedBodyStream([body])  // which holds it to its length
        // One wake that waits is as good as many.
        let (wakes, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.wakes = wakes
        stream.begin { bell.yield() }
    }

    deinit { stream.end() }

    /// Fills the buffer with the next bytes: how many, none at the end.
    func read(into buffer: inout [UInt8]) async throws -> Int {
        while true {
            try Task.checkCancellation()
            switch buffer.withUnsafeMutableBytes({ stream.read(into: $0) }) {
            case .bytes(let count): return count
            case .pending: for await _ in wakes { break }  // ends when the task is cancelled
            case .end: return 0
            case .failed(let error): throw error
            }
        }
    }
}

extension TransportBody {
    /// Reads the whole body on the caller's task.
    func read(_ take: (UnsafeRawBufferPointer) throws -> Void) async throws {
        let reader = BodyReader(self)
        var buffer = [UInt8](repeating: 0, count: 64 * 1_024)
        while true {
            let count: Int
            do {
                count = try await reader.read(into: &buffer)
            } catch let error as CancellationError {
                throw error
            } catch {
                throw RequestError(wrapping: error, as: .bodyFailed, stage: .building)
            }
            if count == 0 { return }
            try buffer.withUnsafeBytes { try take(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
    }
}
