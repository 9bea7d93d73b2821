import Larkspur
import LarkspurTesting
import Testing

@testable import LarkspurCore
@testable import LarkspurTransfers

/// A folder with records and destinations, and background transfers that use it one after another, as successive runs of
/// a program do.
final class BackgroundRuns: Sendable {
    let identifier = "test.\(UUID().uuidString)"
    let folder: TemporaryFolder
    let log = TransportLog()
    let records: URL

    init() throws {
        folder = try TemporaryFolder()
        records = folder["records"]
    }

    /// Begins the next run. The closure gets each request with its number, from 1.
    func begin(
        _ options: BackgroundTransfers.Options = .init { $0.retry = nil },
        interceptor: (any RequestInterceptor)? = nil, configuration: SessionConfiguration = .bare,
        answering answer: @escaping @Sendable (TransportRequest, Int) -> StubAnswer
    ) throws -> BackgroundTransfers {
        try BackgroundTransfers(
            identifier: identifier, configuration: configuration, interceptor: interceptor, options: options,
            folder: records, transport: log.transport(answering: answer))
    }

    /// The files of the records, without the lock.
    var files: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: records.path).sorted().filter { $0 != "lock" }
        }
    }

    /// All bytes in the folder of the records, as text.
    var text: String {
        get throws {
            try files.map { try String(contentsOf: records.appendingPathComponent($0), encoding: .utf8) }.joined()
        }
    }

    /// The files beside the destinations.
    var downloads: [String] { get throws { try folder.contents.filter { $0 != "records" } } }
}

extension BackgroundTransfers {
    /// The transfers of earlier runs.
    var allRestored: [BackgroundTransfer] {
        get async {
            var found: [BackgroundTransfer] = []
            for await transfer in restored { found.append(transfer) }
            return found
        }
    }
}

extension StubAnswer {
    /// An answer that never comes.
    static var stalled: StubAnswer { StubAnswer([.stall]) }
}

/// Returns the code of the error that the closure throws.
func code(of body: () async throws -> Void) async -> RequestError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? RequestError)?.code
    }
}
