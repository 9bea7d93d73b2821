import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Serializers: chained, held, retried, late", .limited)
struct SerializerRulesTests {
    let exchanges = Counter()

    /// Returns a session whose server answers with the number of the exchange.
    private func session(interceptor: (any RequestInterceptor)? = nil) -> Session {
        Session(
            transport: StubTransport { [exchanges] _ in .text("\(exchanges.increment())") }, interceptor: interceptor)
    }

    /// A serializer with a closure.
    struct Serializer<Value: Sendable>: ResponseSerializer {
        let make: @Sendable (CompletedExchange) async throws -> Value
        func serialize(_ exchange: CompletedExchange) async throws -> Value { try await make(exchange) }
    }

    struct Refused: Error {}

    @Test("P13: one exchange serves all serializers of a request")
    func shared() async throws {
        let request = await session().request("http://example.com")
        let first = request.serializingString()
        let second = request.serializingData()
        #expect(try await first.value == "1")
        #expect(try await second.value == Data("1".utf8))
        #expect(try await first.value == "1", "a value can be awaited again")
        #expect(exchanges.value == 1)
    }

    @Test("P13: serializers run one after another, in the order in which they were attached")
    func oneAfterAnother() async {
        let log = HandlerLog()
        let running = Counter()
        let session = session()
        let request = await session.request("http://example.com", startsAutomatically: false)
        let tasks = (0..<20).map { number in
            request.serializingResponse(
                using: Serializer { _ in
                    #expect(running.increment() == number + 1)
                    await Task.yield()
                    log.note(number)
                })
        }
        request.resume()
        for task in tasks { _ = await task.response }
        #expect(log.read.1 == Array(0..<20))
    }

    @Test("P13: all completions are held until the last serializer has ended, then delivered in order")
    func held() async {
        let gate = Gate()
        let log = HandlerLog()
        let session = session()
        let request = await session.request("http://example.com", startsAutomatically: false)
        let done = Gate()
        request.responseString { _ in log.note(1) }
        request.response(using: Serializer { _ in await gate.pass() }) { _ in log.note(2) }
        request.responseData { _ in
            log.note(3)
            done.open()
        }
        request.resume()
        await gate.arrived()
        #expect(log.read.1.isEmpty, "the first serializer has ended, but its closure waits for the others")
        gate.open()
        await done.pass()
        #expect(log.read.1 == [1, 2, 3])
    }

    @Test("P14: retriers decide about a serializer's failure, and a retry delivers nothing from the first attempt")
    func retried() async throws {
        let asked = Counter()
        let session = session(
            interceptor: .retrier { _, _, error in
                #expect(error.stage == .serializing)
                #expect(error.responseData == Data("1".utf8))
                asked.increment()
                return .retry
            })
        let request = await session.request("http://example.com", startsAutomatically: false)
        let first = request.serializingString()
        let second = request.serializingResponse(
            using: Serializer { exchange in
                if exchange.attempts == 1 { throw Refused() }
                return exchange.attempts
            })
        request.resume()
        #expect(try await first.value == "2")
        #expect(try await second.value == 2)
        #expect(asked.value == 1)
        #expect(request.retryCount == 1)
    }

    @Test("P14: a retrier's own error replaces only that serializer's error")
    func replaced() async throws {
        struct TooOften: Error {}
        let session = session(interceptor: .retrier { _, _, _ in .doNotRetryWithError(TooOften()) })
        let request = await session.request("http://example.com", startsAutomatically: false)
        let good = request.serializingString()
        let bad = request.serializingResponse(using: Serializer<Int> { _ in throw Refused() })
        request.resume()
        #expect(try await good.value == "1")
        let error = await bad.response.error
        #expect(error?.code == .retryFailed)
        let failed = try #require(error?.underlying as? RetryFailed)
        #expect(failed.retryError is TooOften)
        #expect(failed.originalError.underlying is Refused)
    }

