import Larkspur
import TestSupport
import Testing

extension TransportContractTests {
    @Suite("Events", .limited)
    struct Events {}
}

extension TransportContractTests.Events {
    /// The ways in which a hop can end without a cancel.
    enum Ending: String, CaseIterable {
        case whole, empty, undeclared, bodiless, redirect, noHead, truncated, cutShort, resetBeforeHead, resetInBody

        var script: [PeerStep] {
            switch self {
            case .whole: .response(body: .pattern(40))
            case .empty: .response()
            case .undeclared: [.head(), .bytes(.pattern(40))]
            case .bodiless: [.head(304, length: 40)]
            case .redirect: .response(302, [HTTPHeader(name: "Location", value: "/elsewhere")], body: .pattern(9))
            case .noHead: [.close]
            case .truncated: [.head(length: 40), .bytes(.pattern(39)), .close]
            case .cutShort: [.head(length: 40), .close]
            case .resetBeforeHead: [.reset]
            case .resetInBody: [.head(length: 40), .bytes(.pattern(20)), .reset]
            }
        }

        var isSuccess: Bool {
            switch self {
            case .whole, .empty, .undeclared, .bodiless, .redirect: true
            case .noHead, .truncated, .cutShort, .resetBeforeHead, .resetInBody: false
            }
        }

        var hasHead: Bool { self != .noHead && self != .resetBeforeHead }
    }

    @Test(
        "T4: a resumed task delivers completed exactly once, as its last event", arguments: ContractSubject.all,
        Ending.allCases)
    func completesOnce(subject: ContractSubject, ending: Ending) async throws {
        let stage = try await Stage(subject)
        let exchange = try stage.exchange(ending.script)
        try await exchange.run()
        try await stage.settle()
        #expect(exchange.trace.completions.count == 1)
        #expect(exchange.trace.isSuccess == ending.isSuccess)
        #expect(exchange.trace.audit() == [])
    }

    @Test("T4: a task cancelled before its start delivers completed and nothing else", arguments: ContractSubject.all)
    func cancelledBeforeStart(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let exchange = try stage.exchange(.response())
        exchange.task.cancel()
        try await exchange.finished()
        try await stage.settle()
        #expect(exchange.trace.events.count == 1)
        #expect(exchange.trace.audit(wasResumed: false) == [])
    }

    @Test("T4: a resumed task completes though the caller keeps no reference", arguments: ContractSubject.all)
    func completesUnowned(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let (gate, delegate) = (Gate(), RecordingDelegate())
        try stage.exchange(.response(.pattern(40), after: gate), delegate: delegate).task.resume()
        try await gate.reached()
        try await stage.settle()
        gate.open()
        let trace = try await delegate.wait { $0.isCompleted && $0.depth == 0 }
        #expect(trace.body == .pattern(40))
        #expect(trace.audit() == [])
    }

    @Test(
        "T5: events keep their order and never overlap while many threads control the task",
        arguments: ContractSubject.all)
    func steeredFromEverywhere(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let body = stage.body(buffers: 24)
        for _ in 0..<20 {
            let exchange = try stage.exchange(
                [.head(length: body.count), .bytes(body)], method: "POST", body: .data(Data([UInt8].pattern(20))),
                allowance: 0, delegate: RecordingDelegate { _, _ in })
            let step = subject.buffer
            await concurrently([
                { for _ in 0..<40 { exchange.task.resume() } },
                { for number in 0..<24 { exchange.task.allow(upTo: UInt64(number * step)) } },
                { for number in 0..<24 { exchange.task.allow(upTo: UInt64((24 - number) * step)) } },
                {
                    for _ in 0..<20 {
                        exchange.task.suspend()
                        exchange.task.resume()
                    }
                },
            ])
            exchange.task.allow(upTo: .max)
            let trace = try await exchange.run()
            #expect(trace.body == body)
            #expect(trace.audit() == [])
        }
    }

