import Foundation
import Larkspur

@testable import LarkspurCore
@testable import LarkspurWebSocket

/// Checks the reader and writer of WebSocket frames. The first byte selects the role and the compression, the second
/// the maximum size of messages, the third the pieces of the input.
func checkWebSocket(_ bytes: [UInt8]) throws {
    var input = FuzzInput(bytes)
    let choice = input.byte()
    let role: WebSocketRole = choice & 1 == 0 ? .client : .server
    var deflate: WebSocketDeflateParameters?
    if choice & 2 != 0 {
        var parameters = WebSocketDeflateParameters()
        (parameters.clientTakesOver, parameters.serverTakesOver) = (choice & 4 == 0, choice & 4 == 0)
        let bits = 8 + Int(choice >> 3) % 8
        (parameters.clientWindowBits, parameters.serverWindowBits) = (bits, bits)
        parameters.level = Int(choice >> 3) % 10
        deflate = parameters
    }
    let size = Int(input.byte())
    let limit = size * size
    let seed = input.byte()
    let reader = { (limit: Int) in WebSocketReader(role: role, maximumMessageSize: limit, deflate: deflate) }

    let whole = Reading(reader(limit), [input.rest])
    try require(
        whole == Reading(reader(limit), input.rest.pieces(by: seed)), "events do not depend on the pieces of the input")
    try require(
        whole == Reading(reader(limit), [input.rest], stops: true), "nor on whether the reader stops after each event")
    try checkEvents(whole.events, limit)

    // The writer of the other side writes the same events again.
    var writer = WebSocketWriter(role: role == .client ? .server : .client, deflate: deflate)
    var queue = ByteQueue()
    for event in whole.events {
        switch event {
        case .message(let message, _): try writer.write(message, into: &queue)
        case .ping(let payload): writer.writePing(payload, into: &queue)
        case .pong(let payload): writer.writePong(payload, into: &queue)
        case .close(let code, let reason): writer.writeClose(code, reason: reason, into: &queue)
        }
    }
    let written = [UInt8](queue.takeAll())
    for pieces in [[written[...]], written.pieces(by: seed)] {
        let again = Reading(reader(limit), pieces)
        try require(again.violation == nil, "what the writer writes is valid")
        try require(
            again.events.map(withoutWireSize) == whole.events.map(withoutWireSize), "and the reader reads it back")
    }
}

private func checkEvents(_ events: [WebSocketReader.Event], _ limit: Int) throws {
    for (index, event) in events.enumerated() {
        switch event {
        case .message(let message, _): try require(message.size <= limit, "a message is not larger than the limit")
        case .ping(let payload), .pong(let payload): try require(payload.count <= 125, "a control frame is short")
        case .close(let code, let reason):
            try require(index == events.count - 1, "a close is the last event")
            try require(code.mayBeSent || code == .noStatus && reason.isEmpty, "a close has a valid code")
        }
    }
}

private func withoutWireSize(_ event: WebSocketReader.Event) -> WebSocketReader.Event {
    if case .message(let message, _) = event { .message(message, wireSize: 0) } else { event }
}

/// The events of a reader up to a violation.
private struct Reading: Equatable {
    private(set) var events: [WebSocketReader.Event] = []
    private(set) var violation: WebSocketViolation?

    init(_ reader: WebSocketReader, _ pieces: [ArraySlice<UInt8>], stops: Bool = false) {
        var reader = reader
        var events: [WebSocketReader.Event] = []
        do {
            for piece in pieces {
                var rest = piece
                while !rest.isEmpty {
                    let count = try rest.withUnsafeBytes { bytes in
                        try reader.read(bytes) { event in
                            events.append(event)
                            return !stops
                        }
                    }
                    rest = rest.dropFirst(count)
                }
            }
        } catch {
            violation = error as? WebSocketViolation
        }
        self.events = events
    }
}
