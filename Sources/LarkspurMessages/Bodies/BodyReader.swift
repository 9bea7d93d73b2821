/// A reader that reads a body on the caller's task, one buffer at a time. Releasing the reader ends the body's stream.
package final class BodyReader {
    private let stream: JoinedBodyStream
    private let wakes: AsyncStream<Void>

    package init(_ body: TransportBody) {
        stream = JoinedBodyStream([body])  // this stream also checks the declared length
        // Wakes that arrive between two reads can be merged, because the reader then reads until the stream is pending
        // again.
        let (wakes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.wakes = wakes
        stream.begin { continuation.yield() }
    }

    deinit { stream.end() }

    /// Reads the next bytes into the buffer and returns their count; 0 at the end of the body.
    package func read(into buffer: inout [UInt8]) async throws -> Int {
        while true {
            try Task.checkCancellation()
            switch buffer.withUnsafeMutableBytes({ stream.read(into: $0) }) {
            case .bytes(let count): return count
            case .pending: for await _ in wakes { break }  // also ends when the task is cancelled
            case .end: return 0
            case .failed(let error): throw error
            }
        }
    }
}

extension TransportBody {
    /// Reads the whole body on the caller's task, and passes each piece of the body to the closure.
    package func read(_ take: (UnsafeRawBufferPointer) throws -> Void) async throws {
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
