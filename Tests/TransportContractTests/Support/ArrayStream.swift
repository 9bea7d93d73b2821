import Larkspur

/// A streamed body of known bytes that counts its calls.
final class ArrayStream: TransportBodyStream {
    private struct State {
        var position = 0
        var begun = 0
        var ended = 0
        var wake: (@Sendable () -> Void)?
        var hasPended = false
    }

    private let bytes: [UInt8]
    private let piece: Int
    private let gate: Gate?
    let trailers: [HTTPHeader]
    private let box = Protected(State())

    /// - Parameter gate: Half way, the stream returns pending until this gate is opened.
    init(_ bytes: [UInt8], piece: Int, pendingAt gate: Gate? = nil, trailers: [HTTPHeader] = []) {
        self.trailers = trailers
        self.bytes = bytes
        self.piece = piece
        self.gate = gate
    }

    var timesBegun: Int { box.withLock { $0.begun } }
    var timesEnded: Int { box.withLock { $0.ended } }

    func begin(wake: @escaping @Sendable () -> Void) {
        box.withLock {
            $0.begun += 1
            $0.wake = wake
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead {
        let slice = box.withLock { state -> ArraySlice<UInt8>? in
            if gate != nil, !state.hasPended, state.position * 2 >= bytes.count {
                state.hasPended = true
                return nil
            }
            let start = state.position
            state.position = min(start + min(piece, buffer.count), bytes.count)
            return bytes[start..<state.position]
        }
        guard let slice else {
            wakeAtGate()
            return .pending
        }
        buffer.copyBytes(from: slice)
        return slice.isEmpty ? .end : .bytes(slice.count)
    }

    func end() { box.withLock { $0.ended += 1 } }

    private func wakeAtGate() {
        guard let gate, let wake = box.withLock({ $0.wake }) else { return }
        Task {  // a real stream also wakes from another thread
            try? await gate.passUnlessCancelled()
            wake()
        }
    }
}
