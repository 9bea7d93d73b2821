import Larkspur
import LarkspurAnnex
import LarkspurTesting

@testable import LarkspurImages

/// A decoder without a library: the image has one pixel, or as many as the thumbnail, or the width that follows the "i".
/// It counts its calls.
struct StubDecoder: ImageDecoding {
    let calls = Counter()

    func decode(_ data: Data, thumbnail size: PixelSize?) throws -> DecodedImage {
        calls.increment()
        guard data.first == UInt8(ascii: "i") else { throw RequestError(.invalidImage, "not the stub's format") }
        let width = Int(String(decoding: data.dropFirst(), as: UTF8.self))
        return .plain(width: size?.width ?? width ?? 1, height: size?.height ?? 1)
    }
}

/// Holds the answers of a server back until they are released, and records the order of the requests.
final class HeldServer: Sendable {
    private let box = Guarded<(paths: [String], held: [CheckedContinuation<Void, Never>], isOpen: Bool)>(
        ([], [], false))
    private let running = Guarded((now: 0, most: 0))

    /// The largest number of requests at the same time.
    var mostAtOnce: Int { running.withLock { $0.most } }
    var paths: [String] { box.withLock { $0.paths } }

    func begin() {
        running.withLock { running in
            running.now += 1
            running.most = max(running.most, running.now)
        }
    }

    func end() { running.withLock { $0.now -= 1 } }

    func answer(_ path: String) async {
        await withCheckedContinuation { continuation in
            let isOpen = box.withLock { box in
                box.paths.append(path)
                if !box.isOpen { box.held.append(continuation) }
                return box.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    /// Returns a session whose requests are held back.
    func session(
        baseURL: String? = nil, answering answer: @escaping @Sendable (TransportRequest) -> StubAnswer
    ) -> Session {
        let configuration = SessionConfiguration {
            $0.baseURL = baseURL
            $0.middleware = [HoldingMiddleware(server: self)]
        }
        return Session(configuration: configuration, transport: StubTransport { answer($0) })
    }

    func open() {
        let held = box.withLock { box in
            box.isOpen = true
            defer { box.held = [] }
            return box.held
        }
        for continuation in held { continuation.resume() }
    }
}

/// Delays requests, so that tests decide when they are sent.
private struct HoldingMiddleware: RequestMiddleware {
    let server: HeldServer

    func intercept(_ exchange: Exchange, next: Next) async throws -> ExchangeResponse {
        server.begin()
        defer { server.end() }
        await server.answer(String(exchange.request.url.path))
        // A load on the main actor returns before its answer arrives, however slow the thread is.
        await MainActor.run {}
        return try await next(exchange)
    }
}
