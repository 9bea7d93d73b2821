import Foundation
import Larkspur
import LarkspurAnnex
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurFleet

@Suite("Faults of circuits that processes share", .limited)
struct SharedCircuitFaultTests {
    @Test("While the store fails, each process goes on with its own circuits")
    func storeFails() async throws {
        let fleet = try CircuitFleet()
        let store = FailingStore(fleet.tested.store, failures: .max)
        let (process, other) = (await fleet.process(store), await fleet.process(store))
        await fleet.open(process)
        #expect(await process.get() == "circuitOpen")
        #expect(await other.get() == "503")
        fleet.answer.withLock { $0 = .text("ok") }
        fleet.advance(by: CircuitFleet.pause)
        #expect(await process.get() == "200")
        #expect(process.state() == .closed && other.state() == .closed)
        // The store is used again.
        await poll { process.breaker.state.withLock { $0.pending.isEmpty } }
        store.failNext(0)
        fleet.answer.withLock { $0 = .text("no", status: 503) }
        await fleet.open(process)
        await poll { other.isOpen() }
    }

    @Test("A process that alone cannot reach the server opens all circuits, and another one's probe closes them")
    func isolatedProcess() async throws {
        let fleet = try CircuitFleet()
        let (isolated, other) = (await fleet.process(), await fleet.process())
        for _ in 0..<3 {
            fleet.answer.withLock { $0 = .text("no", status: 503) }
            await fleet.open(isolated)
            try await fleet.settle(isolated, other)
            #expect(await other.get() == "circuitOpen")
            fleet.advance(by: CircuitFleet.pause)
            fleet.answer.withLock { $0 = .text("ok") }
            #expect(await other.get() == "200")
            try await fleet.settle(isolated, other)
            #expect(isolated.state() == .closed && other.state() == .closed)
        }
    }

