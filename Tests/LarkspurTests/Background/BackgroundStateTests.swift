import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurTransfers

@Suite("The state of a background transfer", .limited)
struct BackgroundStateTests {
    private typealias State = BackgroundTransferState

    private let stops = Counter()

    private func state(isPaused: Bool = false) throws -> State {
        let rules = try BackgroundRecord.Download(.file(URL(fileURLWithPath: "/a")), [])
        var record = try BackgroundRecord(OutgoingRequest("https://h/"), kind: .download(rules), tag: nil)
        record.isPaused = isPaused
        return State(record)
    }

    private func running() throws -> State {
        var state = try state()
        _ = state.beginRun()
        let stops = stops
        _ = state.setStop { stops.increment() }
        return state
    }

    private let response = BackgroundTransfer.Response(head: ResponseHead(status: 200), fileURL: nil, data: nil)

    private func name(_ action: State.Action) -> String {
        switch action {
        case .runAgain: "again"
        case .savePause: "pause"
        case .saveOutcome(.success): "success"
        case .saveOutcome(.failure(let error)): error.code.rawValue
        case .discard: "discard"
        case .close: "close"
        }
    }

    @Test("The caller's last wish and the end of the run decide what follows")
    func table() throws {
        let lost = RequestError(.connectionLost, "")
        let ends: [State.End] = [.done(response), .failed(.requestCancelled), .failed(lost)]
        let rows: [([State.Wish], [String])] = [
            ([], ["success", "cancelled", "connectionLost"]),
            ([.pause], ["success", "pause", "connectionLost"]),
            ([.pause, .run], ["success", "again", "connectionLost"]),
            ([.cancel], ["discard", "discard", "discard"]),
            ([.pause, .cancel], ["discard", "discard", "discard"]),
            ([.cancel, .run], ["discard", "discard", "discard"]),
            ([.close], ["success", "close", "close"]),
            ([.close, .run], ["success", "close", "close"]),
            ([.close, .cancel], ["discard", "discard", "discard"]),
        ]
        for (wishes, expected) in rows {
            for (end, action) in zip(ends, expected) {
                var state = try running()
                for wish in wishes { state.ask(wish).stop?() }
                let next = state.end(end)
                #expect(name(next) == action, "\(wishes) \(end)")
            }
        }
        #expect(stops.value == 8 * 3)  // the request in flight is cancelled once
    }

    @Test("A request that begins after the caller's wish is cancelled at once")
    func late() throws {
        var state = try state()
        let (run, effect, isStored) = (state.beginRun(), state.ask(.pause), state.setStop {})
        #expect(run != nil && effect.stop == nil && !isStored)
        var other = try self.state()
        _ = other.ask(.cancel)
        let (none, action) = (other.beginRun(), other.end(.skipped))
        #expect(none == nil && name(action) == "discard")
    }

    @Test("A paused transfer starts when it is resumed or cancelled, and only then")
    func paused() throws {
        for (wish, starts) in [(State.Wish.run, true), (.cancel, true), (.pause, false), (.close, false)] {
            var state = try state(isPaused: true)
            #expect(!state.isRunning)
            let effect = state.ask(wish)
            #expect(effect.starts == starts)
            #expect(state.isRunning == starts)
        }
    }

    @Test("A resume while the pause is written continues the transfer")
    func resumedEarly() throws {
        var state = try running()
        _ = state.ask(.pause)
        let action = state.end(.failed(.requestCancelled))
        #expect(name(action) == "pause")
        let (effect, isPaused) = (state.ask(.run), state.didPause())
        #expect(!effect.starts && !isPaused && state.isRunning)
    }

    @Test("After its end a transfer does not change")
    func ended() throws {
        for phase in [State.Phase.finished(.success(response)), .cancelled, .closed] {
            for wish in [State.Wish.run, .pause, .cancel, .close] {
                var state = try running()
                _ = state.finish(phase)
                let effect = state.ask(wish)
                #expect(!effect.starts && effect.stop == nil && !state.isRunning)
            }
        }
    }

    @Test("The app is done when all events were reported and all outcomes are on disk, in any order")
    func gate() {
        let (one, two) = (UUID(), UUID())
        var gate = BackgroundEventGate()
        var answers = [gate.didSettle(one)]
        gate.didEnd(one)
        gate.didEnd(two)
        answers += [gate.didReportAll(), gate.didSettle(two), gate.didSettle(one), gate.didSettle(one)]
        #expect(answers == [false, false, false, true, false])
        answers = [gate.didReportAll()]
        gate.didEnd(one)
        answers += [gate.didSettle(one), gate.didReportAll()]
        #expect(answers == [true, false, true])
    }

    @Test("Slots are given in order, and a withdrawn transfer gets none", .limited)
    func slots() async {
        let slots = BackgroundSlots(1)
        let ids = (0..<4).map { _ in UUID() }
        for id in ids { slots.enter(id) }
        #expect(await slots.wait(ids[0]))
        slots.withdraw(ids[0])  // too late
        slots.withdraw(ids[1])
        #expect(await slots.wait(ids[1]) == false)
        let second = Task { await slots.wait(ids[2]) }
        slots.leave(ids[0])
        #expect(await second.value)
        slots.leave(ids[2])
        #expect(await slots.wait(ids[3]))
        slots.leave(ids[3])
        slots.enter(ids[1])
        #expect(await slots.wait(ids[1]))
    }

    @MainActor
    @Test("The app delegate's handlers are called once, whether they come before or after the events")
    func handlers() {
        var handlers = BackgroundEventHandlers()
        var calls: [String] = []
        var ready = handlers.add({ calls.append("a") }, of: "one") + handlers.add({ calls.append("b") }, of: "one")
        #expect(ready.isEmpty)
        for handler in handlers.take(of: "one") { handler() }
        #expect(calls == ["a", "b"])
        ready = handlers.take(of: "two") + handlers.add({ calls.append("c") }, of: "two")
        for handler in ready { handler() }
        #expect(calls == ["a", "b", "c"])
        ready = handlers.add({}, of: "two")
        #expect(ready.isEmpty)
    }
}
