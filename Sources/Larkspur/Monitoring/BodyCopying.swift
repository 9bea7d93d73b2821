/// The copies of bodies for monitors with a ``EventMonitor/bodyLimit``.
extension RequestState {
    /// The largest limit of the request's monitors; 0 if no monitor receives bodies.
    var bodyLimit: Int { settings.content.monitors.reduce(0) { max($0, $1.bodyLimit) } }

    /// Adds the events for an event of the transport, with the bytes if a monitor receives bodies.
    mutating func note(_ event: TransportEvent, of hop: HopProgress) {
        guard isObserved() else { return }
        note(RequestEvent(event))
        guard case .body(let bytes) = event, hop.received < UInt64(bodyLimit), hop.head?.status != 101 else { return }
        note(.copyBody(BodyPart(of: .response, offset: hop.received, bytes: bytes)))
    }

    /// Adds the events for a hop that begins. A body in memory is copied at once.
    mutating func noteBeginning(of request: OutgoingRequest) {
        guard isObserved() else { return }
        note(.beginHop(request))
        guard case .data(let bytes) = request.body, bodyLimit > 0, !bytes.isEmpty else { return }
        note(.copyBody(BodyPart(of: .request, offset: 0, bytes: bytes)))
    }
}

extension RequestCore {
    /// Returns a stream with the body of a file or a stream, which copies the bytes while the transport reads them. Nil
    /// if no monitor receives bodies, or the body is in memory.
    func copyingBody(of request: OutgoingRequest) -> TransportBodySource? {
        let body = request.body
        switch body {
        case .none, .data: return nil
        case .file, .stream: break
        }
        let limit = read { $0.bodyLimit }
        guard limit > 0, request.options.upgrade == nil else { return nil }
        return TransportBodySource(
            length: body.length, isReplayable: body.isReplayable, trailerNames: body.trailerNames
        ) { [weak self] in
            CopyingBodyStream(body.open(), limit: UInt64(limit)) { [weak self] in self?.emit(.copyBody($0)) }
        }
    }

    /// Returns the source of the body of the hop in flight; nil if the body is not a stream.
    func sourceOfBody() -> TransportBodySource? {
        guard let request = read({ $0.hop?.request }) else { return nil }
        if let copying = copyingBody(of: request) { return copying }
        if case .stream(let source) = request.body { return source }
        return nil
    }
}

/// A stream that passes a copy of its first bytes on.
private final class CopyingBodyStream: TransportBodyStream {
    private let base: any TransportBodyStream
    private let limit: UInt64
    private let take: @Sendable (BodyPart) -> Void
    private let position = Protected<UInt64>(0)

    init(_ base: any TransportBodyStream, limit: UInt64, take: @escaping @Sendable (BodyPart) -> Void) {
        (self.base, self.limit, self.take) = (base, limit, take)
    }

    var trailers: [HeaderField] { base.trailers }

    func begin(wake: @escaping @Sendable () -> Void) { base.begin(wake: wake) }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead {
        let read = base.read(into: buffer)
        guard case .bytes(let count) = read, (1...max(1, buffer.count)).contains(count) else { return read }
        let offset = position.withLock { position in
            defer { position += UInt64(count) }
            return position
        }
        if offset < limit {
            let bytes = Data(UnsafeRawBufferPointer(buffer).prefix(min(count, Int(clamping: limit - offset))))
            take(BodyPart(of: .request, offset: offset, bytes: bytes))
        }
        return read
    }

    func end() { base.end() }
}
