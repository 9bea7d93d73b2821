/// A stream that passes a copy of its first bytes on.
package final class CopyingBodyStream: TransportBodyStream {
    private let base: any TransportBodyStream
    private let limit: UInt64
    private let take: @Sendable (_ offset: UInt64, Data) -> Void
    private let position = Protected<UInt64>(0)

    package init(
        _ base: any TransportBodyStream, limit: UInt64, take: @escaping @Sendable (_ offset: UInt64, Data) -> Void
    ) {
        (self.base, self.limit, self.take) = (base, limit, take)
    }

    package var trailers: [HTTPHeader] { base.trailers }

    package func begin(wake: @escaping @Sendable () -> Void) { base.begin(wake: wake) }

    package func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead {
        let read = base.read(into: buffer)
        guard case .bytes(let count) = read, (1...max(1, buffer.count)).contains(count) else { return read }
        let offset = position.withLock { position in
            defer { position += UInt64(count) }
            return position
        }
        if offset < limit {
            let bytes = Data(UnsafeRawBufferPointer(buffer).prefix(min(count, Int(clamping: limit - offset))))
            take(offset, bytes)
        }
        return read
    }

    package func end() { base.end() }
}
