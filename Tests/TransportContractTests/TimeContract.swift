import Larkspur
import TestSupport
import Testing

extension TransportContractTests {
    @Suite("Time", .limited)
    struct Time {}
}

extension TransportContractTests.Time {
    private static let subjects = ContractSubject.all(with: .keepsTime)

    private static func timeouts(_ set: (inout TransportTimeouts) -> Void) -> TransportTimeouts {
        var timeouts = TransportTimeouts()
        set(&timeouts)
        return timeouts
    }

    @Test("T23: a head that does not come ends the hop by the first-byte timeout", arguments: subjects)
    func firstByte(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let exchange = try stage.exchange(
            [.stall], timeouts: Self.timeouts { $0.firstByte = .milliseconds(30) })
        let error = try #require(try await exchange.run().error)
        #expect(error.code == .timedOut)
        #expect(error.phase == .waiting)
        #expect(error.timeoutName == "first byte")
        #expect(exchange.trace.audit() == [])
    }

    @Test("T23: a body that stops ends the hop by the idle timeout", arguments: subjects)
    func idle(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let exchange = try stage.exchange(
            [.head(length: 40), .bytes(.pattern(20)), .stall], timeouts: Self.timeouts { $0.idle = .milliseconds(30) })
        let trace = try await exchange.run()
        #expect(trace.error?.code == .timedOut)
        #expect(trace.error?.phase == .receiving)
        #expect(trace.error?.timeoutName == "idle")
        // On a busy machine the time may pass before the bytes are delivered.
        #expect([UInt8].pattern(20).starts(with: trace.body.array))
        #expect(trace.audit() == [])
    }

    @Test("T23: a body that goes on and on ends the hop by the total timeout", arguments: subjects)
    func total(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let exchange = try stage.exchange(
            [.head(length: 40), .bytes(.pattern(20)), .stall], timeouts: Self.timeouts { $0.total = .milliseconds(30) })
        let trace = try await exchange.run()
        #expect(trace.error?.code == .timedOut)
        #expect(trace.audit() == [])
    }

    @Test("T23: a hop is not idle while the caller pauses it", arguments: subjects)
    func pause(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let timeouts = Self.timeouts {
            $0.idle = .seconds(1)
            $0.total = .seconds(2)
        }
        let exchange = try stage.exchange(.response(body: stage.body(buffers: 8)), allowance: 1, timeouts: timeouts)
        let error = try #require(try await exchange.run().error)
        #expect(error.code == .timedOut)
        #expect(error.timeoutName == "total")
    }

    @Test("T23: a hop within its timeouts is not affected by them", arguments: subjects)
    func within(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let timeouts = Self.timeouts {
            $0.connect = .seconds(20)
            $0.firstByte = .seconds(20)
            $0.idle = .seconds(20)
            $0.total = .seconds(20)
        }
        for _ in 0..<20 {
            let exchange = try stage.exchange(.response(body: stage.body(buffers: 2)), timeouts: timeouts)
            #expect(try await exchange.run().isSuccess)
        }
    }
}
