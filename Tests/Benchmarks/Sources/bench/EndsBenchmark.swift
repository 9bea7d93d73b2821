import Larkspur
import LarkspurTesting

/// Responses that are thrown away for another attempt end without a lock, where their ends are the user's code: here they
/// cancel their request, which would wait for the lock for ever. Only optimised builds could let go of them too early.
struct EndsBenchmark: Sendable {
    struct Refused: Error {}

    /// Cancels its request when it ends.
    final class Value: Sendable {
        private let request: DataRequest

        init(of request: DataRequest) { self.request = request }

        deinit { request.cancel() }
    }

    struct Serializer<Object: Sendable>: ResponseSerializer {
        let make: @Sendable () throws -> Object

        func serialize(_ exchange: CompletedExchange) throws -> Object { try make() }
    }

    /// Prints how many requests ended; never if one hangs.
    func run(count: Int) async {
        let session = Session(
            transport: StubTransport { _ in .text("body") }, interceptor: .retrier { _, _, _ in .retry })
        for _ in 0..<count { await thrownAway(session) }
        print("scenario=ends requests=\(count)")
    }

    private func thrownAway(_ session: Session) async {
        let request = await session.request("http://h/", startsAutomatically: false)
        let first = request.serializingResponse(using: Serializer { Value(of: request) })
        let second = request.serializingResponse(using: Serializer<Int> { throw Refused() })
        request.resume()
        _ = await (first.response, second.response)
    }
}
