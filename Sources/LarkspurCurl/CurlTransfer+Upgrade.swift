internal import CLarkspur

/// The handshake of an upgrade: a request and the head of its response, which the transport itself writes and reads.
final class CurlExchange {
    let wire: CurlWire
    /// The request's head, and the number of bytes that are sent.
    let request: [UInt8]
    var sent = 0
    /// A line of the response's head that has arrived in part.
    var line: [UInt8] = []
    /// Received bytes of the body that the delegate does not take yet.
    var held: [UInt8] = []
    var isPaused = false

    init(_ wire: CurlWire, _ request: TransportRequest) {
        self.wire = wire
        var text = "\(request.method) \(request.url.target) HTTP/1.1\r\n"
        if !request.fields.contains(where: { $0.name.lowercased() == "host" }) {
            text += "Host: \(request.url.originText.dropFirst(request.url.scheme.count + 3))\r\n"
        }
        for field in request.fields { text += "\(field.name): \(field.value)\r\n" }
        self.request = Array((text + "\r\n").utf8)
    }
}

/// Upgrades (T26 in `Transport`): libcurl makes the connection, and the transfer exchanges the handshake over it. After
/// a 101, the connection belongs to a ``CurlTunnel``.
extension CurlTransfer {
    /// The number of bytes that are read at a time.
    private static let pieceSize = 16 * 1_024

    /// Sends the request's head over the connection that libcurl has made.
    func beginExchange(of hop: CurlHop) {
        didConnect()
        let usesTLS = hop.request.url.isHTTPS || hop.route?.proxy?.kind == .https
        guard hop.fault == nil, let wire = CurlWire(easy, isPlain: !usesTLS) else {
            return fail(hop.fault ?? TransportError(.connectionLost, "libcurl lost the connection", phase: .connecting))
        }
        hop.exchange = CurlExchange(wire, hop.request)
        sendRequest(of: hop)
    }

    private func sendRequest(of hop: CurlHop) {
        guard let exchange = hop.exchange else { return }
        while exchange.sent < exchange.request.count {
            let result = exchange.request.withUnsafeBytes {
                exchange.wire.send(UnsafeRawBufferPointer(rebasing: $0[exchange.sent...]))
            }
            switch result {
            case .bytes(let count): exchange.sent += count
            case .wouldBlock: return watch(exchange.wire, 3)
            case .lost: return loseExchange(hop, .sending)
            }
        }
        watch(exchange.wire, 1)
        if !exchange.wire.isPlain { readResponse(of: hop) }  // TLS may hold bytes that have arrived already
    }

    private func watch(_ wire: CurlWire, _ interest: Int32) {
        if !loop.watch(wire.descriptor, for: interest, by: .transfer(slot)) { cannotWait() }
    }

    private func loseExchange(_ hop: CurlHop, _ phase: TransportError.Phase) {
        fail(
            hop.fault ?? TransportError(.connectionLost, "the connection ended before the response's end", phase: phase)
        )
    }

    func exchangeIsReady(_ interest: Int32) {
        guard let hop, let exchange = hop.exchange else { return }
        if interest & 2 != 0, exchange.sent < exchange.request.count { return sendRequest(of: hop) }
        if interest & 1 != 0 { readResponse(of: hop) }
    }

    private func readResponse(of hop: CurlHop) {
        while self.hop === hop, let exchange = hop.exchange, !exchange.isPaused {
            let result = withUnsafeTemporaryAllocation(byteCount: Self.pieceSize, alignment: 16) { buffer in
                let result = exchange.wire.receive(into: buffer)
                if case .bytes(let count) = result, count > 0 {
                    hop.lastActivity = loop.now
                    take(UnsafeRawBufferPointer(rebasing: buffer[..<count]), hop, exchange)
                }
                return result
            }
            switch result {
            case .bytes(0): return endOfResponse(hop)
            case .bytes(let count): if exchange.wire.isPlain, count < Self.pieceSize { return }
            case .wouldBlock: return
            case .lost: return loseExchange(hop, .receiving)
            }
        }
    }

