import Foundation
import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Reconnection of server-sent events", .limited)
struct ServerSentEventsReconnectionTests {
    private typealias Machine = ServerSentEventsReconnection

    private static func head(_ status: Int = 200, type: String? = "text/event-stream") -> ResponseHead {
        ResponseHead(status: status, fields: type.map { [HTTPHeader(name: "Content-Type", value: $0)] } ?? [])
    }

    private func hop(_ status: Int) throws -> Hop {
        Hop(request: try OutgoingRequest("http://example.com"), head: Self.head(status))
    }

    private static let lost = RequestError(.connectionLost, "gone")

    private func machine(
        lastEventID: String = "", _ configure: (inout ServerSentEventsPolicy) -> Void = { _ in }
    ) -> ServerSentEventsReconnection {
        Machine(policy: ServerSentEventsPolicy(configure), lastEventID: lastEventID)
    }

    @Test("A stream that the server ends reconnects after the reconnection time")
    func reconnecting() throws {
        var machine = machine()
        #expect(machine.state.isConnecting)
        let fields = try #require(machine.handle(.started).fields)
        #expect(fields["Accept"] == "text/event-stream")
        #expect(fields["Cache-Control"] == "no-cache")
        #expect(fields["Last-Event-ID"] == nil)
        #expect(machine.state.isConnecting)
        #expect(machine.handle(.responded(Self.head())).isRead)
        #expect(machine.state.isOpen)
        #expect(machine.handle(.receivedBytes).isNone)
        #expect(machine.handle(.ended(nil)).pause == .seconds(3))
        #expect(machine.state.isConnecting)
        #expect(machine.handle(.waited).fields != nil)
        #expect(machine.handle(.responded(Self.head())).isRead)
        #expect(machine.state.isOpen)
    }

    @Test(
        "A later connection continues after the last complete event, with the server's reconnection time",
        arguments: [
            ("", "data: a\n\n", nil, .seconds(3)), ("7", "data: a\n\n", "7", .seconds(3)),
            ("7", "id: 8\ndata: a\n\nid: 9\n", "8", .seconds(3)), ("7", "id\n\n", nil, .seconds(3)),
            ("", "id: é\n\nretry: 500\n", "é", .milliseconds(500)), ("", "id: a\u{1}b\n\n", nil, .seconds(3)),
            ("", "id: \tb \n\n", "b", .seconds(3)), ("", "id:   \n\n", nil, .seconds(3)),
            ("", "retry: 0\n", nil, .milliseconds(100)), ("", "retry: 99999999999999999999\n", nil, .seconds(300)),
        ] as [(String, String, String?, Duration)])
    func goingOn(before: String, body: String, id: String?, pause: Duration) throws {
        var machine = machine(lastEventID: before)
        #expect(machine.handle(.started).fields?["Last-Event-ID"] == (before.isEmpty ? nil : before))
        _ = machine.handle(.responded(Self.head()))
        _ = try machine.parser.parse(Data(body.utf8))
        _ = machine.handle(.receivedBytes)
        #expect(machine.handle(.ended(nil)).pause == pause)
        #expect(machine.handle(.waited).fields?["Last-Event-ID"] == id)
        // Another connection without a byte keeps the ID and the time.
        _ = machine.handle(.responded(Self.head()))
        #expect(machine.handle(.ended(nil)).pause == min(pause * 2, .seconds(300)))
        #expect(machine.handle(.waited).fields?["Last-Event-ID"] == id)
    }

    @Test("A new parser reads each body: a partial event is dropped, and a byte order mark is skipped")
    func freshParser() throws {
        var machine = machine()
        _ = machine.handle(.started)
        _ = machine.handle(.responded(Self.head()))
        #expect(try machine.parser.parse(Data("event: x\ndata: half\ndata: an ev".utf8)).isEmpty)
        _ = machine.handle(.ended(Self.lost))
        _ = machine.handle(.waited)
        _ = machine.handle(.responded(Self.head()))
        #expect(try machine.parser.parse(Data("\u{FEFF}data: a\n\n".utf8)) == [ServerSentEvent(data: "a")])
    }

    @Test(
        "Only 200 with the right content type opens a stream; 204 ends it, anything else fails it",
        arguments: [
            (head(), nil), (head(type: "Text/Event-Stream ; charset=latin1"), nil), (head(204), nil),
            (head(204, type: nil), nil),
            (head(201), .unacceptableStatus), (head(301), .unacceptableStatus), (head(404), .unacceptableStatus),
            (head(503), .unacceptableStatus), (head(type: nil), .unacceptableContentType),
            (head(type: "text/plain"), .unacceptableContentType),
            (head(type: "text/event-streams"), .unacceptableContentType),
        ] as [(ResponseHead, RequestError.Code?)])
    func responses(head: ResponseHead, failure: RequestError.Code?) {
        var machine = machine()
        _ = machine.handle(.started)
        let action = machine.handle(.responded(head))
        let isOpen = head.status == 200 && failure == nil
        #expect(action.isRead == isOpen)
        #expect(machine.state.isOpen == isOpen)
        #expect(action.isFinish == !isOpen)
        #expect(action.failure?.code == failure)
        #expect(machine.state.failure?.code == failure)
    }

    @Test("A status that the policy lists is retried, also after a validator has rejected it")
    func retriedStatus() throws {
        var machine = machine { $0.retriedStatusCodes = [503] }
        _ = machine.handle(.started)
        #expect(machine.handle(.responded(Self.head(503, type: "text/html"))).pause == .seconds(3))
        _ = machine.handle(.waited)
        let refusal = RequestError(.unacceptableStatus, "")
        let refused = refusal.adding(to: CompletedExchange(hop: try hop(503)), requestID: nil)
        #expect(machine.handle(.ended(refused)).pause != nil)
        _ = machine.handle(.waited)
        #expect(machine.handle(.responded(Self.head(500))).failure?.code == .unacceptableStatus)
    }