    /// A transport that continues on two threads after a pause would deliver two events at once.
    @Test("T5: events never overlap when a pause of the peer ends at once", arguments: ContractSubject.all)
    func pausesOfThePeer(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        for _ in 0..<100 {
            let gates = (0..<8).map { _ in Gate() }
            let script: [PeerStep] = [.head(length: 64)] + gates.flatMap { [.wait($0), .bytes(.pattern(8))] }
            let exchange = try stage.exchange(script, delegate: RecordingDelegate { _, _ in })
            await concurrently([{ exchange.task.resume() }, { for gate in gates { gate.open() } }])
            let trace = try await exchange.finished()
            #expect(trace.body == (0..<8).flatMap { _ in [UInt8].pattern(8) })
            #expect(trace.audit() == [])
        }
    }

    @Test("T27: an interim head is not a response: an end after it is a failure", arguments: ContractSubject.all)
    func onlyInterimHead(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let trace = try await stage.exchange([.interim(103, []), .close]).run()
        #expect(!trace.isSuccess)
        #expect(trace.audit() == [])
    }

    @Test(
        "T6: a success has exactly one head; a failure has the head that arrived, followed by its body bytes",
        arguments: ContractSubject.all, Ending.allCases)
    func heads(subject: ContractSubject, ending: Ending) async throws {
        let stage = try await Stage(subject)
        let trace = try await stage.exchange(ending.script).run()
        #expect(trace.isSuccess == ending.isSuccess)
        #expect(trace.heads.count <= 1)
        if ending.isSuccess { #expect(trace.heads.count == 1) }
        if !ending.hasHead { #expect(trace.heads.isEmpty) }
        #expect(trace.body == .pattern(trace.bodyCount))
        #expect(trace.audit() == [])
    }

    @Test(
        "T7: metrics come once, just before completed, and count what was delivered", arguments: ContractSubject.all,
        Ending.allCases)
    func metrics(subject: ContractSubject, ending: Ending) async throws {
        let stage = try await Stage(subject)
        let trace = try await stage.exchange(ending.script).run()
        #expect(trace.events.dropLast().last.map { if case .metrics = $0 { true } else { false } } == true)
        #expect(trace.metrics.map(\.responseBodyBytes) == [UInt64(trace.bodyCount)])
        #expect(trace.audit() == [])
    }

    @Test(
        "T4: bytes that are allowed while the transport is invalidated come before the end",
        arguments: ContractSubject.all)
    func lastBytes(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let body = stage.body(buffers: 8)
        let held = try stage.exchange([.head(length: body.count), .bytes(body)], allowance: 1)
        // The hop is posted to the transport again after all waiting hops are answered.
        let unstarted = try stage.exchange(.response()) { event, _ in
            if case .completed = event { held.task.suspend() }
        }
        let last = try stage.exchange([.stall])
        let trigger = try stage.exchange(.response()) { event, _ in
            guard case .completed = event else { return }
            held.task.allow(upTo: .max)
            unstarted.task.resume()
            unstarted.task.cancel()
            stage.peer.transport.invalidate()
        }
        held.task.resume()
        try await held.wait { $0.bodyCount > 0 }
        last.task.resume()
        try await stage.settle()
        trigger.task.resume()
        for exchange in [held, unstarted, last, trigger] { try await exchange.finished() }
        #expect(held.trace.audit() == [])
    }

    @Test("T7: metrics come also when a resumed task is cancelled or invalidated", arguments: ContractSubject.all)
    func metricsOfTheCancelled(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let exchanges = try (0..<3).map { _ in try stage.exchange([.head(length: 40), .stall]) }
        for exchange in exchanges.dropLast() {
            exchange.task.resume()
            try await exchange.wait { !$0.heads.isEmpty }
        }
        exchanges[0].task.cancel()
        stage.peer.transport.invalidate()
        exchanges[2].task.resume()
        for exchange in exchanges {
            let trace = try await exchange.finished()
            #expect(trace.metrics.count == 1)
            #expect(trace.audit() == [])
        }
    }
}
