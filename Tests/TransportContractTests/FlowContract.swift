import Larkspur
import TestSupport
import Testing

extension TransportContractTests {
    @Suite("Suspension and allowance", .limited)
    struct Flow {}
}

extension TransportContractTests.Flow {
    /// Suspends from inside the first body event, so that the events after the suspension are known.
    private static func suspended(
        _ stage: Stage, _ body: [UInt8], times: Int = 1, resumes: Int = 0
    ) async throws -> Exchange {
        let exchange = try stage.exchange([.head(length: body.count), .bytes(body)]) { event, task in
            guard case .body(let bytes) = event, body.starts(with: bytes) else { return }
            for _ in 0..<resumes { task.resume() }
            for _ in 0..<times { task.suspend() }
        }
        exchange.task.resume()
        // A control call from inside the event has returned, so that it cannot follow a later one of the test.
        try await exchange.wait { !$0.chunks.isEmpty && $0.depth == 0 }
        try await stage.settle()
        return exchange
    }

    @Test(
        "T15: at most one more buffer comes while suspended, and after resume() the body continues where it stopped",
        arguments: ContractSubject.all)
    func suspension(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let body = stage.body(buffers: 10)
        let exchange = try await Self.suspended(stage, body)
        #expect(exchange.trace.chunks.count <= 2)
        #expect(!exchange.trace.isCompleted)

        let trace = try await exchange.run()
        #expect(trace.body == body)
        #expect(trace.isSuccess)
        #expect(exchange.requests.count == 1)
        #expect(trace.audit() == [])
    }

    @Test("T15: one resume() ends any number of suspensions", arguments: ContractSubject.all)
    func suspensionsDoNotNest(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let body = stage.body(buffers: 10)
        let exchange = try await Self.suspended(stage, body, times: 3)
        #expect(exchange.trace.chunks.count <= 2)
        let trace = try await exchange.run()
        #expect(trace.body == body)
        #expect(trace.audit() == [])
    }

    @Test("T15: one suspend() ends any number of resumptions", arguments: ContractSubject.all)
    func resumptionsDoNotNest(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let body = stage.body(buffers: 10)
        let exchange = try await Self.suspended(stage, body, resumes: 3)
        #expect(exchange.trace.chunks.count <= 2)
        let trace = try await exchange.run()
        #expect(trace.body == body)
        #expect(trace.audit() == [])
    }

    @Test("T15: a suspension before the first resume() does not outlast it", arguments: ContractSubject.all)
    func suspendedBeforeStart(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let exchange = try stage.exchange(.response(body: stage.body(buffers: 4)))
        exchange.task.suspend()
        exchange.task.suspend()
        let trace = try await exchange.run()
        #expect(trace.body == stage.body(buffers: 4))
        #expect(trace.audit() == [])
    }

    @Test("T15: a task suspended before the peer sends its body waits with it", arguments: ContractSubject.all)
    func suspendedWhileThePeerPauses(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let (gate, body) = (Gate(), stage.body(buffers: 10))
        let exchange = try stage.exchange(.response(body, after: gate))
        exchange.task.resume()
        try await gate.reached()
        exchange.task.suspend()
        gate.open()
        try await stage.settle()
        #expect(exchange.trace.chunks.count <= 1)
        #expect(!exchange.trace.isCompleted)
        let trace = try await exchange.run()
        #expect(trace.body == body)
        #expect(trace.audit() == [])
    }

    @Test("T15: suspend() and resume() from many threads lose no byte", arguments: ContractSubject.all)
    func suspendedFromEverywhere(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let body = stage.body(buffers: 12)
        for _ in 0..<50 {
            let exchange = try stage.exchange(.response(body: body), delegate: RecordingDelegate { _, _ in })
            let toggles: @Sendable () -> Void = {
                for _ in 0..<10 {
                    exchange.task.suspend()
                    exchange.task.resume()
                }
            }
            await concurrently([toggles, toggles, { exchange.task.resume() }])
            let trace = try await exchange.run()
            #expect(trace.body == body)
            #expect(trace.audit() == [])
        }
    }

    @Test("T16: at most one buffer begins at or after the position", arguments: ContractSubject.all, [1, 3, 5])
    func allowance(subject: ContractSubject, step: Int) async throws {
        let stage = try await Stage(subject)
        let body = stage.body(buffers: 16)
        let exchange = try stage.exchange(.response(body: body), allowance: 0)
        exchange.task.resume()
        for position in stride(from: 0, to: body.count - 3 * subject.buffer, by: step * subject.buffer - 1) {
            exchange.task.allow(upTo: UInt64(position))
            try await exchange.wait { $0.bodyCount >= position && !$0.heads.isEmpty }
            try await stage.settle()
            #expect(exchange.trace.chunks(past: position) <= 1)
            #expect(!exchange.trace.isCompleted)
        }
        exchange.task.allow(upTo: .max)
        let trace = try await exchange.finished()
        #expect(trace.body == body)
        #expect(trace.audit() == [])
    }

    @Test("T16: a position below an earlier one changes nothing", arguments: ContractSubject.all)
    func fallingAllowance(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let (gate, body) = (Gate(), stage.body(buffers: 16))
        let exchange = try stage.exchange(.response(body, after: gate), allowance: 0)
        exchange.task.resume()
        let position = 6 * subject.buffer
        for place in [position, 1, 0, position - 1] { exchange.task.allow(upTo: UInt64(place)) }
        gate.open()
        try await exchange.wait { $0.bodyCount >= position }
        try await stage.settle()
        #expect(exchange.trace.chunks(past: position) <= 1)
        exchange.task.allow(upTo: .max)
        exchange.task.allow(upTo: 0)
        let trace = try await exchange.finished()
        #expect(trace.body == body)
        #expect(trace.audit() == [])
    }

