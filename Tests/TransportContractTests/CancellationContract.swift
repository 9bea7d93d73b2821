import Larkspur
import TestSupport
import Testing

extension TransportContractTests {
    @Suite("Cancelling", .limited)
    struct Cancelling {}
}

extension TransportContractTests.Cancelling {
    @Test("T12: cancel() before the start ends the task as cancelled and sends nothing", arguments: ContractSubject.all)
    func beforeStart(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let exchange = try stage.exchange(.response(), method: "POST", body: .data(Data([1, 2, 3])))
        exchange.task.cancel()
        let trace = try await exchange.finished()
        try await stage.settle()
        #expect(trace.failure == .cancelled)
        #expect(exchange.requests.isEmpty)
        #expect(exchange.trace.audit(wasResumed: false) == [])
    }

    /// The phase of a task when it is cancelled.
    enum Phase: String, CaseIterable {
        case beforeHead, afterHead, inBody, atGate, suspended, allowanceUsedUp
    }

    @Test(
        "T12: cancel() after the start ends the task as cancelled in every phase", arguments: ContractSubject.all,
        Phase.allCases)
    func afterStart(subject: ContractSubject, phase: Phase) async throws {
        let stage = try await Stage(subject)
        let (gate, body) = (Gate(), stage.body(buffers: 8))
        let head = PeerStep.head(length: body.count)
        let script: [PeerStep] =
            switch phase {
            case .beforeHead: [.stall]
            case .afterHead: [head, .stall]
            case .inBody: [head, .bytes(Array(body[..<5])), .stall]
            case .atGate: [.wait(gate), head, .bytes(body)]
            case .suspended, .allowanceUsedUp: [head, .bytes(body)]
            }
        let delegate = RecordingDelegate { event, task in
            if phase == .suspended, case .head = event { task.suspend() }
        }
        let exchange = try stage.exchange(
            script, allowance: phase == .allowanceUsedUp ? 0 : .max, delegate: delegate)
        exchange.task.resume()
        switch phase {
        case .beforeHead: try await stage.settle()
        case .atGate: try await gate.reached()
        case .inBody: try await exchange.wait { $0.bodyCount == 5 }
        case .afterHead, .suspended, .allowanceUsedUp: try await exchange.wait { !$0.heads.isEmpty }
        }
        exchange.task.cancel()
        let trace = try await exchange.finished()
        gate.open()
        try await stage.settle()
        #expect(trace.failure == .cancelled)
        #expect(exchange.trace.audit() == [])
    }

    @Test(
        "T12: cancel() from inside received ends the task as cancelled", arguments: ContractSubject.all,
        ["head", "body", "bodySent"])
    func fromInside(subject: ContractSubject, name: String) async throws {
        let stage = try await Stage(subject)
        let (gate, body) = (Gate(), stage.body(buffers: 8))
        let script: [PeerStep] = [.head(length: body.count + 1), .bytes(body), .stall]
        let exchange = try stage.exchange(script, body: .data(Data([UInt8].pattern(10)))) { event, task in
            guard Trace.What.event(event).name == name else { return }
            task.cancel()
            task.cancel()
            gate.open()
        }
        exchange.task.resume()
        try await gate.opened()
        let trace = try await exchange.finished()
        #expect(trace.failure == .cancelled)
        #expect(trace.audit() == [])
    }

    @Test(
        "T12: cancel() from inside the head ends the task as cancelled, though the whole response has come",
        arguments: ContractSubject.all)
    func insideTheHead(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let exchange = try stage.exchange(.response(body: .pattern(2))) { event, task in
            if case .head = event { task.cancel() }
        }
        exchange.task.resume()
        let trace = try await exchange.finished()
        #expect(trace.failure == .cancelled)
        #expect(trace.audit() == [])
    }

    @Test("T13: cancel() racing a start has one outcome, and one completion", arguments: ContractSubject.all)
    func racingTheStart(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let body = [UInt8].pattern(40)
        for _ in 0..<300 {
            let exchange = try stage.exchange(.response(body: body), delegate: RecordingDelegate { _, _ in })
            await concurrently([{ exchange.task.resume() }, { exchange.task.cancel() }])
            let trace = try await exchange.finished()
            Self.checkOutcome(trace, body)
            // Only the transport knows which of the two came first.
            #expect(trace.audit(wasResumed: !trace.metrics.isEmpty) == [])
            if trace.metrics.isEmpty {
                #expect(exchange.requests.isEmpty)
                #expect(trace.events.count == 1)
            }
        }
    }

