import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore

/// The table of phases, written down a second time as what is allowed: anything else changes nothing.
@Suite("R3: one phase, one complete transition table", .limited)
struct RequestPhaseTests {
    typealias Entry = (RequestPhase, RequestPhase.Event, RequestPhase, RequestPhase.Verdict)

    static let moves: [Entry] = [
        (.idle, .start, .preparing, .run),
        (.preparing, .beginHop, .transferring, .proceed),
        (.settling, .beginHop, .transferring, .proceed),
        (.cancellingHop, .beginHop, .unwinding, .unwind),
        (.preparing, .settle, .settling, .proceed),
        (.transferring, .settle, .settling, .proceed),
        (.cancellingHop, .settle, .unwinding, .unwind),
        (.transferring, .receive, .receiving, .proceed),
        (.receiving, .settle, .settling, .proceed),
        (.receiving, .cancel, .unwinding, .takeOver),
        (.settling, .backOff, .backingOff, .proceed),
        (.settling, .prepare, .preparing, .proceed),
        (.backingOff, .prepare, .preparing, .proceed),
        (.idle, .cancel, .unwinding, .takeOver),
        (.preparing, .cancel, .unwinding, .takeOver),
        (.settling, .cancel, .unwinding, .takeOver),
        (.backingOff, .cancel, .unwinding, .takeOver),
        (.transferring, .cancel, .cancellingHop, .cancelHop),
        (.settling, .finish, .finished, .proceed),
        (.unwinding, .finishUnwinding, .finished, .proceed),
    ]

    @Test("R3: an event moves the request exactly where the table says", arguments: moves)
    func move(_ entry: Entry) {
        let (next, verdict) = entry.0.receiving(entry.1)
        #expect(next == entry.2)
        #expect(verdict == entry.3)
    }

    @Test(
        "R3: every other event leaves the phase as it is", arguments: RequestPhase.allCases, RequestPhase.Event.allCases
    )
    func others(_ phase: RequestPhase, _ event: RequestPhase.Event) {
        guard !Self.moves.contains(where: { $0.0 == phase && $0.1 == event }) else { return }
        let (next, verdict) = phase.receiving(event)
        #expect(next == phase)
        #expect([.ignore, .abandon, .illegal].contains(verdict))
    }

    @Test("R3: users' events are legal in every phase", arguments: RequestPhase.allCases)
    func users(_ phase: RequestPhase) {
        #expect(phase.receiving(.start).verdict != .illegal)
        #expect(phase.receiving(.cancel).verdict != .illegal)
    }

    @Test("R3: once the request unwinds, the pipeline is told to give up", arguments: RequestPhase.Event.allCases)
    func abandoned(_ event: RequestPhase.Event) {
        guard ![.start, .cancel, .receive, .finishUnwinding].contains(event) else { return }
        #expect(RequestPhase.unwinding.receiving(event).verdict == .abandon)
        #expect(RequestPhase.finished.receiving(event).verdict == .abandon)
    }

    @Test("R3: a finished request stays finished", arguments: RequestPhase.Event.allCases)
    func finished(_ event: RequestPhase.Event) {
        #expect(RequestPhase.finished.receiving(event).next == .finished)
    }
}