    @Test("T16: positions from many threads take effect in any order", arguments: ContractSubject.all)
    func racingAllowances(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let body = stage.body(buffers: 16)
        for _ in 0..<50 {
            let exchange = try stage.exchange(
                .response(body: body), allowance: 0, delegate: RecordingDelegate { _, _ in })
            let places = (0...10).map { UInt64($0 * subject.buffer) }
            await concurrently(
                [{ exchange.task.resume() }]
                    + [places, places.reversed(), places.shuffled()].map { places in
                        { for place in places { exchange.task.allow(upTo: place) } }
                    })
            let last = 10 * subject.buffer
            try await exchange.wait { $0.bodyCount >= last }
            #expect(exchange.trace.chunks(past: last) <= 1)
            #expect(!exchange.trace.isCompleted)
            exchange.task.allow(upTo: .max)
            let trace = try await exchange.finished()
            #expect(trace.body == body)
            #expect(trace.audit() == [])
        }
    }

    @Test("T16: allow(upTo:) from inside received continues the body", arguments: ContractSubject.all)
    func allowedFromInside(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let body = stage.body(buffers: 16)
        let taken = Protected<UInt64>(0)
        let exchange = try stage.exchange(.response(body: body), allowance: 0) { event, task in
            switch event {
            case .head: task.allow(upTo: 1)
            case .body(let bytes):
                let position = taken.withLock { taken in
                    taken += UInt64(bytes.count)
                    return taken
                }
                task.allow(upTo: position + 1)
            case .admission, .waitsForNetwork, .information, .trailers, .bodySent, .cache, .metrics, .completed: break
            }
        }
        let trace = try await exchange.run()
        #expect(trace.body == body)
        #expect(trace.isSuccess)
        #expect(trace.audit() == [])
    }

    @Test("T16: a body that ends at the position completes", arguments: ContractSubject.all, [0, 1, 40])
    func exactAllowance(subject: ContractSubject, count: Int) async throws {
        let stage = try await Stage(subject)
        let exchange = try stage.exchange(.response(body: .pattern(count)), allowance: UInt64(count))
        let trace = try await exchange.run()
        #expect(trace.body == .pattern(count))
        #expect(trace.isSuccess)
        #expect(trace.audit() == [])
    }

    @Test("T17: the first position is the initial allowance", arguments: ContractSubject.all, [0, 1, 4])
    func initialAllowance(subject: ContractSubject, buffers: Int) async throws {
        let stage = try await Stage(subject)
        let body = stage.body(buffers: 16)
        let position = buffers * subject.buffer
        let exchange = try stage.exchange(.response(body: body), allowance: UInt64(position))
        exchange.task.resume()
        try await exchange.wait { !$0.heads.isEmpty && $0.bodyCount >= position }
        try await stage.settle()
        #expect(exchange.trace.chunks(past: position) <= 1)
        #expect(!exchange.trace.isCompleted)
        exchange.task.allow(upTo: .max)
        let trace = try await exchange.finished()
        #expect(trace.body == body)
        #expect(trace.audit() == [])
    }

    @Test("T17: a position below the initial allowance changes nothing", arguments: ContractSubject.all)
    func belowInitialAllowance(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let exchange = try stage.exchange(.response(body: stage.body(buffers: 8)))
        exchange.task.allow(upTo: 0)
        exchange.task.allow(upTo: 1)
        let trace = try await exchange.run()
        #expect(trace.body == stage.body(buffers: 8))
        #expect(trace.audit() == [])
    }

    /// Which of the two pauses the body first, and which ends first.
    enum Order: String, CaseIterable {
        case resumeFirst, allowFirst
    }

    @Test(
        "T18: bytes flow only if the task is not suspended and its allowance is not used up",
        arguments: ContractSubject.all,
        Order.allCases)
    func independence(subject: ContractSubject, order: Order) async throws {
        let stage = try await Stage(subject)
        let body = stage.body(buffers: 16)
        let position = 3 * subject.buffer
        let exchange = try stage.exchange(.response(body: body), allowance: UInt64(position))
        exchange.task.resume()
        try await exchange.wait { $0.bodyCount >= position }
        exchange.task.suspend()
        try await stage.settle()
        #expect(exchange.trace.chunks(past: position) <= 1)

        switch order {
        case .resumeFirst: exchange.task.resume()
        case .allowFirst: exchange.task.allow(upTo: .max)
        }
        try await stage.settle()
        #expect(exchange.trace.chunks(past: position) <= 1)
        #expect(!exchange.trace.isCompleted)

        switch order {
        case .resumeFirst: exchange.task.allow(upTo: .max)
        case .allowFirst: exchange.task.resume()
        }
        let trace = try await exchange.finished()
        #expect(trace.body == body)
        #expect(trace.audit() == [])
    }

    @Test("T18: suspension and allowance are independent also from inside received", arguments: ContractSubject.all)
    func independenceFromInside(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let body = stage.body(buffers: 16)
        let exchange = try stage.exchange(.response(body: body), allowance: 1) { event, task in
            guard case .body(let bytes) = event, body.starts(with: bytes) else { return }
            task.suspend()
            task.allow(upTo: .max)
        }
        exchange.task.resume()
        // A control call from inside the event has returned, so that it cannot follow a later one of the test.
        try await exchange.wait { !$0.chunks.isEmpty && $0.depth == 0 }
        try await stage.settle()
        #expect(exchange.trace.chunks.count <= 2)
        #expect(!exchange.trace.isCompleted)
        let trace = try await exchange.run()
        #expect(trace.body == body)
        #expect(trace.audit() == [])
    }
}