    @Test("P12: every serializer gets the error of a failed exchange, and may return a value instead")
    func recovers() async throws {
        struct Forgiving: ResponseSerializer {
            func serialize(_ exchange: CompletedExchange) -> String { "fine" }
            func recover(from error: RequestError, _ exchange: CompletedExchange) -> String {
                "recovered \(error.code)"
            }
        }
        let session = Session(transport: StubTransport { _ in .text("no", status: 500) })
        let request = await session.request("http://example.com").validate()
        #expect(try await request.serializingResponse(using: Forgiving()).value == "recovered unacceptableStatus")
        #expect(await request.serializingString().response.error?.code == .unacceptableStatus)
        #expect(await request.serializingString().response.data == Data("no".utf8))
    }

    @Test("P15: a late serializer uses the stored bytes, once, and no retrier runs")
    func late() async throws {
        let asked = Counter()
        let session = session(
            interceptor: .retrier { _, _, _ in
                asked.increment()
                return .retry
            })
        let request = await session.request("http://example.com")
        #expect(try await request.serializingString().value == "1")
        let runs = Counter()
        let late = request.serializingResponse(using: Serializer { _ in runs.increment() })
        #expect(try await late.value == 1)
        #expect(try await late.value == 1)
        let failing = request.serializingResponse(using: Serializer<Int> { _ in throw Refused() })
        #expect(await failing.response.error?.underlying is Refused)
        #expect(asked.value == 0)
        #expect(exchanges.value == 1)
    }

