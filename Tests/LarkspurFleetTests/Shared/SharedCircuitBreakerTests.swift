import Foundation
import Larkspur
import LarkspurAnnex
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurFleet

@Suite("Circuits that processes share", .limited)
struct SharedCircuitBreakerTests {
    @Test(
        "A circuit opens in all processes, one of them sends the probe, and all close",
        arguments: TestedStore.Kind.allCases)
    func success(kind: TestedStore.Kind) async throws {
        let fleet = try CircuitFleet(kind)
        let processes = [await fleet.process(), await fleet.process(), await fleet.process()]
        await fleet.open(processes[0])
        try await fleet.settle(processes[0], processes[1], processes[2])
        #expect(processes.allSatisfy { $0.isOpen() })
        #expect(await processes[1].get() == "circuitOpen")
        fleet.advance(by: CircuitFleet.pause)
        fleet.answer.withLock { $0 = StubAnswer([.wait(.seconds(1))] + StubAnswer.text("ok").steps) }
        async let probe = processes[1].get()
        await poll { fleet.sent.withLock { $0 } == 3 }
        for process in processes { #expect(await process.get() == "circuitOpen") }
        #expect(processes[2].state() == .open(CircuitFleet.pause / 8), "it waits for the outcome of the probe")
        await poll {
            fleet.advance(by: .milliseconds(100))
            return processes[1].state() == .closed
        }
        #expect(await probe == "200")
        try await fleet.settle(processes[0], processes[1], processes[2])
        #expect(processes.allSatisfy { $0.state() == .closed })
        #expect(fleet.sent.withLock { $0 } == 3)
        fleet.answer.withLock { $0 = .text("ok") }
        for process in processes { #expect(await process.get() == "200") }
    }

    @Test("If the probe fails, all circuits stay open for another pause", arguments: TestedStore.Kind.allCases)
    func failure(kind: TestedStore.Kind) async throws {
        let fleet = try CircuitFleet(kind)
        let processes = [await fleet.process(), await fleet.process(), await fleet.process()]
        await fleet.open(processes[0])
        try await fleet.settle(processes[0], processes[1], processes[2])
        for _ in 0..<3 {
            fleet.advance(by: CircuitFleet.pause + .seconds(1))
            let sent = fleet.sent.withLock { $0 }
            #expect(await processes[1].get() == "503")
            try await fleet.settle(processes[0], processes[1], processes[2])
            #expect(processes.allSatisfy { $0.state() == .open(CircuitFleet.pause) })
            for process in processes { #expect(await process.get() == "circuitOpen") }
            #expect(fleet.sent.withLock { $0 } == sent + 1)
        }
    }

    @Test("If the process that sends the probe is killed, another one sends a probe after a pause")
    func holderDies() async throws {
        let fleet = try CircuitFleet()
        let (killed, other) = (await fleet.process(), await fleet.process())
        await fleet.open(killed)
        try await fleet.settle(killed, other)
        fleet.advance(by: CircuitFleet.pause)
        fleet.answer.withLock { $0 = StubAnswer([.stall]) }
        let probe = Task { await killed.get() }
        await poll { fleet.sent.withLock { $0 } == 3 }
        fleet.answer.withLock { $0 = .text("ok") }
        #expect(await other.get() == "circuitOpen")
        fleet.advance(by: CircuitFleet.pause - .seconds(1))
        #expect(await other.get() == "circuitOpen")
        fleet.advance(by: CircuitFleet.pause / 8)
        #expect(await other.get() == "200")
        try await fleet.settle(killed, other)
        #expect(killed.state() == .closed)
        probe.cancel()
        _ = await probe.value
        try await fleet.settle(killed, other)
        #expect(killed.state() == .closed && other.state() == .closed)
    }

    @Test("A probe that does not end is followed by another one of the same process, under the same lease")
    func hangingProbes() async throws {
        let fleet = try CircuitFleet()
        let (process, other) = (await fleet.process(), await fleet.process())
        await fleet.open(process)
        try await fleet.settle(process, other)
        fleet.answer.withLock { $0 = StubAnswer([.stall]) }
        var probes: [Task<String, Never>] = []
        for count in 3...5 {
            fleet.advance(by: CircuitFleet.pause)
            probes.append(Task { await process.get() })
            await poll { fleet.sent.withLock { $0 } == count }
            #expect(await other.get() == "circuitOpen")
        }
        for probe in probes { probe.cancel() }
        for probe in probes { _ = await probe.value }
    }

    @Test("A cancelled probe gives up its lease: another process sends a probe at once")
    func cancelledProbe() async throws {
        let fleet = try CircuitFleet()
        let store = RecordingStore(fleet.tested.store)
        let (process, other) = (await fleet.process(store), await fleet.process(store))
        await fleet.open(process)
        try await fleet.settle(process, other)
        let probe = await fleet.startProbe(process)
        probe.cancel()
        _ = await probe.value
        await poll { store.record.releases == 1 }
        fleet.answer.withLock { $0 = .text("ok") }
        #expect(await other.get() == "200")
        try await fleet.settle(process, other)
        #expect(process.state() == .closed)
    }

    @Test("A process that was refused while another one probed tries again soon, not after a whole pause")
    func refusedMeanwhile() async throws {
        let fleet = try CircuitFleet()
        let store = RecordingStore(fleet.tested.store)
        let (process, other) = (await fleet.process(store), await fleet.process(store))
        await fleet.open(process)
        try await fleet.settle(process, other)
        let probe = await fleet.startProbe(process)
        #expect(await other.get() == "circuitOpen")
        probe.cancel()
        _ = await probe.value
        await poll { store.record.releases == 1 }
        fleet.answer.withLock { $0 = .text("ok") }
        #expect(await other.get() == "circuitOpen")
        fleet.advance(by: CircuitFleet.pause / 8)
        #expect(await other.get() == "200")
    }

    @Test("A circuit that was closed by hand and opens again opens in all processes again")
    func reopened() async throws {
        let fleet = try CircuitFleet()
        let (process, other) = (await fleet.process(), await fleet.process())
        await fleet.open(process)
        try await fleet.settle(process, other)
        for process in [process, other] { process.breaker.breaker.close("http://h") }
        fleet.answer.withLock { $0 = .text("ok") }
        #expect(await process.get() == "200")
        #expect(await other.get() == "200")
        fleet.answer.withLock { $0 = .text("no", status: 503) }
        for _ in 0..<4 where !process.isOpen() { #expect(await process.get() == "503") }
        await poll { other.isOpen() }
    }

    @Test("A breaker that needs two probes closes the circuits after the second one")
    func severalProbes() async throws {
        let fleet = try CircuitFleet()
        let (process, other) = (await fleet.process(probes: 2), await fleet.process(probes: 2))
        await fleet.open(process)
        try await fleet.settle(process, other)
        fleet.advance(by: CircuitFleet.pause)
        fleet.answer.withLock { $0 = .text("ok") }
        #expect(await process.get() == "200")
        #expect(process.state() == .halfOpen && other.isOpen())
        #expect(await process.get() == "200")
        try await fleet.settle(process, other)
        #expect(process.state() == .closed && other.state() == .closed)
    }

    @Test("Probes that begin while the store is asked wait for its answer")
    func probesWhileAsking() async throws {
        let fleet = try CircuitFleet()
        let store = GatedStore(fleet.tested.store)
        store.gate.open()
        let (process, other) = (await fleet.process(store, probes: 2), await fleet.process(probes: 2))
        await fleet.open(process)
        try await fleet.settle(process, other)
        let probe = await fleet.startProbe(other)
        store.holdsLeases.withLock { $0 = true }
        let first = Task { await process.get() }
        await store.leases.arrived()
        async let second = process.get()
        store.leases.open()
        #expect(await first.value == "circuitOpen")
        #expect(await second == "circuitOpen")
        probe.cancel()
        _ = await probe.value
    }

    @Test("A process that starts later opens the circuits that are open")
    func lateProcess() async throws {
        let fleet = try CircuitFleet()
        let first = await fleet.process()
        await fleet.open(first)
        // Without an owner, the breaker would not store the change.
        try await fleet.settle(first)
        #expect(try await fleet.entries.count == 1)
        let late = await fleet.process()
        try await fleet.settle(late)
        #expect(await late.get() == "circuitOpen")
    }

    @Test("While no circuit changes, the store is not used; names and values show only the origin")
    func idle() async throws {
        let fleet = try CircuitFleet()
        let store = RecordingStore(fleet.tested.store)
        let process = await fleet.process(store)
        await poll { store.record.reads == 1 }
        fleet.answer.withLock { $0 = .text("ok") }
        for _ in 0..<20 { #expect(await process.get() == "200") }
        #expect(store.record.reads == 1 && store.record.values.isEmpty && store.record.leases == 0)
        fleet.answer.withLock { $0 = .text("no", status: 500) }
        for _ in 0..<20 { _ = await process.get("http://user:secret@h/path?secret=1#") }
        await poll { store.record.lifetimes["circuits"] != nil }
        #expect(try await fleet.entries.map(\.origin) == ["http://h"])
        #expect(store.record.lifetimes["circuits"] == CircuitFleet.pause * 3)
    }

    @Test("The tasks of a breaker end with it")
    func ends() async throws {
        let fleet = try CircuitFleet()
        let store = GatedStore(fleet.tested.store)
        weak var breaker: SharedCircuitBreaker?
        do {
            let process = await fleet.process(store)
            breaker = process.breaker
            store.gate.open()
            await fleet.open(process)
            try await poll { try await fleet.entries.count == 1 }
        }
        await poll { breaker == nil && store.endedWatches.withLock { $0 } == 1 }
    }
}
