import Larkspur
import TestSupport
import Testing

extension TransportContractTests {
    @Suite("Lifetime", .limited)
    struct Lifetime {}
}

extension TransportContractTests.Lifetime {
    /// The event that ends the task whose delegate is watched.
    enum End: String, CaseIterable {
        case success, failure, cancelled, cancelledBeforeStart, invalidated, resumedAfterInvalidation
    }

    @Test(
        "T21: a task keeps its delegate until it has delivered completed, and releases it then",
        arguments: ContractSubject.all, End.allCases)
    func delegate(subject: ContractSubject, end: End) async throws {
        let stage = try await Stage(subject)
        let (released, completed, gate) = (Gate(), Gate(), Gate())
        let script: [PeerStep] =
            switch end {
            case .success: .response(.pattern(40), after: gate)
            case .failure: [.head(length: 40), .wait(gate), .close]
            case .cancelled, .cancelledBeforeStart, .invalidated, .resumedAfterInvalidation: [.wait(gate), .stall]
            }
        let (task, watched) = try Self.make(stage, script, released, completed)
        if end != .cancelledBeforeStart, end != .resumedAfterInvalidation {
            task.resume()
            try await gate.reached()
            try await stage.settle()
        }
        #expect(watched.delegate != nil)

        switch end {
        case .success, .failure: gate.open()
        case .cancelled, .cancelledBeforeStart: task.cancel()
        case .invalidated: stage.peer.transport.invalidate()
        case .resumedAfterInvalidation:
            stage.peer.transport.invalidate()
            task.resume()
        }
        try await completed.opened()
        try await released.opened()
        #expect(watched.delegate == nil)
        task.resume()  // the task itself is still referenced
    }

    @Test("T21: a task that is released before its start releases its delegate", arguments: ContractSubject.all)
    func neverStarted(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let released = Gate()
        _ = try stage.exchange(.response(), delegate: RecordingDelegate(released: released))
        try await released.opened()
        withExtendedLifetime(stage) {}
    }

    private struct Watched {
        weak var delegate: RecordingDelegate?
    }

    /// Makes a task whose delegate has no other reference.
    private static func make(
        _ stage: Stage, _ script: [PeerStep], _ released: Gate, _ completed: Gate
    ) throws -> (task: any TransportTask, watched: Watched) {
        let delegate = RecordingDelegate(released: released) { event, _ in
            if case .completed = event { completed.open() }
        }
        return (try stage.exchange(script, delegate: delegate).task, Watched(delegate: delegate))
    }

    /// The phase of a task when its transport ends.
    enum Phase: String, CaseIterable {
        case beforeHead, afterHead, inPause, suspended, allowanceUsedUp
    }

    @Test("T22: invalidate() ends every task in flight, in every phase", arguments: ContractSubject.all)
    func invalidation(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let (gate, body) = (Gate(), stage.body(buffers: 8))
        let exchanges = try Phase.allCases.map { phase in
            let script: [PeerStep] =
                switch phase {
                case .beforeHead: [.stall]
                case .afterHead: [.head(length: 40), .stall]
                case .inPause: .response(body, after: gate)
                case .suspended, .allowanceUsedUp: .response(body: body)
                }
            let delegate = RecordingDelegate { event, task in
                if phase == .suspended, case .head = event { task.suspend() }
            }
            return try stage.exchange(script, allowance: phase == .allowanceUsedUp ? 0 : .max, delegate: delegate)
        }
        for exchange in exchanges { exchange.task.resume() }
        for exchange in exchanges.dropFirst() { try await exchange.wait { !$0.heads.isEmpty } }
        try await gate.reached()
        try await stage.settle()

        await concurrently(Array(repeating: { stage.peer.transport.invalidate() }, count: 3))
        for exchange in exchanges { try await exchange.finished() }
        gate.open()
        try await stage.settle()
        for exchange in exchanges {
            #expect(exchange.trace.failure == .invalidated)
            #expect(exchange.trace.audit() == [])
        }
    }

    @Test(
        "T22: a task resumed after invalidate() ends as invalidated and sends nothing", arguments: ContractSubject.all)
    func resumedLater(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let before = try stage.exchange(.response(body: .pattern(8)))
        stage.peer.transport.invalidate()
        stage.peer.transport.invalidate()
        let after = try stage.exchange(.response(body: .pattern(8)))
        for exchange in [before, after] {
            let trace = try await exchange.run()
            #expect(trace.failure == .invalidated)
            #expect(trace.events.count == 2)
            #expect(exchange.requests.isEmpty)
            #expect(trace.audit() == [])
        }
    }

    @Test("T22: a task that was only made is ended by its start, not by invalidate()", arguments: ContractSubject.all)
    func madeBefore(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let resumed = try stage.exchange(.response())
        let cancelled = try stage.exchange(.response())
        stage.peer.transport.invalidate()
        try await stage.settle()
        #expect(resumed.trace.records.isEmpty)
        #expect(cancelled.trace.records.isEmpty)

        cancelled.task.cancel()
        #expect(try await cancelled.finished().failure == .cancelled)
        #expect(cancelled.trace.audit(wasResumed: false) == [])
        #expect(try await resumed.run().failure == .invalidated)
        #expect(resumed.trace.audit() == [])
    }

    @Test("T22: tasks of two sessions may have the same ID, and both are ended", arguments: ContractSubject.all)
    func sameName(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let name = TransportTaskID(1_000)
        let exchanges = try (0..<3).map { _ in try stage.exchange([.head(length: 40), .stall], id: name) }
        for exchange in exchanges {
            exchange.task.resume()
            try await exchange.wait { !$0.heads.isEmpty }
        }
        exchanges[1].task.cancel()
        try await exchanges[1].finished()
        stage.peer.transport.invalidate()
        #expect(try await exchanges[0].finished().failure == .invalidated)
        #expect(try await exchanges[2].finished().failure == .invalidated)
        for exchange in exchanges { #expect(exchange.trace.audit() == []) }
    }

    @Test("T22: invalidate() racing starts and ends leaves no task behind", arguments: ContractSubject.all)
    func racing(subject: ContractSubject) async throws {
        for _ in 0..<100 {
            let stage = try await Stage(subject)
            let gate = Gate()
            let exchanges = try (0..<6).map { _ in
                try stage.exchange(.response(.pattern(40), after: gate), delegate: RecordingDelegate { _, _ in })
            }
            exchanges[0].task.resume()
            await concurrently(
                exchanges.map { exchange in { exchange.task.resume() } }
                    + [{ gate.open() }, { stage.peer.transport.invalidate() }])
            for exchange in exchanges {
                let trace = try await exchange.finished()
                #expect(trace.isSuccess ? trace.body == .pattern(40) : trace.failure == .invalidated)
                #expect(trace.audit() == [])
            }
        }
    }

    @Test("T22: invalidate() from inside received ends the task", arguments: ContractSubject.all)
    func fromInside(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let transport = stage.peer.transport
        let exchange = try stage.exchange([.head(length: 40), .stall]) { event, _ in
            if case .head = event { transport.invalidate() }
        }
        let trace = try await exchange.run()
        #expect(trace.failure == .invalidated)
        #expect(trace.audit() == [])
    }
}
