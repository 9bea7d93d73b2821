import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

#if DEBUG
    /// The locks of one request: those of its own box and those of its session's boxes. Each costs some 20 ns, and more
    /// where threads meet.
    @Suite("A request takes few locks", .limited)
    struct LockCountTests {
        enum Way: String, CaseIterable {
            case plain, validated, closure, decodable, adapter, retryPolicy, retried, redirect, middleware, stream

            /// The most locks that the way may take. An awaiter that comes early or late may make a difference of four.
            var limit: Int {
                switch self {
                case .plain: 26
                case .validated: 27
                case .closure: 29
                case .decodable: 28
                case .adapter: 32
                case .retryPolicy: 32
                case .retried: 64
                case .redirect: 40
                case .middleware: 40
                case .stream: 35
                }
            }
        }

        @Test("The locks of each way", arguments: Way.allCases)
        func locks(_ way: Way) async throws {
            let session = session(for: way)
            let core: RequestCore
            if way == .stream {
                let stream = await session.streamRequest("http://example.com/")
                for try await _ in stream.bytes {}
                core = stream.handle.core
            } else {
                let request = await session.request("http://example.com/")
                try await perform(request, way)
                core = request.handle.core
            }
            let count = core.box.lockCount + session.context.lockCount
            #expect(count <= way.limit)
            #expect(core.read { $0.exchange?.error } == nil)
        }

        private func session(for way: Way) -> Session {
            let answers = Counter()
            return Session(
                configuration: SessionConfiguration {
                    switch way {
                    case .adapter: $0.interceptors = [.adapter { request, _ in request.headers["A"] = "b" }]
                    case .retryPolicy, .retried: $0.interceptors = [.retry(limit: 1, backoff: .init(scale: .zero))]
                    case .middleware: $0.middleware = [ClosureMiddleware { try await $1($0) }]
                    default: break
                    }
                },
                transport: StubTransport { request in
                    switch way {
                    case .retried where answers.increment() == 1: .text("busy", status: 503)
                    case .redirect where request.url.path == "/": .redirect(to: "/there")
                    default: .text("1")
                    }
                })
        }

        private func perform(_ request: DataRequest, _ way: Way) async throws {
            switch way {
            case .validated, .retried: _ = try await request.validate().serializingString().value
            case .decodable: _ = try await request.serializingDecodable(Int.self).value
            case .closure:
                let called = Gate()
                request.responseString { _ in called.open() }
                await called.pass()
            case .plain, .adapter, .retryPolicy, .redirect, .middleware, .stream:
                _ = try await request.serializingString().value
            }
        }
    }
#endif