    /// Reads bytes of the response: lines of its head, and then its body.
    private func take(_ bytes: UnsafeRawBufferPointer, _ hop: CurlHop, _ exchange: CurlExchange) {
        var rest = bytes
        while !hop.head.isWhole, let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            exchange.line += rest[...end]
            rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...])
            guard takeLine(hop, exchange) else { return }
        }
        guard hop.head.isWhole else {
            exchange.line += rest
            guard exchange.line.count > CurlHead.limit else { return }
            return fail(
                TransportError(.protocolViolation, "the response's head has a line without end", phase: .receiving))
        }
        if hop.pendingHead?.status == 101 { return handOver(hop, exchange, rest) }
        takeBody(rest, hop, exchange)
    }

    private func takeLine(_ hop: CurlHop, _ exchange: CurlExchange) -> Bool {
        let isTaken = exchange.line.withUnsafeMutableBytes { line in
            receiveHead(line.baseAddress?.assumingMemoryBound(to: CChar.self), line.count) == line.count
        }
        exchange.line.removeAll(keepingCapacity: true)
        if !isTaken { loseExchange(hop, .receiving) }
        return isTaken
    }

    // MARK: A refused upgrade

    /// Delivers bytes of the body of a response that does not switch protocols.
    private func takeBody(_ bytes: UnsafeRawBufferPointer, _ hop: CurlHop, _ exchange: CurlExchange) {
        var rest = bytes
        if hop.chunks == nil, let left = hop.rest { rest = UnsafeRawBufferPointer(rebasing: rest.prefix(max(0, left))) }
        if !rest.isEmpty {
            let address = UnsafeMutablePointer(mutating: rest.baseAddress?.assumingMemoryBound(to: CChar.self))
            let answer = receiveBody(address, rest.count)
            if answer == CurlAnswer.pause {
                exchange.held += rest
                exchange.isPaused = true
                return watch(exchange.wire, 0)
            }
            guard answer == rest.count || hop.chunks?.isOver == true else { return loseExchange(hop, .receiving) }
        }
        if isBodyOver(hop) { fail(nil) }
    }

    private func isBodyOver(_ hop: CurlHop) -> Bool {
        if let chunks = hop.chunks { return chunks.isOver }
        return [204, 304].contains(hop.pendingHead?.status) || hop.rest.map { $0 <= 0 } == true
    }

    /// Continues a paused body.
    func continueExchange() {
        guard let hop, let exchange = hop.exchange, exchange.isPaused, case .deliver = hop.task.flow(at: hop.received)
        else { return }
        (exchange.isPaused, hop.isBodyPaused) = (false, false)
        hop.lastActivity = loop.now
        watch(exchange.wire, 1)
        let held = exchange.held
        exchange.held = []
        held.withUnsafeBytes { takeBody($0, hop, exchange) }
        readResponse(of: hop)
    }

    /// Handles the end of the peer's side.
    private func endOfResponse(_ hop: CurlHop) {
        guard hop.head.isWhole else { return loseExchange(hop, .waiting) }
        guard hop.chunks == nil, hop.rest == nil else {
            return fail(
                TransportError(.truncated, "the connection ended before the end of the body", phase: .receiving))
        }
        fail(nil)
    }

    // MARK: An accepted upgrade

    /// Delivers the head, and hands the connection over to a tunnel, together with the bytes that follow the head.
    private func handOver(_ hop: CurlHop, _ exchange: CurlExchange, _ rest: UnsafeRawBufferPointer) {
        var metrics = metrics(of: hop)
        metrics.requestBodyBytes = 0
        metrics.$firstByte.nanoseconds = loop.shared.now - hop.start
        guard let old = replaceEasy() else {
            return fail(TransportError(.unavailable, "libcurl has no memory left", phase: .waiting))
        }
        clarkspur_easy_set_pointer(old, CURLOPT_ERRORBUFFER, nil)
        let held = Data(rest)
        giveUpHop()
        hop.deliverPending()
        loop.open(hop, exchange.wire, held, metrics, of: self)
    }
}
