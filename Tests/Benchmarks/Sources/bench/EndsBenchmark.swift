import Larkspur
import LarkspurTesting

/// Checks that responses that a retry discards are released without a lock. Their `deinit` is user code: here it
/// cancels the request, which would wait for that lock forever. Only optimised builds could release them too early.
struct EndsBenchmark: Sendable {
    struct Refused: Error {}

    /// A value that cancels its request when it is released.
    final class Value: Sendable {
        private let request: DataRequest

        init(of request: DataRequest) { self.request = request }

        deinit { request.cancel() }
    }

    struct Serializer<Object: Sendable>: ResponseSerializer {
        let make: @Sendable () throws -> Object

        func serialize(_ exchange: CompletedExchange) throws -> Object { try make() }
    }

    /// Prints the number of completed requests; never returns if one hangs.
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
