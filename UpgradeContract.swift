import Larkspur
import Testing

extension TransportContractTests {
    @Suite("Upgrades", .timeLimit(.minutes(3)))
    struct Upgrades {}
}

extension TransportContractTests.Upgrades {
    private static let subjects = [ContractSubject.all(stating: .upgrades).first { $0.name == "libcurl" }!]

    @Test("T26: after a 101, bytes flow in both directions, and the end of the body ends the task", arguments: subjects)
    func echo(subject: ContractSubject) async throws {
        let stage = try UpgradeStage(subject, .accept, .echo)
        let stream = PipeStream()
        let upgraded = stage.start(stream.body)
        try await upgraded.wait { $0.heads.first?.status == 101 }
        for round in 1...100 {
            stream.write(.pattern(round))
            try await upgraded.wait { $0.bodyCount == round * (round + 1) / 2 }
        }
        stream.finish()
        let trace = try await upgraded.finished()
        #expect(trace.isSuccess)
        #expect(trace.body == (1...100).flatMap { [UInt8].pattern($0) })
        #expect(trace.metrics.first?.requestBodyBytes == 5_050)
        #expect(trace.metrics.first?.responseBodyBytes == 5_050)
        #expect(stream.timesOpened == 1 && stream.timesEnded == 1)
        #expect(trace.sent == [])
        #expect(trace.audit() == [])
    }
}
