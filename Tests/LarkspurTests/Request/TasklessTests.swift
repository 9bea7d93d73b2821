import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

#if os(Linux)
    @Suite("Requests that need no task", .limited)
    struct TasklessTests {
        let transport = HeldTransport()
        let session: Session

        init() {
            session = Session(transport: transport)
        }

        @Test("A plain request has finished when its hop has")
        func plain() async throws {
            let request = await session.request("http://user:secret@example.com/a").validate()
            let string = request.serializingString()
            #expect(request.status == .resumed)
            #expect(await session.requests.map(\.id) == [request.id])
            transport.answer(headers: ["Content-Length": "4"])
            #expect(request.status == .finished)
            #expect(await session.requests.isEmpty)
            let response = await string.response
            #expect(response.value == "text")
            #expect(response.metrics != nil)
            #expect(response.head?.status == 200)
            #expect(request.attempts.map(\.hops.count) == [1])
            #expect(request.attempts.first?.request?.headers["Authorization"] != nil)
            #expect(try await request.serializingData().value == Data("text".utf8), "a late serializer")
        }

        @Test("An open stream needs no task between two chunks, and its cancel still ends it")
        func stream() async throws {
            let answer = StubAnswer.response(chunks: [Data("a".utf8)])
            let session = Session(transport: StubTransport { _ in StubAnswer(answer.steps + [.stall]) })
            let request = await session.streamRequest("http://example.com")
            let iterator = request.bytes.makeAsyncIterator()
            #expect(try await iterator.next() == Data("a".utf8))
            #expect(request.handle.core.read { $0.pipeline.task == nil })
            request.cancel()
            await #expect(throws: CancellationError.self) { try await iterator.next() }
        }

        @Test("An awaiter that waits is resumed by the hop's end")
        func awaited() async throws {
            let data = await session.request("http://example.com").serializingData()
            let awaiter = Task.immediate { try await data.value }
            transport.answer()
            #expect(try await awaiter.value == Data("text".utf8))
        }

        enum Interlude: CaseIterable {
            case none, cancel, withdrawal, awaiter, cancelledAwaiter, serializer, closure, validator, invalidation
        }

        @Test("Work that is left to a slow awaiter delays no other caller", arguments: Interlude.allCases)
        func leftToAwaiter(_ interlude: Interlude) async throws {
            let executor = HeldExecutor()
            let request = await session.request("http://example.com")
            let data = request.serializingData()
            let awaiter = Task(executorPreference: executor) { await data.response }
            executor.runWhatIsThere()
            transport.answer()
            #expect(request.status == .resumed, "the transport's thread has finished it")
            switch interlude {
            case .none: break
            case .cancel: request.cancel()
            case .withdrawal: data.cancel()
            case .awaiter: #expect(try await data.value == Data("text".utf8))
            case .cancelledAwaiter:
                let cancelled = Task.immediate {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return await data.response
                }
                _ = await cancelled.value
            case .serializer: #expect(try await request.serializingString().value == "text")
            case .closure:
                let called = Gate()
                request.responseData { _ in called.open() }
                await called.pass()
            case .validator: request.validate { _ in throw CancellationError() }
            case .invalidation: await session.invalidate()
            }
            if [.cancel, .withdrawal, .invalidation].contains(interlude) {
                #expect(await request.serializingString().response.error != nil, "and it has ended")
            }
            executor.letGo()
            let response = await awaiter.value
            switch interlude {
            case .none, .awaiter, .cancelledAwaiter, .serializer, .closure:
                #expect(response.value == Data("text".utf8))
            case .cancel, .withdrawal: #expect(response.error?.isCancelled == true)
            case .validator: #expect(response.error?.code == .validationFailed)
            case .invalidation: #expect(response.error?.code == .sessionInvalidated)
            }
        }

        @Test("A slow awaiter still gets the response if other callers give up")
        func stillWanted() async throws {
            let executor = HeldExecutor()
            let (entered, goesOn) = (Gate(), Gate())
            let request = await session.request("http://example.com")
            let data = request.serializingData()
            let awaiter = Task(executorPreference: executor) { await data.response }
            executor.runWhatIsThere()
            transport.answer()
            request.validate { _ in
                entered.open()
                await goesOn.pass()
            }
            let other = Task.immediate { await data.response }
            await entered.pass()
            other.cancel()
            #expect(await other.value.error?.isCancelled == true)
            goesOn.open()
            executor.letGo()
            #expect(await awaiter.value.value == Data("text".utf8))
        }

        @Test("No awaiter has to wait for work that is left to another one", arguments: [true, false])
        func severalAwaiters(isHeldFirst: Bool) async throws {
            let executor = HeldExecutor()
            let data = await session.request("http://example.com").serializingData()
            let held = Task(executorPreference: executor) { await data.response }
            if isHeldFirst { executor.runWhatIsThere() }
            let other = Task.immediate { await data.response }
            executor.runWhatIsThere()
            transport.answer()
            #expect(await other.value.value == Data("text".utf8))
            executor.letGo()
            #expect(await held.value.value == Data("text".utf8))
        }

        enum Surprise: CaseIterable {
            case secondSerializer, closure, slowSerializer, validator, monitor, interceptor, handler, suspension
        }

        @Test(
            "Options and handlers that are added during the hop count, and every caller is answered",
            arguments: Surprise.allCases)
        func surprises(_ surprise: Surprise) async throws {
            let noticed = Gate()
            let recorder = EventRecorder()
            let request = await session.request("http://example.com")
            let string = request.serializingString()
            switch surprise {
            case .secondSerializer:
                Task.immediate { if await request.serializingData().response.value != nil { noticed.open() } }
            case .closure: request.responseData { _ in noticed.open() }
            case .slowSerializer:
                _ = request.serializingResponse(using: SerializerRulesTests.Serializer { _ in noticed.open() })
            case .validator: request.validate { _ in noticed.open() }
            case .monitor: request.eventMonitor(recorder)
            case .interceptor: request.retry(using: .retrier { _, _, _ in .doNotRetry })
            case .handler: request.onRequestCreation { _ in noticed.open() }
            case .suspension: request.suspend()
            }
            transport.answer()
            #expect(try await string.value == "text")
            switch surprise {
            case .monitor: await recorder.wait { $0.contains { $0.name == "finish" } }
            case .interceptor, .suspension: break
            case .secondSerializer, .closure, .slowSerializer, .validator, .handler: await noticed.pass()
            }
            #expect(request.status == .finished)
        }

        @Test("A failure of the hop, a validator or a serializer is the response's, with its stage")
        func failures() async {
            let lost = await session.request("http://example.com").serializingData()
            transport.answer(error: TransportError(.connectionLost))
            let lostError = await lost.response.error
            #expect(lostError?.code == .connectionLost && lostError?.stage == .sending)

            let refused = await session.request("http://example.com").validate().serializingData()
            transport.answer(503)
            let refusedError = await refused.response.error
            #expect(refusedError?.code == .unacceptableStatus && refusedError?.stage == .validating)
            #expect(refusedError?.responseData == Data("text".utf8))

            let broken = await session.request("http://example.com").serializingJSON()
            transport.answer()
            let brokenError = await broken.response.error
            #expect(brokenError?.code == .invalidJSON && brokenError?.stage == .serializing)
        }

        @Test("A URL that is none fails, and no hop begins")
        func noURL() async {
            let error = await session.request("http://exa mple.com").serializingData().response.error
            #expect(error?.code == .invalidURL && error?.stage == .building)
        }

        @Test("A redirect is followed, and the answer is the last hop's")
        func redirect() async throws {
            let session = Session(
                transport: StubTransport { request in
                    request.url.path == "/" ? .redirect(to: "/there") : .text("here")
                })
            let request = await session.request("http://example.com")
            #expect(try await request.serializingString().value == "here")
            #expect(request.attempts.map(\.hops.count) == [2])
        }

        @Test("R2: a long text is made a string elsewhere, and so is a value of the user's type")
        func longWork() async throws {
            struct Value: Decodable, Sendable {
                let depth: Int
                init(from decoder: any Decoder) { depth = ThreadMarks.transportDepth }
            }
            let long = await session.request("http://example.com").serializingString()
            let value = await session.request("http://example.com").serializingDecodable(Value.self)
            transport.answer(body: "{}")
            let text = String(repeating: "x", count: 1 << 16)
            transport.answer(body: text)
            #expect(try await long.value == text)
            #expect(try await value.value.depth == 0)
        }

        @Test("Cancelling while the hop runs ends it, and every awaiter is told")
        func cancelled() async {
            let request = await session.request("http://example.com")
            let string = request.serializingString()
            request.cancel()
            #expect(await string.response.error?.isCancelled == true)
            #expect(request.status == .cancelled)
            await poll { await session.requests.isEmpty }
            transport.answer()
            #expect(await string.response.error?.isCancelled == true, "what comes too late changes nothing")
        }

        @Test("A request that waited for resume() keeps its session from then on")
        func resumed() async throws {
            weak var weakSession: Session?
            let transport = HeldTransport()
            let string: DataTask<String>
            do {
                let session = Session(transport: transport)
                weakSession = session
                let request = await session.request("http://example.com", startsAutomatically: false)
                string = request.serializingString()
                request.resume()
            }
            #expect(weakSession != nil)
            transport.answer()
            #expect(try await string.value == "text")
            #expect(weakSession == nil)
        }

        enum Rival: CaseIterable { case serializer, closure, validator, handler, cancel, awaiter, withdrawal }

        @Test("R4: if the hop's end races another event, every caller is answered once", arguments: Rival.allCases)
        func races(_ rival: Rival) async {
            for _ in 0..<rounds(500, nightly: 2_000) {
                let transport = HeldTransport()
                let session = Session(transport: transport)
                let request = await session.request("http://example.com")
                let data = request.serializingData()
                let awaiter = Task.immediate { await data.response }
                let closure = Gate()
                async let ended: Void = { transport.answer() }()
                async let rivalled: DataResponse<String>? = {
                    switch rival {
                    case .serializer: return await request.serializingString().response
                    case .closure: request.responseData { _ in closure.open() }
                    case .validator: request.validate { _ in }
                    case .handler: request.onRequestCreation { _ in closure.open() }
                    case .cancel: request.cancel()
                    case .awaiter: awaiter.cancel()
                    case .withdrawal: data.cancel()
                    }
                    return nil
                }()
                let (response, other) = await (awaiter.value, rivalled)
                await ended
                if rival == .closure || rival == .handler { await closure.pass() }
                let mayBeCancelled = [.cancel, .awaiter, .withdrawal].contains(rival)
                #expect(response.value == Data("text".utf8) || mayBeCancelled && response.error?.isCancelled == true)
                if rival == .serializer { #expect(other?.value == "text") }
                // A response that has just been delivered is read before the session forgets its request.
                if !mayBeCancelled { await poll { await session.requests.isEmpty } }
            }
        }
    }
#endif
