import Dispatch
import Larkspur
internal import LarkspurAnnex

/// Follows a request, and decodes previews of its body while it arrives.
///
/// It is a monitor, so the request and its transport never wait for it. If it is too slow, events are dropped and the
/// previews end.
final class PreviewMonitor: EventMonitor {
    let bodyLimit: Int
    private let queue: DispatchQueue
    private let decode: @Sendable (Data) -> Bool
    private let progress = Guarded(PreviewProgress())

    /// Creates a monitor.
    ///
    /// - Parameters:
    ///   - bodyLimit: The maximum number of bytes of a file.
    ///   - queue: The queue of the decodings, whose threads may block.
    ///   - decode: Decodes and shows a preview of these first bytes. Returns whether further previews are possible.
    init(bodyLimit: Int, on queue: DispatchQueue, decode: @escaping @Sendable (Data) -> Bool) {
        (self.bodyLimit, self.queue, self.decode) = (bodyLimit, queue, decode)
    }

    func request(_ request: any Request, did event: RequestEvent) {
        switch event {
        case .beginHop: progress.withLock { $0.begin() }
        case .cache(let outcome): progress.withLock { $0.receive(outcome) }
        case .receiveHead(let head): progress.withLock { $0.receive(head) }
        case .copyBody(let part): run(progress.withLock { $0.receive(part) })
        default: break
        }
    }

    /// Ends the previews. A preview in decoding is still shown if its receipt has not ended.
    func stop() { progress.withLock { $0.stop() } }

    private func run(_ data: Data?) {
        guard let data else { return }
        queue.async { [self] in
            let isLast = !decode(data)
            run(progress.withLock { $0.decoded(isLast: isLast) })
        }
    }
}
