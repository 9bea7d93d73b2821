import Larkspur

/// A body that the test fills while it is sent.
final class TestStream: TransportBodyStream {
    private struct State {
        var bytes: [UInt8] = []
        var end: TransportBodyRead?
        var wake: (@Sendable () -> Void)?
        var begun = 0
        var ended = 0
    }

    private let box = Protected(State())

    /// The number of bytes that were not read.
    var count: Int { box.withLock { $0.bytes.count } }
    var timesBegun: Int { box.withLock { $0.begun } }
    var timesEnded: Int { box.withLock { $0.ended } }

    func add(_ bytes: [UInt8]) {
        let wake = box.withLock { state in
            state.bytes += bytes
            return state.wake
        }
        wake?()
    }

    func finish(_ error: TransportError? = nil) {
        let wake = box.withLock { state in
            state.end = error.map { .failed($0) } ?? .end
            return state.wake
        }
        wake?()
    }

    func begin(wake: @escaping @Sendable () -> Void) {
        box.withLock { state in
            state.begun += 1
            state.wake = wake
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead {
        let limit = buffer.count
        let (bytes, end) = box.withLock { state -> ([UInt8], TransportBodyRead?) in
            let bytes = Array(state.bytes.prefix(limit))
            state.bytes.removeFirst(bytes.count)
            return (bytes, state.end)
        }
        guard bytes.isEmpty else {
            buffer.copyBytes(from: bytes)
            return .bytes(bytes.count)
        }
        return end ?? .pending
    }

    func end() { box.withLock { $0.ended += 1 } }
}