    @Test(
        "Network errors are retried, before and after the response; any other error ends the stream",
        arguments: [
            (.connectionRefused, true), (.nameLookup, true), (.timedOut, true), (.truncated, true), (.untrusted, false),
            (.cancelled, false), (.invalidURL, false), (.messageTooLarge, false), (.protocolViolation, false),
        ] as [(RequestError.Code, Bool)], [true, false])
    func errors(of code: (RequestError.Code, isRetried: Bool), isOpen: Bool) {
        var machine = machine()
        _ = machine.handle(.started)
        if isOpen { _ = machine.handle(.responded(Self.head())) }
        let error = RequestError(wrapping: RequestError(code.0, ""), as: code.0, stage: .sending)
        let action = machine.handle(.ended(error))
        #expect((action.pause != nil) == code.isRetried)
        #expect((action.failure?.code == code.0) == !code.isRetried)
    }

    @Test("Each successive failed connection doubles the pause and its jitter, up to a limit")
    func pauses() {
        var machine = machine {
            $0.reconnectionTime = .seconds(1)
            $0.maximumDelay = .seconds(10)
        }
        _ = machine.handle(.started)
        for seconds in [1.0, 2, 4, 8, 10, 10] {
            let action = machine.handle(.ended(Self.lost))
            #expect(action.pause == .seconds(seconds))
            #expect(action.jitter == .seconds(seconds * 0.25))
            _ = machine.handle(.waited)
        }
        // A response alone does not reset the count; a byte of its body does.
        _ = machine.handle(.responded(Self.head()))
        #expect(machine.handle(.ended(nil)).pause == .seconds(10))
        _ = machine.handle(.waited)
        _ = machine.handle(.responded(Self.head()))
        _ = machine.handle(.receivedBytes)
        #expect(machine.handle(.ended(nil)).pause == .seconds(1))
    }

    @Test("The number of successive attempts is limited, and the last error is the stream's", arguments: 0...3)
    func attempts(maximum: Int) {
        for last in [Self.lost, nil] {
            var machine = machine { $0.maximumAttempts = maximum }
            _ = machine.handle(.started)
            for _ in 0..<maximum {
                #expect(machine.handle(.ended(RequestError(.nameLookup, ""))).pause != nil)
                #expect(machine.handle(.waited).fields != nil)
            }
            let action = machine.handle(.ended(last))
            #expect(action.isFinish)
            #expect(action.failure?.code == last?.code)
        }
    }

    @Test("Late events of a released connection are ignored, and the stream can be refused another connection")
    func waiting() {
        var machine = machine()
        _ = machine.handle(.started)
        #expect(machine.handle(.ended(nil)).pause == .seconds(3))
        for event in [.responded(Self.head(404)), .receivedBytes, .ended(Self.lost)] as [Machine.Event] {
            #expect(machine.handle(event).isNone)
        }
        #expect(machine.handle(.refused(RequestError(.bodyNotReplayable, ""))).failure?.code == .bodyNotReplayable)
        #expect(machine.state.failure?.code == .bodyNotReplayable)
    }

    @Test("A cancelled stream ends without an error in every phase, and ignores later events", arguments: 0...4)
    func cancelling(step: Int) {
        var machine = machine()
        let way: [Machine.Event] = [.started, .responded(Self.head()), .ended(nil), .waited]
        for event in way.prefix(step) { _ = machine.handle(event) }
        let action = machine.handle(.cancelled)
        #expect(action.isFinish && action.failure == nil)
        for event in way + [.refused(Self.lost), .receivedBytes, .cancelled] {
            #expect(machine.handle(event).isNone)
            #expect(!machine.state.isConnecting && !machine.state.isOpen)
        }
    }

    @Test("Unexpected events are ignored")
    func outOfTurn() {
        var machine = machine()
        for event in [.waited, .responded(Self.head()), .ended(nil), .receivedBytes] as [Machine.Event] {
            #expect(machine.handle(event).isNone)
        }
        #expect(machine.handle(.started).fields != nil)
        for event in [.started, .waited, .receivedBytes] as [Machine.Event] { #expect(machine.handle(event).isNone) }
        #expect(machine.handle(.responded(Self.head())).isRead)
        for event in [.started, .waited, .responded(Self.head(500))] as [Machine.Event] {
            #expect(machine.handle(event).isNone)
        }
        #expect(machine.state.isOpen)
    }
}

extension ServerSentEventsReconnection.Action {
    fileprivate var fields: HTTPHeaders? { if case .connect(let fields) = self { fields } else { nil } }
    fileprivate var pause: Duration? { if case .wait(let pauses) = self { pauses.lowerBound } else { nil } }
    fileprivate var jitter: Duration? {
        if case .wait(let pauses) = self { pauses.upperBound - pauses.lowerBound } else { nil }
    }
    fileprivate var failure: RequestError? { if case .finish(let error) = self { error } else { nil } }
    fileprivate var isRead: Bool { if case .read = self { true } else { false } }
    fileprivate var isFinish: Bool { if case .finish = self { true } else { false } }
    fileprivate var isNone: Bool { if case .none = self { true } else { false } }
}

extension ServerSentEventsState {
    fileprivate var isConnecting: Bool { if case .connecting = self { true } else { false } }
    fileprivate var isOpen: Bool { if case .open = self { true } else { false } }
    fileprivate var failure: RequestError? { if case .closed(let error) = self { error } else { nil } }
}
