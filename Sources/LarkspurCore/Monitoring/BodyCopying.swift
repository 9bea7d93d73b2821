/// The copies of bodies for monitors with a ``EventMonitor/bodyLimit``.
extension RequestState {
    /// The largest limit of the request's monitors; 0 if no monitor receives bodies.
    var bodyLimit: Int { settings.content.monitors.reduce(0) { max($0, $1.bodyLimit) } }

    /// Adds the events for an event of the transport, with the bytes if a monitor receives bodies.
    mutating func note(_ event: TransportEvent, of hop: HopProgress) {
        guard isObserved() else { return }
        note(RequestEvent(event, of: hop.request))
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
            CopyingBodyStream(body.open(), limit: UInt64(limit)) { [weak self] offset, bytes in
                self?.emit(.copyBody(BodyPart(of: .request, offset: offset, bytes: bytes)))
            }
        }
    }

    /// Returns the source of the body of the hop in flight; nil if the body is not a stream.
    func sourceOfBody() -> TransportBodySource? {
        guard let request = read({ $0.hop?.request }) else { return nil }
        if let copying = copyingBody(of: request) { return copying }
        if case .stream(let source) = request.body { return source }
        return nil
    }

    /// Whether a monitor receives an event that occurs now.
    package var isObserved: Bool { read { $0.isObserved() } }

    /// Emits an event and, if a monitor receives bodies, the bytes that belong to the event directly after it.
    ///
    /// - Parameter part: Returns the bytes, at most as many as its argument; nil if there are none.
    package func emit(_ event: RequestEvent, copying part: (Int) -> BodyPart?) {
        update { state in
            state.note(event)
            if state.bodyLimit > 0, let part = part(state.bodyLimit) { state.note(.copyBody(part)) }
        }
    }
}