    @Test(
        "If the store loses its data, the circuits stay as they are, and later changes are shared",
        arguments: TestedStore.Kind.allCases)
    func lostData(kind: TestedStore.Kind) async throws {
        let fleet = try CircuitFleet(kind)
        let (process, other) = (await fleet.process(), await fleet.process())
        await fleet.open(process)
        try await fleet.settle(process, other)
        try await fleet.tested.store.removeValue(for: "circuits")
        try await fleet.settle(process, other)
        #expect(try await fleet.entries.isEmpty)
        for process in [process, other] { #expect(await process.get() == "circuitOpen") }
        fleet.advance(by: CircuitFleet.pause)
        fleet.answer.withLock { $0 = .text("ok") }
        #expect(await other.get() == "200")
        try await fleet.settle(process, other)
        #expect(process.state() == .closed && other.state() == .closed)
    }

    @Test("A change that could not be stored is not stored later")
    func droppedChange() async throws {
        let fleet = try CircuitFleet()
        let store = RecordingStore(FailingStore(fleet.tested.store, failures: 2))
        let (process, other) = (await fleet.process(store), await fleet.process(minimumCount: 1))
        await poll { store.record.reads == 1 }
        await fleet.open(process)
        await poll { store.record.reads == 2 }
        #expect(await other.get("http://other") == "503")
        await poll { process.isOpen("http://other") }
        for _ in 0..<2 { #expect(await process.get("http://third") == "503") }
        await poll { other.isOpen("http://third") }
        #expect(try await fleet.entries.map(\.origin) == ["http://other", "http://third"])
        #expect(process.isOpen() && !other.isOpen())
    }

    @Test("A probe waits for a slow store at most for the timeout, and other requests do not wait")
    func slowStore() async throws {
        let fleet = try CircuitFleet()
        let store = SlowStore()
        let process = await fleet.process(store)
        await store.gate.arrived()
        await fleet.open(process)
        fleet.advance(by: CircuitFleet.pause)
        fleet.answer.withLock { $0 = .text("ok") }
        async let probe = process.get()
        await poll { fleet.clock.sleepers > 0 }
        #expect(await process.get() == "circuitOpen")
        #expect(fleet.sent.withLock { $0 } == 2)
        fleet.advance(by: .milliseconds(500))
        #expect(await probe == "200")
        #expect(process.state() == .closed)
        store.gate.open()
    }

    @Test("A change that is stored late does not open a circuit that has closed meanwhile")
    func lateChange() async throws {
        let fleet = try CircuitFleet()
        let slow = GatedStore(fleet.tested.store)
        let (late, other) = (await fleet.process(slow), await fleet.process())
        await fleet.open(late)
        await slow.gate.arrived()
        await fleet.open(other)
        try await fleet.settle(other)
        fleet.advance(by: CircuitFleet.pause)
        fleet.answer.withLock { $0 = .text("ok") }
        #expect(await other.get() == "200")
        try await fleet.settle(other)
        let entries = try await fleet.entries
        #expect(entries.map(\.isOpen) == [false])
        slow.gate.open()
        try await fleet.settle(late, other)
        #expect(late.state() == .closed)
        #expect(try await fleet.entries == entries)
        #expect(other.state() == .closed)
    }

    @Test("A change that is made while the store fails for an earlier one is stored")
    func changeDuringFailure() async throws {
        let fleet = try CircuitFleet()
        let failing = FailingStore(fleet.tested.store, failures: 0)
        let store = GatedStore(failing)
        let process = await fleet.process(store)
        await fleet.open(process)
        await store.gate.arrived()
        for _ in 0..<2 { #expect(await process.get("http://other") == "503") }
        #expect(process.isOpen("http://other"))
        failing.failNext(1)
        store.gate.open()
        try await poll { try await !fleet.entries.isEmpty }
        #expect(try await fleet.entries.map(\.origin) == ["http://other"])
    }

    @Test("A notice without news changes nothing, also if the circuit has changed without the store")
    func repeatedNotice() async throws {
        let fleet = try CircuitFleet()
        let store = FailingStore(fleet.tested.store, failures: 0)
        let recording = RecordingStore(store)
        let (process, other) = (await fleet.process(), await fleet.process(recording))
        await fleet.open(process)
        try await fleet.settle(process, other)
        // The probe of the other process closes its circuit, and the store does not learn of it.
        fleet.advance(by: CircuitFleet.pause)
        store.failNext(.max)
        fleet.answer.withLock { $0 = .text("ok") }
        let reads = recording.record.reads
        #expect(await other.get() == "200")
        await poll { recording.record.reads > reads }
        store.failNext(0)
        let value = try #require(try await fleet.tested.store.value(for: "circuits"))
        try await fleet.tested.store.set(value.data, for: "circuits")
        await poll { recording.record.reads > reads + 1 }
        #expect(await other.get() == "200")
        #expect(other.state() == .closed)
    }

    @Test("A list that is garbage, or has strange origins, is replaced", arguments: ["", "{}", "[1]", "[]", "x"])
    func garbage(text: String) async throws {
        let fleet = try CircuitFleet()
        try await fleet.tested.store.set(Data(text.utf8), for: "circuits")
        let (process, other) = (await fleet.process(), await fleet.process())
        await fleet.open(process)
        await poll { other.isOpen() }
        let strange = ["", "/", "http://", "::", "http://h"].enumerated().map {
            SharedCircuits.Entry(origin: $1, isOpen: $0 % 2 == 0, number: 7)
        }
        try await fleet.tested.store.set(JSONEncoder().encode(strange + strange), for: "circuits")
        let late = await fleet.process()
        await poll { late.isOpen() }
    }

    @Test("Of a thousand circuits that open, the latest are shared")
    func manyOrigins() async throws {
        let fleet = try CircuitFleet()
        let (process, other) = (await fleet.process(minimumCount: 1), await fleet.process())
        for number in 0..<1_000 {
            #expect(await process.get("http://h\(number)") == "503")
            guard number % 100 == 99 else { continue }
            try await poll { try await fleet.entries.contains { $0.origin == "http://h\(number)" } }
        }
        let entries = try await fleet.entries
        #expect(entries.count == SharedCircuits.limit)
        await poll { other.isOpen("http://h999") }
        for number in 0..<1_000 { #expect(await process.get("http://h\(number)") == "circuitOpen") }
        #expect(try await fleet.entries == entries, "a request that is refused changes nothing")
    }

    // MARK: The state

    private let ids: [RequestID]

    init() async {
        let session = Session(transport: StubTransport { _ in .text("ok") })
        var ids: [RequestID] = []
        for _ in 0..<3 { ids.append(await session.request("http://h/").id) }
        self.ids = ids
    }

    /// The state of a process, with the functions as a test calls them.
    private final class Model {
        private var circuits = SharedCircuits()
        private let origin: RequestURL.Origin

        init(_ origin: String = "http://h") throws { self.origin = try RequestURL(origin).origin }

        init(copy: Model) { (circuits, origin) = (copy.circuits, copy.origin) }

        var isIdle: Bool { circuits.isIdle }

        func begin(_ id: RequestID, at seconds: Int) -> (asks: Bool, earlier: StoreLease?) {
            var asked: (Bool, StoreLease?) = (false, nil)
            _ = circuits.beginProbe(id, to: origin, at: .seconds(seconds), pause: .seconds(10)) { earlier in
                asked = (true, earlier)
                return Task { true }
            }
            return asked
        }

        func endAsking(_ lease: StoreLease?) { circuits.endAsking(lease, for: origin) }

        func end(
            _ id: RequestID, _ state: CircuitBreaker.State, isRefused: Bool = false, of url: String? = nil
        ) -> (hasChange: Bool, lease: StoreLease?) {
            let origin = (try? url.map { try RequestURL($0).origin }) ?? origin
            return circuits.endRequest(id, to: origin, state, isRefused: isRefused)
        }

        func news(in entries: [SharedCircuits.Entry]) -> [SharedCircuits.Entry] { circuits.news(in: entries) }

        func didStore(_ entries: [SharedCircuits.Entry]) { circuits.didStore(entries) }

        func receive(_ entries: [SharedCircuits.Entry], at seconds: Int) -> [SharedCircuits.Entry]? {
            circuits.receive(entries, at: .seconds(seconds), keeping: .seconds(30))
        }
    }

    private static let lease = StoreLease(name: "l", number: 1, holder: 1)
    private static let open = CircuitBreaker.State.open(.seconds(10))

    private func opened() throws -> (Model, [SharedCircuits.Entry]) {
        let model = try Model()
        #expect(model.end(ids[0], Self.open).hasChange)
        let entries = try #require(model.receive([], at: 0))
        model.didStore(entries)
        #expect(model.receive(entries, at: 0) == nil)
        #expect(!model.end(ids[1], Self.open).hasChange, "it is stored already")
        return (model, entries)
    }

    @Test("The outcome of a probe that has lost its lease to another process is not stored", arguments: [true, false])
    func lostLease(isOpen: Bool) throws {
        var (model, entries) = try opened()
        #expect(model.begin(ids[1], at: 10).asks)
        model.endAsking(Self.lease)
        entries[0].number &+= 1
        #expect(model.news(in: entries) == entries)
        #expect(model.receive(entries, at: 11) == nil)
        #expect(!model.end(ids[1], isOpen ? Self.open : .closed).hasChange)
        #expect(model.isIdle)
    }

    @Test("A change that comes while an earlier one is being stored is stored after it")
    func quickChange() throws {
        let model = try Model()
        #expect(model.end(ids[0], Self.open).hasChange)
        let first = try #require(model.receive([], at: 0))
        #expect(model.begin(ids[1], at: 10).asks)
        #expect(model.end(ids[1], .closed).hasChange)
        model.didStore(first)
        #expect(model.receive(first, at: 11)?.map(\.isOpen) == [false])
    }

    @Test("Requests that end while a probe is in flight do not end its turn; after a failure, its lease is kept")
    func turns() throws {
        let (model, _) = try opened()
        #expect(model.begin(ids[1], at: 10).asks)
        model.endAsking(Self.lease)
        #expect(!model.begin(ids[2], at: 19).asks)
        #expect(model.end(ids[0], .halfOpen, isRefused: true).lease == nil)
        #expect(model.end(ids[1], .halfOpen).lease == nil)
        #expect(Model(copy: model).end(ids[2], .halfOpen).lease == Self.lease)
        #expect(Model(copy: model).end(ids[2], Self.open) == (true, nil))
        #expect(Model(copy: model).end(ids[2], .closed) == (true, Self.lease))
        #expect(model.begin(ids[0], at: 20) == (true, Self.lease))
        model.endAsking(nil)
        #expect(model.isIdle)
    }

    @Test("A request that an open circuit refuses is no news")
    func refused() throws {
        let model = try Model()
        #expect(!model.end(ids[0], Self.open, isRefused: true).hasChange)
        #expect(model.receive([], at: 0) == nil)
    }

    @Test("Entries without a change are removed with the next change after their age")
    func ages() throws {
        var (model, entries) = try opened()
        for (time, count) in [(29, 2), (30, 1)] {
            let copy = Model(copy: model)
            #expect(copy.end(ids[1], Self.open, of: "http://other").hasChange)
            #expect(copy.receive(entries, at: time)?.count == count)
        }
        entries[0].number &+= 1
        #expect(model.receive(entries, at: 20) == nil)
        #expect(model.end(ids[1], Self.open, of: "http://other").hasChange)
        #expect(model.receive(entries, at: 30)?.count == 2)
    }
}