    @Test("P14: retriers decide about each failed serializer, but not after the request is cancelled")
    func eachAsks() async {
        let journal = Journal()
        let session = session(
            interceptor: .retrier { request, _, error in
                journal.note("\(error.underlying as? ForeignError ?? ForeignError())")
                if error.underlying as? ForeignError == ForeignError(description: "b") { request.cancel() }
                return .doNotRetry
            })
        let request = await session.request("http://example.com", startsAutomatically: false)
        let tasks = ["a", "b", "c"].map { name in
            request.serializingResponse(using: Serializer<Int> { _ in throw ForeignError(description: name) })
        }
        request.resume()
        for task in tasks { #expect(await task.response.error?.isCancelled == true, "all are held until the end") }
        #expect(journal.lines == ["a", "b"])
    }

    private struct Forgiving: ResponseSerializer {
        let journal: Journal
        func serialize(_ exchange: CompletedExchange) -> Int { journal.count("serialize") }
        func recover(from error: RequestError, _ exchange: CompletedExchange) -> Int { journal.count("recover") }
    }

    @Test("P12: no serializer can recover from a cancel")
    func cancelledRecoversNothing() async {
        let (journal, session) = (Journal(), session())
        let request = await session.request("http://example.com", startsAutomatically: false)
        let task = request.serializingResponse(using: Forgiving(journal: journal))
        request.cancel()
        #expect(await task.response.error?.isCancelled == true)
        #expect(journal.lines.isEmpty)
    }

    @Test("P15: late closures are called once each, in order, also for a cancelled request", arguments: [false, true])
    func lateClosures(isCancelled: Bool) async {
        let request = await session().request("http://example.com")
        if isCancelled { request.cancel() }
        _ = await request.serializingData().response
        let journal = Journal()
        let done = Gate()
        for number in 0..<50 {
            request.responseString { response in
                journal.note("\(number) \(response.error?.isCancelled == true ? "cancelled" : response.value ?? "")")
                // Also from within a closure.
                if number == 49 {
                    request.responseData { response in
                        #expect(response.error?.isCancelled == (isCancelled ? true : nil))
                        done.open()
                    }
                }
            }
        }
        await done.pass()
        #expect(journal.lines == (0..<50).map { "\($0) \(isCancelled ? "cancelled" : "1")" })
        #expect(exchanges.value == (isCancelled ? 0 : 1))
    }

    @Test("P15: a late serializer of a cancelled request fails with the cancel")
    func lateAfterCancel() async {
        let request = await session().request("http://example.com")
        request.cancel()
        #expect(await request.serializingString().response.error?.isCancelled == true)
        #expect(await request.serializingData().response.error?.isCancelled == true)
        #expect(exchanges.value == 0)
    }

    @Test("P15: a closure may attach further closures, and await further serializers")
    func nested() async {
        let request = await session().request("http://example.com")
        let done = Gate()
        let log = HandlerLog()
        request.responseString { [request] _ in
            log.note(1)
            request.responseData { _ in
                log.note(3)
                done.open()
            }
            #expect(try! await request.serializingString().value == "1")
            log.note(2)
        }
        await done.pass()
        #expect(log.read.1 == [1, 2, 3])
        #expect(exchanges.value == 1)
    }

    @Test("R4: 10,000 serializers attached from 8 tasks racing completion: each answered exactly once, in order")
    func race() async throws {
        for round in 0..<2 {
            let gate = Gate()
            let session = session(
                interceptor: .adapter { _, _ in
                    await gate.pass()
                    for _ in 0..<(round * 50) { await Task.yield() }
                })
            let request = await session.request("http://example.com").resume()
            let answered = Protected<[[Int]]>(Array(repeating: [], count: 8))
            let last = Gate()
            await withTaskGroup(of: Void.self) { group in
                for worker in 0..<8 {
                    group.addTask {
                        for number in 0..<1_250 {
                            request.responseString { response in
                                #expect(response.value?.isEmpty == false)
                                answered.withLock { $0[worker].append(number) }
                                await last.passThrough()
                            }
                            if number == 100 { gate.open() }
                        }
                    }
                }
            }
            await last.arrived(10_000)
            let order = answered.withLock { $0 }
            for worker in 0..<8 { #expect(order[worker] == Array(0..<1_250)) }
        }
    }

    @Test(
        "R4: 16,000 closures and handles attached by 8 tasks to 40 requests that complete meanwhile: each answered once"
    )
    func manyRequests() async {
        let session = session()
        let (rounds, share) = (40, 25)
        let answered = Protected<[Int: Int]>([:])
        let early = Counter()
        let last = Gate()
        for round in 0..<rounds {
            let gate = Gate()
            let request = await session.request(
                "http://example.com", interceptor: .adapter { _, _ in await gate.pass() }
            )
            .resume()
            await withTaskGroup(of: Void.self) { group in
                for worker in 0..<8 {
                    group.addTask {
                        var handles: [(Int, DataTask<String>)] = []
                        for number in 0..<share {
                            if worker == 0, number == round % share { gate.open() }
                            let name = (round * 8 + worker) * share * 2 + number * 2
                            request.responseData { response in
                                if response.value?.isEmpty == false { answered.withLock { $0[name, default: 0] += 1 } }
                                await last.passThrough()
                            }
                            if request.status != .finished { early.increment() }
                            handles.append((name + 1, request.serializingString()))
                            // Serializers that this worker attaches from here on are late, whatever the other workers
                            // do.
                            if worker == 7, number == share / 2 { _ = await handles[0].1.response }
                            if number % 5 == worker % 5 { await Task.yield() }
                        }
                        for (name, handle) in handles where await handle.response.value?.isEmpty == false {
                            answered.withLock { $0[name, default: 0] += 1 }
                        }
                    }
                }
            }
        }
        await last.arrived(rounds * 8 * share)
        let counts = answered.withLock { $0 }
        #expect(counts.count == 2 * rounds * 8 * share && counts.values.allSatisfy { $0 == 1 })
        #expect(exchanges.value == rounds)
        #expect((1..<rounds * 8 * share).contains(early.value), "some came before the end and some after")
    }

    @Test("R4: 10,000 handles awaited from 8 tasks racing completion: each answered exactly once")
    func awaitedRace() async throws {
        let gate = Gate()
        let session = session(interceptor: .adapter { _, _ in await gate.pass() })
        let request = await session.request("http://example.com").resume()
        let answers = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var answers = 0
                    var early: [DataTask<String>] = []
                    for number in 0..<1_250 {
                        let task = request.serializingString()
                        if number == 50 { gate.open() }
                        // The handles before the gate's opening are awaited last, because this task must reach the
                        // gate.
                        if number < 50 { early.append(task) } else if await task.response.value == "1" { answers += 1 }
                    }
                    for task in early where await task.response.value == "1" { answers += 1 }
                    return answers
                }
            }
            return await group.reduce(0, +)
        }
        #expect(answers == 10_000)
        #expect(exchanges.value == 1)
    }
}

extension Gate {
    /// Counts an arrival without waiting.
    func passThrough() async {
        open()
        await pass()
    }
}
