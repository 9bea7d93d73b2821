import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

#if os(Linux)
    @Suite("Streams that need no task", .limited)
    struct TasklessStreamTests {
        private static let url = "http://example.com/"
        private static let chunk = Data("chunk".utf8)
        private let transport = HeldTransport()

        private func begin(_ request: DataStreamRequest) async throws -> HeldHop {
            var hops = transport.hops
            request.resume()
            return try #require(await hops.next())
        }

        private func hasTask(_ request: DataStreamRequest) -> Bool {
            request.handle.core.read { $0.pipeline.task != nil }
        }

        private func head(_ status: Int = 200, _ fields: HTTPHeader...) -> TransportEvent {
            .head(ResponseHead(status: status, fields: fields))
        }

        enum Part: CaseIterable { case plain, standard, status, retryPolicy, cookie, monitor }

        private func session(with part: Part) -> Session {
            Session(
                configuration: SessionConfiguration {
                    switch part {
                    case .plain, .cookie: break
                    case .standard: $0.validation = [.standard]
                    case .status: $0.validation = [.status(200..<300), .contentType(["text/*"])]
                    case .retryPolicy: $0.interceptors = [.retry()]
                    case .monitor: $0.eventMonitors = [EventRecorder()]
                    }
                }, transport: transport)
        }

        @Test("A stream has finished when its hop has, and no task was made", arguments: Part.allCases)
        func taskless(part: Part) async throws {
            let request = await session(with: part).streamRequest(Self.url)
            let iterator = request.bytes.makeAsyncIterator()
            let hop = try await begin(request)
            #expect(!hasTask(request))
            hop.receive(
                head(200, HTTPHeader(name: part == .cookie ? "Set-Cookie" : "Content-Type", value: "text/plain")))
            hop.receive(.body(Self.chunk))
            #expect(!hasTask(request))
            hop.finish(nil)
            #expect(request.status == .finished && !hasTask(request))
            #expect(try await iterator.next() == Self.chunk)
            #expect(try await iterator.next() == nil)
            #expect(request.error == nil && request.attempts.first?.hops.first?.metrics != nil)
        }

        enum Late: CaseIterable { case validator, gate, refusingValidator, cancellingGate, redirectHandler }

        @Test("Code of users that is added while the hop runs is still called", arguments: Late.allCases)
        func late(_ late: Late) async throws {
            let calls = Protected(0)
            let request = await Session(transport: transport).streamRequest(Self.url)
            let iterator = request.bytes.makeAsyncIterator()
            let hop = try await begin(request)
            #expect(!hasTask(request))
            switch late {
            case .validator, .refusingValidator:
                request.validate { _ in
                    calls.withLock { $0 += 1 }
                    if late == .refusingValidator { throw RequestError(.unacceptableStatus, "refused") }
                }
            case .gate, .cancellingGate:
                request.onResponseHead { _ in
                    calls.withLock { $0 += 1 }
                    return late == .gate ? .allow : .cancel
                }
            case .redirectHandler:
                request.redirect(
                    using: Redirector { _ in
                        calls.withLock { $0 += 1 }
                        return .doNotFollow
                    })
            }
            if late == .redirectHandler {
                hop.receive(head(302, HTTPHeader(name: "Location", value: "/other")))
            } else {
                hop.receive(head())
            }
            hop.receive(.body(Self.chunk))
            hop.finish(nil)
            switch late {
            case .validator, .gate, .redirectHandler:
                #expect(try await iterator.next() == Self.chunk)
                #expect(try await iterator.next() == nil)
            case .refusingValidator:
                let error = await #expect(throws: RequestError.self) { try await iterator.next() }
                #expect(
                    error?.code == .unacceptableStatus && request.handle.core.read { $0.exchange?.data } == Self.chunk)
            case .cancellingGate:
                await #expect(throws: CancellationError.self) { try await iterator.next() }
            }
            #expect(calls.withLock { $0 } == 1)
        }

        @Test("A validator of the library that refuses a response still gets the start of its body")
        func refused() async throws {
            let request = await session(with: .standard).streamRequest(Self.url)
            let iterator = request.bytes.makeAsyncIterator()
            let hop = try await begin(request)
            hop.receive(head(500), .body(Self.chunk))
            hop.finish(nil)
            let error = await #expect(throws: RequestError.self) { try await iterator.next() }
            #expect(error?.code == .unacceptableStatus && request.handle.core.read { $0.exchange?.data } == Self.chunk)
        }

        @Test("While the reader's buffer is full, the request does not finish; it then ends without a task")
        func full() async throws {
            let request = await Session(transport: transport).streamRequest(Self.url, bufferSize: 16)
            let iterator = request.bytes.makeAsyncIterator()
            let hop = try await begin(request)
            hop.receive(head())
            for _ in 0..<3 { hop.receive(.body(Self.chunk)) }
            hop.finish(nil)
            #expect(request.status == .resumed)
            for _ in 0..<3 { #expect(try await iterator.next() == Self.chunk) }
            #expect(request.status == .finished && !hasTask(request))
            #expect(try await iterator.next() == nil)
        }

        @Test("If the last reader leaves while the rest of the body waits, the request is cancelled")
        func left() async throws {
            let request = await Session(transport: transport).streamRequest(Self.url, bufferSize: 16)
            var iterator: DataStream.Iterator? = request.bytes.makeAsyncIterator()
            let hop = try await begin(request)
            hop.receive(head())
            for _ in 0..<3 { hop.receive(.body(Self.chunk)) }
            hop.finish(nil)
            #expect(try await iterator?.next() == Self.chunk)
            iterator = nil
            #expect(await request.finished().error?.isCancelled == true)
        }

        @Test("A suspended stream still delivers the bytes that arrive")
        func suspended() async throws {
            let request = await Session(transport: transport).streamRequest(Self.url)
            let iterator = request.bytes.makeAsyncIterator()
            let hop = try await begin(request)
            hop.receive(head())
            request.suspend()
            hop.receive(.body(Self.chunk))
            #expect(try await iterator.next() == Self.chunk)
            request.resume()
            hop.receive(.body(Self.chunk))
            hop.finish(nil)
            #expect(request.status == .finished)
            #expect(try await iterator.next() == Self.chunk)
        }

        enum Moment: CaseIterable { case beforeHead, afterHead, afterBody, afterEnd }

        @Test("A cancel at any moment ends the readers once", arguments: Moment.allCases)
        func cancelled(at moment: Moment) async throws {
            let request = await Session(transport: transport).streamRequest(Self.url)
            let iterator = request.bytes.makeAsyncIterator()
            let hop = try await begin(request)
            if moment != .beforeHead { hop.receive(head()) }
            if moment == .afterBody || moment == .afterEnd { hop.receive(.body(Self.chunk)) }
            if moment == .afterEnd { hop.finish(nil) }
            request.cancel()
            await #expect(throws: CancellationError.self) { try await iterator.next() }
            if moment != .afterEnd { #expect(hop.isCancelled) }
        }

        @Test("R4: if the end of the body races a cancel, each reader ends once")
        func race() async throws {
            for _ in 0..<100 { try await raceOnce() }
        }

        private func raceOnce() async throws {
            let request = await Session(transport: transport).streamRequest(Self.url)
            let iterator = request.bytes.makeAsyncIterator()
            let hop = try await begin(request)
            hop.receive(head(), .body(Self.chunk))
            let end = Task.detached { hop.finish(nil) }
            let cancel = Task.detached { _ = request.cancel() }
            var read = 0
            do {
                while try await iterator.next() != nil { read += 1 }
                #expect(read == 1)
            } catch { #expect(error is CancellationError) }
            await end.value
            await cancel.value
            _ = await request.finished()
            #expect(request.handle.core.read { $0.phase } == .finished)
        }

        // MARK: Retries between the head and the first byte

        private func retried(over transport: HeldTransport) async -> DataStreamRequest {
            await Session(transport: transport).streamRequest(
                Self.url, interceptor: Interceptor(retry: { _, _, _ in .retry }))
        }

        private func data(of response: DataStreamResponse) async throws -> Data {
            try await response.bytes.reduce(into: Data()) { $0 += $1 }
        }

        private func head(tagged tag: String) -> TransportEvent { head(200, HTTPHeader(name: "ETag", value: tag)) }

        @Test("A stream whose head was returned is not retried, because the bytes must belong to this head")
        func headTaken() async throws {
            let request = await retried(over: transport)
            let hop = try await begin(request)
            async let opening = request.response()
            hop.receive(head(tagged: "1"))
            let response = try await opening
            hop.finish(TransportError(.connectionLost))
            let error = await #expect(throws: RequestError.self) { for try await _ in response.bytes {} }
            #expect(response.headers["ETag"] == "1" && error?.code == .connectionLost)
            #expect(request.attempts.count == 1)
        }

        @Test("If a stream is retried after its head, the head of the last attempt is returned")
        func headOfLastAttempt() async throws {
            var hops = transport.hops
            let request = await retried(over: transport)
            request.resume()
            let first = try #require(await hops.next())
            first.receive(head(tagged: "1"))
            first.finish(TransportError(.connectionLost))
            let second = try #require(await hops.next())
            async let opening = request.response()
            second.receive(head(tagged: "2"), .body(Self.chunk))
            second.finish(nil)
            let response = try await opening
            #expect(response.headers["ETag"] == "2")
            #expect(try await data(of: response) == Self.chunk)
        }

        @Test("R4: if the loss of a connection races the wait for a head, the bytes belong to the returned head")
        func headRace() async throws {
            for _ in 0..<50 {
                let transport = HeldTransport()
                let request = await retried(over: transport)
                request.resume()
                var hops = transport.hops
                let first = try #require(await hops.next())
                first.receive(head(tagged: "1"))
                let loss = Task.detached { first.finish(TransportError(.connectionLost)) }
                let opening = Task.detached { try await request.response() }
                let second = Task.detached {
                    var hops = transport.hops
                    guard let second = await hops.next() else { return }
                    second.receive(self.head(tagged: "2"), .body(Self.chunk))
                    second.finish(nil)
                }
                let response = try await opening.value
                if response.headers["ETag"] == "1" {
                    await #expect(throws: RequestError.self) { try await data(of: response) }
                    second.cancel()
                } else {
                    #expect(try await data(of: response) == Self.chunk)
                }
                await loss.value
                await second.value
            }
        }

        @Test("The request object is released after its end, which its own reader has delivered")
        func released() async throws {
            weak var request: DataStreamRequest?
            do {
                let made = await Session(transport: transport).streamRequest(Self.url)
                request = made
                let hop = try await begin(made)
                let iterator = made.bytes.makeAsyncIterator()
                hop.receive(head(), .body(Self.chunk))
                hop.finish(nil)
                #expect(try await iterator.next() == Self.chunk)
            }
            await poll { request == nil }
        }
    }
#endif
