import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Adapters", .limited)
struct AdapterTests {
    private let log = TransportLog()
    private let journal = Journal()

    /// Appends its name to a field, so that the order can be read from what is sent.
    private func marking(_ name: String) -> Interceptor {
        Interceptor(adapt: { [journal] request, _ in
            journal.note(name)
            request.headers["X-Way"] = (request.headers["X-Way"] ?? "") + name
        })
    }

    private func failing(_ name: String) -> Interceptor {
        Interceptor(adapt: { [journal] _, _ in
            journal.note(name)
            throw ForeignError(description: name)
        })
    }

    @Test("Adapters fold: the session's first, then the request's, in the order of attachment")
    func order() async throws {
        let session = log.session(
            interceptor: .composed(marking("1"), .composed(marking("2"), marking("3")), marking("4")))
        let request = await session.request("http://h/", headers: ["X-Way": "0"], interceptor: marking("5"))
        request.interceptor(marking("6")).adapt(using: marking("7"))
        _ = try await request.serializingData().value
        #expect(log.requests.first?["X-Way"] == "01234567")
    }

    @Test("Adapters see the built request: the modifier's work, the encoder's, the session's fields")
    func afterBuilding() async throws {
        let session = log.session(SessionConfiguration { $0.headers = ["X-Session": "s"] })
        let request = await session.request(
            "http://h/", method: .put, parameters: ["a": 1],
            interceptor: .adapter { [journal] request, _ in
                journal.note("\(request.method) \(request.headers.map(\.name).joined(separator: " "))")
            }
        ) { $0.headers["X-Modifier"] = "m" }
        _ = try await request.serializingData().value
        #expect(journal.lines == ["PUT X-Modifier Content-Type X-Session"])
    }

    @Test("The first failure stops the others and the sending, and is the request's error")
    func firstFailure() async throws {
        let session = log.session(interceptor: .composed(marking("1"), failing("2"), failing("3")))
        let request = await session.request("http://h/", interceptor: marking("4"))
        let error = try #require(await request.serializingData().response.error)
        #expect(error.code == .adaptationFailed)
        #expect(error.stage == .adapting)
        #expect(error.underlying as? ForeignError == ForeignError(description: "2"))
        #expect(journal.lines == ["1", "2"])
        #expect(log.count == 0)
        #expect(request.attempts.count == 1)
        #expect(request.attempts.first?.hops.isEmpty == true)
    }

    @Test("A RequestError that an adapter throws keeps its code")
    func ownError() async throws {
        let code = RequestError.Code(rawValue: "noToken")
        let request = await log.session().request(
            "http://h/", interceptor: .adapter { _, _ in throw RequestError(code, "-") })
        let error = try #require(await request.serializingData().response.error)
        #expect(error.code == code)
        #expect(error.stage == .adapting)
    }

    @Test("An adapter may wait, and knows session, request and attempt")
    func state() async throws {
        let clock = ManualClock()
        let session = log.session()
        let request = await session.request("http://h/")
        request.adapt(
            using: Interceptor(adapt: { [id = request.id] _, state in
                #expect(state.requestID == id)
                #expect(state.session === session)
                #expect(state.attempt == 1)
                try await clock.sleep(for: .seconds(1))
            }))
        let task = request.serializingData()
        await clock.waitForSleepers()
        #expect(log.count == 0)
        clock.advance(by: .seconds(1))
        #expect(await task.response.error == nil)
        #expect(log.count == 1)
    }

    @Test("Building, modifier and every adapter run again on every attempt, over a fresh request")
    func everyAttempt() async throws {
        let session = log.session(
            interceptor: .adapter { [journal] request, state in
                journal.note("s\(state.attempt)")
                request.headers.add(name: "X-S", value: "\(state.attempt)")
            }
        ) { _, number in number < 3 ? .failure(.timedOut) : .text("ok") }
        let request = await session.request("http://h/") { [journal] request in
            journal.note("m")
            request.headers.add(name: "X-M", value: "m")
        }
        request.adapt(using: Interceptor(adapt: { [journal] _, state in journal.note("r\(state.attempt)") }))
        request.retry(using: Interceptor(retry: { _, _, _ in .retry }))
        _ = try await request.serializingData().value
        #expect(journal.lines == ["m", "s1", "r1", "m", "s2", "r2", "m", "s3", "r3"])
        #expect(log.requests.map { $0.fields.map(\.description) } == (1...3).map { ["X-M: m", "X-S: \($0)"] })
        #expect(request.attempts.map { $0.request?.headers["X-S"] } == ["1", "2", "3"])
    }

    @Test("An adapter may replace the whole request")
    func replacing() async throws {
        let other = OutgoingRequest(method: .put, url: try RequestURL("https://other/x"), body: .data(Data("new".utf8)))
        let session = log.session(interceptor: .adapter { request, _ in request = other })
        let response = await session.request("http://h/", headers: ["X": "1"]).serializingData().response
        let sent = try #require(log.requests.first)
        #expect(sent.method == "PUT" && sent.url.text == "https://other/x" && sent.text == "new")
        #expect(sent.fields.isEmpty)
        #expect(response.request?.url.text == "https://other/x")
    }

    @Test("An interceptor with nothing set changes nothing and retries nothing")
    func defaults() async throws {
        let session = log.session(interceptor: .composed(Interceptor(adapt: nil), .composed())) { _, _ in
            .failure(.connectionLost)
        }
        let request = await session.request("http://h/", headers: ["X": "1"])
        #expect(await request.serializingData().response.error?.code == .connectionLost)
        #expect(log.requests.map { $0.fields.map(\.name) } == [["X"]])
    }

    @Test("Adapter and retrier of other types make one interceptor")
    func otherTypes() async throws {
        struct Marker: RequestAdapter {
            func adapt(_ request: inout OutgoingRequest, using state: RequestAdapterState) {
                request.headers["X"] = "1"
            }
        }
        struct Once: RequestRetrier {
            func retry(_ request: any Request, for session: Session, dueTo error: RequestError) -> RetryResult {
                request.retryCount < 1 ? .retry : .doNotRetry
            }
        }
        let session = log.session(interceptor: Interceptor(adapter: Marker(), retrier: Once())) { _, _ in
            .failure(.connectionLost)
        }
        _ = await session.request("http://h/").serializingData().response
        #expect(log.requests.map { $0["X"] } == ["1", "1"])
        let adapterOnly = TransportLog()
        let request = await adapterOnly.session { _, _ in .failure(.connectionLost) }.request("http://h/")
        request.adapt(using: Marker()).retry(using: Once())
        _ = await request.serializingData().response
        #expect(adapterOnly.requests.map { $0["X"] } == ["1", "1"])
    }
}
