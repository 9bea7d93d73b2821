import Larkspur
import TestSupport
import Testing

extension TransportContractTests {
    @Suite("Time", .limited)
    struct Time {
        private let clock = EngineClock()
    }
}

extension TransportContractTests.Time {
    private static let subjects = ContractSubject.all(with: .keepsTime)

    /// Lets a limit of the exchange pass. Other exchanges over the same transport show that it has not ended before.
    private func pass(
        _ limit: Duration, of exchange: Exchange, on stage: Stage, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Trace {
        let trace = try await clock.pass(limit, of: exchange.delegate, sourceLocation: sourceLocation) {
            try await stage.settle()
        }
        #expect(trace.failure == .timedOut, sourceLocation: sourceLocation)
        #expect(trace.audit() == [], sourceLocation: sourceLocation)
        return trace
    }

    @Test("T23: a head that does not come ends the hop by the first-byte timeout", arguments: subjects)
    func firstByte(subject: ContractSubject) async throws {
        let (stage, gate) = (try await Stage(subject, clock: clock), Gate())
        defer { gate.open() }
        let exchange = try stage.exchange([.wait(gate)], timeouts: .only { $0.firstByte = .days(1) })
        exchange.task.resume()
        try await gate.reached()
        let error = try await pass(.days(1), of: exchange, on: stage).error
        #expect(error?.phase == .waiting)
        #expect(error?.timeoutName == "first byte")
    }

    @Test("T23: a body that stops ends the hop by the idle timeout, which each piece restarts", arguments: subjects)
    func idle(subject: ContractSubject) async throws {
        let (stage, gate) = (try await Stage(subject, clock: clock), Gate())
        defer { gate.open() }
        let exchange = try stage.exchange(
            [.head(length: 60), .bytes(.pattern(20)), .wait(gate), .bytes(.pattern(20)), .stall],
            timeouts: .only { $0.idle = .days(1) })
        exchange.task.resume()
        try await exchange.wait { $0.bodyCount == 20 }
        clock.advance(by: .days(0.75))
        gate.open()
        try await exchange.wait { $0.bodyCount == 40 }
        let error = try await pass(.days(1), of: exchange, on: stage).error
        #expect(error?.phase == .receiving)
        #expect(error?.timeoutName == "idle")
    }

    @Test("T23: a body that goes on and on ends the hop by the total timeout", arguments: subjects)
    func total(subject: ContractSubject) async throws {
        let (stage, gate) = (try await Stage(subject, clock: clock), Gate())
        defer { gate.open() }
        let exchange = try stage.exchange(
            [.head(length: 60), .bytes(.pattern(20)), .wait(gate), .bytes(.pattern(20)), .stall],
            timeouts: .only { $0.total = .days(4) })
        exchange.task.resume()
        try await exchange.wait { $0.bodyCount == 20 }
        clock.advance(by: .days(2))
        gate.open()
        try await exchange.wait { $0.bodyCount == 40 }
        #expect(try await pass(.days(2), of: exchange, on: stage).error?.timeoutName == "total")
    }

    @Test("T23: a hop is not idle while the caller pauses it", arguments: subjects)
    func pause(subject: ContractSubject) async throws {
        let stage = try await Stage(subject, clock: clock)
        let timeouts = TransportTimeouts.only {
            $0.idle = .days(1)
            $0.total = .days(4)
        }
        let exchange = try stage.exchange(.response(body: stage.body(buffers: 8)), allowance: 1, timeouts: timeouts)
        exchange.task.resume()
        try await exchange.wait { $0.bodyCount > 0 }
        // Half of the total is more than the idle timeout.
        #expect(try await pass(.days(4), of: exchange, on: stage).error?.timeoutName == "total")
    }

    @Test("T23: a hop within its timeouts is not affected by them", arguments: subjects)
    func within(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        var timeouts = TransportTimeouts.long
        timeouts.total = .days(1)
        for _ in 0..<20 {
            let exchange = try stage.exchange(.response(body: stage.body(buffers: 2)), timeouts: timeouts)
            #expect(try await exchange.run().isSuccess)
        }
    }
}