    @Test(
        "T13: cancel() racing the end has one of two outcomes, and one completion", arguments: ContractSubject.all,
        [1, 3])
    func racingTheEnd(subject: ContractSubject, cancellers: Int) async throws {
        let stage = try await Stage(subject)
        let body = [UInt8].pattern(40)
        for _ in 0..<200 {
            let gate = Gate()
            let exchange = try stage.exchange(.response(body, after: gate), delegate: RecordingDelegate { _, _ in })
            exchange.task.resume()
            let cancels = Array(repeating: { @Sendable in exchange.task.cancel() }, count: cancellers)
            await concurrently([{ gate.open() }] + cancels)
            let trace = try await exchange.finished()
            Self.checkOutcome(trace, body)
            #expect(trace.audit() == [])
        }
    }

    @Test("T13: cancel() racing a failure has one of two outcomes, and one completion", arguments: ContractSubject.all)
    func racingAFailure(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        for _ in 0..<200 {
            let gate = Gate()
            let script: [PeerStep] = [.head(length: 40), .bytes(.pattern(20)), .wait(gate), .close]
            let exchange = try stage.exchange(script, delegate: RecordingDelegate { _, _ in })
            exchange.task.resume()
            await concurrently([{ gate.open() }, { exchange.task.cancel() }])
            let trace = try await exchange.finished()
            #expect(trace.failure == .truncated || trace.failure == .cancelled)
            #expect(trace.audit() == [])
        }
    }

    /// The cancel comes when the peer's pause has just begun: at that moment two threads could both end the task.
    @Test("T13: cancel() racing a pause of the peer has one completion", arguments: ContractSubject.all)
    func racingAPause(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        for _ in 0..<300 {
            let script: [PeerStep] = (0..<8).flatMap { _ in [PeerStep.wait(.opened), .interim(103, [])] }
            let exchange = try stage.exchange(
                script + .response(body: .pattern(8)), delegate: RecordingDelegate { _, _ in })
            exchange.task.resume()
            await concurrently([{ exchange.task.resume() }, { exchange.task.cancel() }])
            let trace = try await exchange.finished()
            Self.checkOutcome(trace, .pattern(8))
            #expect(trace.audit() == [])
        }
    }

    @Test("T13: cancel() from inside metrics has one of two outcomes", arguments: ContractSubject.all)
    func insideMetrics(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let exchange = try stage.exchange(.response(body: .pattern(40))) { event, task in
            if case .metrics = event { task.cancel() }
        }
        let trace = try await exchange.run()
        Self.checkOutcome(trace, .pattern(40))
        #expect(trace.audit() == [])
    }

    private static func checkOutcome(_ trace: Trace, _ body: [UInt8]) {
        if trace.isSuccess {
            #expect(trace.body == body)
        } else {
            #expect(trace.failure == .cancelled)
            #expect(body.starts(with: trace.body.array))
        }
    }

    @Test("T14: resume() after cancel() changes nothing", arguments: ContractSubject.all)
    func resumedAfterCancel(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let never = try stage.exchange(.response())
        never.task.cancel()
        let stalled = try stage.exchange([.head(length: 9), .bytes(.pattern(4)), .stall])
        stalled.task.resume()
        try await stalled.wait { $0.bodyCount == 4 }
        stalled.task.suspend()
        stalled.task.cancel()
        for exchange in [never, stalled] {
            for _ in 0..<3 { exchange.task.resume() }
            try await exchange.finished()
        }
        try await stage.settle()
        #expect(never.requests.isEmpty)
        #expect(never.trace.failure == .cancelled)
        #expect(never.trace.audit(wasResumed: false) == [])
        #expect(stalled.trace.failure == .cancelled)
        #expect(stalled.trace.audit() == [])
    }

    @Test(
        "T14: no member changes anything after the end", arguments: ContractSubject.all,
        [[PeerStep].response(body: .pattern(40)), [.head(length: 40), .close]])
    func afterTheEnd(subject: ContractSubject, script: [PeerStep]) async throws {
        let stage = try await Stage(subject)
        let exchange = try stage.exchange(script) { event, task in
            if case .completed = event { Self.useEverything(task) }
        }
        let count = try await exchange.run().events.count
        Self.useEverything(exchange.task)
        await concurrently(Array(repeating: { Self.useEverything(exchange.task) }, count: 4))
        try await stage.settle()
        #expect(exchange.trace.events.count == count)
        #expect(exchange.requests.count == 1)
        #expect(exchange.trace.audit() == [])
    }

    private static func useEverything(_ task: any TransportTask) {
        task.suspend()
        task.allow(upTo: 3)
        task.resume()
        task.allow(upTo: .max)
        task.cancel()
        task.resume()
    }
}
