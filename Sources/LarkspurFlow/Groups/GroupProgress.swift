/// The progress of several requests.
public struct GroupProgress: Sendable, Hashable, CustomStringConvertible {
    /// The number of requests that have ended, failed ones included.
    public var finished = 0
    /// The number of requests that have failed.
    public var failed = 0
    /// The number of all requests.
    public var total: Int
    /// The number of body bytes that were sent.
    public var sentBytes: UInt64 = 0
    /// The number of body bytes that were received.
    public var receivedBytes: UInt64 = 0

    /// Creates a progress, for previews and tests.
    public init(total: Int) { self.total = total }

    /// The fraction of requests that have ended, from 0 to 1. Without requests it is 1.
    public var fraction: Double { total == 0 ? 1 : Double(finished) / Double(total) }

    public var description: String {
        "\(finished) of \(total) requests" + (failed > 0 ? " (\(failed) failed)" : "") + ", \(sentBytes) bytes sent, "
            + "\(receivedBytes) bytes received"
    }
}

/// Adds up the progress of several requests, and tells a reader about changes.
final class GroupMeter: Sendable {
    private struct State {
        var progress: GroupProgress
        var sent: [Int: UInt64] = [:]
        var received: [Int: UInt64] = [:]
    }

    private let box: Protected<State>
    private let continuation: AsyncStream<Void>.Continuation
    /// An element for each change. The reader gets the value itself from `progress`, so that an older value never comes
    /// after a newer one.
    let changes: AsyncStream<Void>

    init(total: Int) {
        box = Protected(State(progress: GroupProgress(total: total)))
        (changes, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    var progress: GroupProgress { box.withLock { $0.progress } }

    private func update(_ change: (inout State) -> Void) {
        box.withLock { change(&$0) }
        continuation.yield()
    }

    func setTotal(_ total: Int) { update { $0.progress.total = total } }

    func finish(failed: Bool) {
        update { state in
            state.progress.finished += 1
            if failed { state.progress.failed += 1 }
        }
    }

    func end() { continuation.finish() }

    /// Counts the bytes of a request until the request ends. The returned tasks end with the last bytes. They are
    /// unstructured, because the request is awaited meanwhile.
    func follow(_ request: some Request, number: Int) -> [Task<Void, Never>] {
        let (sent, received) = (request.handle.core.followUpload(), request.handle.core.followDownload())
        return [
            Task { for await progress in sent { self.count(progress.completed, \.sent, \.sentBytes, number) } },
            Task {
                for await progress in received {
                    self.count(progress.completed, \.received, \.receivedBytes, number)
                }
            },
        ]
    }

    private func count(
        _ bytes: UInt64, _ part: WritableKeyPath<State, [Int: UInt64]>, _ sum: WritableKeyPath<GroupProgress, UInt64>,
        _ number: Int
    ) {
        update { state in
            let before = state[keyPath: part][number] ?? 0
            state.progress[keyPath: sum] += max(bytes, before) - before
            state[keyPath: part][number] = max(bytes, before)
        }
    }
}

/// A sequence of the progress of a group. A slow reader gets the latest value and misses earlier values.
public typealias GroupProgressSequence = AsyncMapSequence<AsyncStream<Void>, GroupProgress>

extension GroupMeter {
    var sequence: GroupProgressSequence { changes.map { self.progress } }
}
