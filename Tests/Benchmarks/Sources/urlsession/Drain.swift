import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Counts a body's bytes and keeps none. Its functions are called on its session's queue, one after another.
final class Drain: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private var count = 0
    private var continuation: CheckedContinuation<Int, any Error>?

    static func download(_ url: URL) async throws -> Int {
        let drain = Drain()
        let session = URLSession(configuration: .default, delegate: drain, delegateQueue: nil)
        defer { session.finishTasksAndInvalidate() }
        return try await withCheckedThrowingContinuation { continuation in
            drain.continuation = continuation
            session.dataTask(with: url).resume()
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        count += data.count
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if let error {
            continuation?.resume(throwing: error)
        } else {
            continuation?.resume(returning: count)
        }
        continuation = nil
    }
}
