import Foundation
import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

#if os(Linux)
    @Suite("Parts of a request that need no task", .limited)
    struct TasklessPartsTests {
        private static let url = "http://example.com/"
        private let transport = HeldTransport()

        enum Part: CaseIterable {
            case retryPolicy, lostConnections, offline, composed, noKeyNeeded, data, body, cookie

            var interceptors: [any RequestInterceptor] {
                switch self {
                case .retryPolicy: [.retry()]
                case .lostConnections: [.retryingLostConnections()]
                case .offline: [.whenReachable()]
                case .composed: [.composed([.retryingLostConnections(), .retry()])]
                case .noKeyNeeded: [.retry(idempotencyKey: .automatic())]
                case .data, .body, .cookie: []
                }
            }
        }

        @Test("A request with parts that call no code of users has finished when its hop has", arguments: Part.allCases)
        func taskless(part: Part) async throws {
            let session = Session(
                configuration: SessionConfiguration { $0.interceptors = part.interceptors }, transport: transport)
            let request: any SerializableRequest =
                switch part {
                case .data: await session.upload(Data("body".utf8), to: Self.url)
                case .body: await session.request(Self.url, method: .post, body: .body(.data(Data("body".utf8))))
                default: await session.request(Self.url)
                }
            let string = request.serializingString()
            transport.answer(headers: part == .cookie ? ["Set-Cookie": "a=1"] : [:])
            #expect(request.status == .finished)
            #expect(await string.response.value == "text")
            let sent = try #require(request.attempts.first?.request)
            #expect(sent.body.length == ([.data, .body].contains(part) ? 4 : 0))
            #expect(session.cookieJar?.all.map(\.value) == (part == .cookie ? ["1"] : []))
        }

        @Test("After adapters that need a task, no task waits for the hop", arguments: [false, true])
        func adapted(fails: Bool) async throws {
            var hops = transport.hops
            let session = Session(
                configuration: SessionConfiguration {
                    $0.interceptors = [
                        .adapter { request, state in request.headers["Attempt"] = "\(state.attempt)" },
                        .retry(backoff: .init(scale: .zero)),
                    ]
                }, transport: transport)
            let request = await session.request(Self.url)
            let string = request.serializingString()
            for isFirst in fails ? [true, false] : [false] {
                #expect(await hops.next() != nil)
                #expect(request.handle.core.read { $0.pipeline.task == nil } || fails && !isFirst)
                transport.answer(error: isFirst ? TransportError(.connectionLost) : nil)
            }
            #expect(request.status == .finished)
            #expect(await string.response.value == "text")
            #expect(request.attempts.map { $0.request?.headers["Attempt"] } == (fails ? ["1", "2"] : ["1"]))
        }

        @Test("The cancel of a request whose hop no task waits for ends it")
        func cancelled() async throws {
            var hops = transport.hops
            let session = Session(
                configuration: SessionConfiguration {
                    $0.interceptors = [.adapter { $0.headers["A"] = "\($1.attempt)" }]
                }, transport: transport)
            let request = await session.request(Self.url)
            let string = request.serializingString()
            #expect(await hops.next() != nil)
            request.cancel()
            #expect(await string.response.error?.isCancelled == true)
        }

        @TaskLocal private static var mark = 0

        enum Asked: CaseIterable { case closure, own, composed, predicate, afterAdapter }

        @Test("Retriers of users get the caller's task-local values", arguments: Asked.allCases)
        func taskLocals(asked: Asked) async throws {
            let marks = Protected<[Int]>([])
            let retrier = Interceptor(retry: { _, _, _ in
                marks.withLock { $0.append(Self.mark) }
                return .doNotRetry
            })
            let predicate = RetryPolicy(shouldRetry: { _, _ in
                marks.withLock { $0.append(Self.mark) }
                return .doNotRetry
            })
            let session = Session(
                configuration: SessionConfiguration {
                    switch asked {
                    case .closure: $0.interceptors = [retrier]
                    case .composed: $0.interceptors = [.composed([.retryingLostConnections(), retrier])]
                    case .predicate: $0.interceptors = [predicate]
                    case .afterAdapter: $0.interceptors = [.adapter { $0.headers["A"] = "\($1.attempt)" }, retrier]
                    case .own: break
                    }
                }, transport: StubTransport { _ in .failure(.unreachable) })
            await Self.$mark.withValue(7) {
                let own: (any RequestInterceptor)? = asked == .own ? retrier : nil
                _ = await session.request(Self.url, interceptor: own).serializingString().response
            }
            #expect(marks.withLock { $0 == [7] })
        }

        /// A clock that notes whether the thread that starts a request reads it.
        private struct WatchedClock: Clock {
            let noted: Protected<[Bool]>

            var now: ContinuousClock.Instant {
                noted.withLock { $0.append(ThreadMarks.isStarting) }
                return .now
            }
            var minimumResolution: Duration { .zero }
            func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {}
        }

        @Test("A retry policy reads a clock of users in the request's task")
        func clock() async throws {
            let noted = Protected<[Bool]>([])
            let session = Session(
                configuration: SessionConfiguration {
                    $0.interceptors = [.retry()]
                    $0.clock = WatchedClock(noted: noted)
                }, transport: StubTransport { _ in .text("text") })
            noted.withLock { $0 = [] }
            #expect(try await session.request(Self.url).serializingString().value == "text")
            #expect(noted.withLock { !$0.isEmpty && !$0.contains(true) })
        }

        @Test("A cookie jar with a clock of users learns in the request's task")
        func jar() async throws {
            let isTask = Protected<[Bool]>([])
            let clock = WallClock {
                isTask.withLock { $0.append(withUnsafeCurrentTask { $0 != nil }) }
                return Date(timeIntervalSince1970: 0)
            }
            let jar = CookieJar(clock: clock)
            let session = Session(configuration: SessionConfiguration { $0.cookieJar = jar }, transport: transport)
            isTask.withLock { $0 = [] }
            let string = await session.request(Self.url).serializingString()
            Self.onThreadWithoutTask { [transport] in transport.answer(headers: ["Set-Cookie": "a=1"]) }
            #expect(try await string.value == "text")
            #expect(isTask.withLock { $0 == [true] })
            #expect(jar.all.map(\.value) == ["1"])
        }

        /// Runs `body` on a thread that has no task, like that of a transport, and returns after it. Nothing awaits the
        /// request meanwhile: an awaiter's task would run the steps after the answer.
        private static func onThreadWithoutTask(_ body: @escaping @Sendable () -> Void) {
            let end = DispatchSemaphore(value: 0)
            SystemThread.start("answers") {
                body()
                end.signal()
            }
            end.wait()
        }

        @Test("A policy that sets a key changes the request in its task")
        func key() async throws {
            let session = Session(
                transport: StubTransport { _ in .text("text") }, interceptor: .retry(idempotencyKey: .automatic()))
            let request = await session.request(Self.url, method: .post)
            _ = try await request.serializingString().value
            #expect(request.attempts.first?.request?.headers["Idempotency-Key"] != nil)
        }
    }
#endif
