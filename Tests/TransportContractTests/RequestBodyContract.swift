import Larkspur
import TestSupport
import Testing

extension TransportContractTests {
    @Suite("Request bodies", .limited)
    struct RequestBodies {}
}

extension TransportContractTests.RequestBodies {
    private struct Failure: Error {}

    private final class FailingStream: TransportBodyStream {
        private let error: any Error
        init(_ error: any Error) { self.error = error }
        func begin(wake: @escaping @Sendable () -> Void) {}
        func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead { .failed(error) }
        func end() {}
    }

    @Test(
        "T24: a stream that fails ends the hop with bodyFailed, its error underneath",
        arguments: ContractSubject.all(with: .pullsBodies), [nil, 100])
    func failingStream(subject: ContractSubject, length: UInt64?) async throws {
        let stage = try await Stage(subject)
        let source = TransportBodySource(length: length, isReplayable: false) { FailingStream(Failure()) }
        let exchange = try stage.exchange(.response(), method: "POST", body: .stream(source))
        let trace = try await exchange.run()
        #expect(trace.failure == .bodyFailed)
        #expect(trace.error?.underlying is Failure)
        #expect(exchange.requests.isEmpty)
        #expect(trace.audit() == [])
    }

    @Test(
        "T24: an error with this code is passed on unchanged", arguments: ContractSubject.all(with: .pullsBodies))
    func ownError(subject: ContractSubject) async throws {
        let stage = try await Stage(subject)
        let source = TransportBodySource(length: nil, isReplayable: false) {
            FailingStream(TransportError(.bodyFailed, "of its own", underlying: Failure()))
        }
        let trace = try await stage.exchange(.response(), method: "POST", body: .stream(source)).run()
        #expect(trace.failure == .bodyFailed)
        #expect(trace.error?.underlying is Failure)
        #expect(trace.audit() == [])
    }

    @Test(
        "T24: a stream that ends before its length ends the hop with bodyFailed",
        arguments: ContractSubject.all(with: .pullsBodies), [0, 1, 99_999])
    func shortStream(subject: ContractSubject, count: Int) async throws {
        let stage = try await Stage(subject)
        let source = TransportBodySource(length: 100_000, isReplayable: false) {
            ArrayStream(.pattern(count), piece: 1_000)
        }
        let exchange = try stage.exchange(.response(), method: "POST", body: .stream(source))
        let trace = try await exchange.run()
        #expect(trace.failure == .bodyFailed)
        #expect(exchange.requests.isEmpty)
        #expect(trace.audit() == [])
    }

    enum Change: CaseIterable {
        case grown, shrunk, written, removed
    }

    @Test(
        "T24: a file that has changed since the body was made ends the hop with bodyFailed",
        arguments: ContractSubject.all(with: .pullsBodies), Change.allCases)
    func changedFile(subject: ContractSubject, change: Change) async throws {
        let stage = try await Stage(subject)
        let bytes = stage.body(buffers: 3)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let body = try TransportBody.file(file)
        switch change {
        case .grown: try Data(bytes + [0]).write(to: file)
        case .shrunk: try Data(bytes.dropLast()).write(to: file)
        case .written:
            let date = Date(timeIntervalSinceNow: -60)
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file.path)
        case .removed: try FileManager.default.removeItem(at: file)
        }
        let exchange = try stage.exchange(.response(), method: "POST", body: body)
        let trace = try await exchange.run()
        #expect(trace.failure == .bodyFailed)
        #expect(exchange.requests.isEmpty)
        #expect(trace.audit() == [])
    }
}
