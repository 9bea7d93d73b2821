extension TransportBody {
    /// Returns a body that sends several bodies one after another.
    ///
    /// The joined body has a known length if all of the bodies have one. It can be sent again if all of the bodies can.
    /// Each body is opened only after the previous body has been read, so a joined body of thousands of files needs
    /// only one open file at a time.
    public static func joined(_ bodies: some Sequence<TransportBody>) -> TransportBody {
        let pieces = merged(bodies)
        guard pieces.count > 1 else { return pieces.first ?? .none }
        guard !pieces.contains(where: \.hasTrailers) else {
            return .failing("a part of a joined body has trailers; give them to the joined body")
        }
        return .stream(
            TransportBodySource(length: length(of: pieces), isReplayable: pieces.allSatisfy(\.isReplayable)) {
                JoinedBodyStream(pieces)
            })
    }

    /// The maximum size, in bytes, of a piece that is merged from neighbouring data. Copying so few bytes is cheap.
    private static let smallSize = 64 * 1_024

    /// Merges small pieces of data and drops empty bodies. A form that has only small text fields thus becomes plain
    /// data.
    private static func merged(_ bodies: some Sequence<TransportBody>) -> [TransportBody] {
        var pieces: [TransportBody] = []
        var text = Data()
        func flush() {
            if !text.isEmpty { pieces.append(.data(text)) }
            text = Data()
        }
        for body in bodies where body.length != 0 {
            guard case .data(let data) = body else {
                flush()
                pieces.append(body)
                continue
            }
            if text.count + data.count > smallSize { flush() }
            if text.isEmpty { text = data } else { text.append(data) }
        }
        flush()
        return pieces
    }

    /// Returns the total length; nil if one length is unknown or the sum overflows.
    static func length(of bodies: some Sequence<TransportBody>) -> UInt64? {
        var sum: UInt64 = 0
        for body in bodies {
            guard let length = body.length, case let (next, false) = sum.addingReportingOverflow(length) else {
                return nil
            }
            sum = next
        }
        return sum
    }
}

/// A stream that reads several bodies one after another, and checks each body against its declared length.
final class JoinedBodyStream: TransportBodyStream {
    fileprivate typealias Part = (stream: any TransportBodyStream, left: UInt64?)

    fileprivate struct Cursor {
        var later: ArraySlice<TransportBody>
        var part: Part?
        var wake: @Sendable () -> Void = {}
    }

    private enum State {
        case idle(Cursor)
        /// A call of `read` has removed the cursor from the state. The call reads from the parts' streams without
        /// holding the lock.
        case reading
        case ended
    }

    private let box: Protected<State>

    init(_ bodies: [TransportBody]) { box = Protected(.idle(Cursor(later: bodies[...]))) }

    func begin(wake: @escaping @Sendable () -> Void) {
        box.withLock {
            guard case .idle(var cursor) = $0 else { return }
            cursor.wake = wake
            $0 = .idle(cursor)
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead {
        let taken = box.withLock { state -> Cursor? in
            guard case .idle(let cursor) = state else { return nil }
            state = .reading
            return cursor
        }
        guard var cursor = taken else { return .end }
        let result = cursor.read(into: buffer)
        let isWanted = box.withLock { state in
            guard case .reading = state else { return false }
            state = .idle(cursor)
            return true
        }
        if !isWanted { cursor.part?.stream.end() }
        return result
    }

    func end() {
        // The cursor is returned, so that its streams are released after unlocking. Releasing a stream can run other
        // code.
        let cursor = box.withLock { state -> Cursor? in
            defer { state = .ended }
            guard case .idle(let cursor) = state else { return nil }
            return cursor
        }
        cursor?.part?.stream.end()
    }
}

extension JoinedBodyStream.Cursor {
    /// Fills the buffer from as many parts as needed, so that small parts are not sent as separate packets.
    fileprivate mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead {
        var filled = 0
        while filled < buffer.count, let part = currentPart() {
            let left = part.left.map { Int(clamping: $0) } ?? .max
            let room = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...].prefix(left))
            switch room.isEmpty ? .end : part.stream.read(into: room) {
            case .bytes(let count) where (1...room.count).contains(count):
                filled += count
                self.part?.left = part.left.map { $0 - UInt64(count) }
            case .bytes(let count):
                return .failed(
                    TransportError.bodyFailed("a stream of the body reported an invalid count of \(count) bytes"))
            case .pending:
                return filled > 0 ? .bytes(filled) : .pending
            case .end:
                if let left = part.left, left > 0 {
                    let problem = "a part of the body ended \(left) bytes before its declared length"
                    return .failed(TransportError.bodyFailed(problem))
                }
                part.stream.end()
                self.part = nil
            case .failed(let error):
                return .failed(error)
            }
        }
        return filled > 0 ? .bytes(filled) : .end
    }

    private mutating func currentPart() -> JoinedBodyStream.Part? {
        if part == nil, let next = later.popFirst() {
            let stream = next.open()
            part = (stream, next.length)
            stream.begin(wake: wake)
        }
        return part
    }
}
