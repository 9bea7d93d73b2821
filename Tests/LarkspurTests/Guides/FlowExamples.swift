import Larkspur
import LarkspurTesting
import TestSupport
import Testing

// The code of the guides to batches, groups, limits and pages, word for word.

private struct User: Codable, Sendable {
    let name: String
}

private struct Repo: Codable, Sendable {
    let name: String
}

private struct RepoList: Codable, Sendable {
    let repos: [Repo]
    let nextCursor: String?
    let next: String?
}

extension Endpoint where Response == User {
    fileprivate static func user(_ id: Int) -> Self { Endpoint(.get, "users/\(id)") }
}

/// A value behind a lock, with the interface of `Mutex`, which needs newer systems of Apple.
private final class Mutex<Value: Sendable>: Sendable {
    private let box: Protected<Value>

    init(_ value: Value) { box = Protected(value) }

    func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result { box.withLock { body(&$0) } }
}

private final class Pause: HopAdmission {
    // swift-format-ignore
    private let state = Mutex<(isPaused: Bool, waiting: [PendingHop])>(
        (false, []))

    func admit(_ hop: PendingHop) {
        let waits = state.withLock { state in
            if state.isPaused { state.waiting.append(hop) }
            return state.isPaused
        }
        if !waits { hop.admit() }
    }

    func withdraw(_ hop: PendingHop) {
        state.withLock { state in
            state.waiting.removeAll { $0 == hop }
        }
    }

    func set(isPaused: Bool) {
        let waiting = state.withLock { state in
            state.isPaused = isPaused
            let waiting = isPaused ? [] : state.waiting
            if !isPaused { state.waiting = [] }
            return waiting
        }
        for hop in waiting { hop.admit() }
    }
}

@Suite("The guides to batches, limits and pages", .limited)
struct FlowExamples {
    private let session = Session(
        configuration: SessionConfiguration { $0.baseURL = "https://api.example.com" },
        transport: StubTransport { request in
            switch request.url.path {
            case "/films", "/posters", "/login", "/account": .text("ok")
            case "/repos": .json(#"[{"name": "larkspur"}]"#)
            default: .json(#"{"name": "Ada"}"#)
            }
        })

    @Test("Batches")
    func batches() async {
        let ids = [1, 2, 3]
        // swift-format-ignore
        let users = await session.batch(
            ids.map { Endpoint.user($0) }, atOnce: 8
        ) { progress in
            print("\(progress.finished) of \(progress.total)")
        }
        for case .success(let user) in users.map(\.result) { print(user.name) }
        #expect(users.compactMap(\.value?.name) == ["Ada", "Ada", "Ada"])
        for (id, response) in zip(ids, users) {
            if let error = response.error { print(id, error) }
        }

        let endpoints = ids.map { Endpoint.user($0) }
        let shown = Counter()
        func show(_ response: DataResponse<User>, at index: Int) { shown.increment() }
        let responses = session.responses(to: endpoints, atOnce: 8)
        for await (index, response) in responses {
            show(response, at: index)
        }
        #expect(shown.value == 3)
    }

    @Test("Groups")
    func groups() async throws {
        let group = RequestGroup(session, atOnce: 4)
        let films = await session.request("films").validate()
        let posters = await session.request("posters").validate()
        try group.add(films)
        try group.add(posters, after: [films])
        films.responseString { response in print(response.value ?? "no films") }
        let text = posters.serializingString()
        try await group.run()
        print(try await text.value)
        #expect(group.currentProgress.finished == 2)

        let signedIn = RequestGroup(session)
        let login = await session.request("login", method: .post).validate()
        try signedIn.add(login)
        let key = login.serializingString()
        // swift-format-ignore
        let account = await session.request(
            "account",
            interceptor: Interceptor(adapt: { request, _ in
                request.headers["X-Session"] = try await key.value
            })
        ).validate()
        try signedIn.add(account, after: [login])
        try await signedIn.run()
        #expect(account.attempts.last?.request?.headers["X-Session"] == "ok")
    }

    @Test("Limits")
    func limits() async throws {
        // swift-format-ignore
        let configuration = SessionConfiguration {
            $0.limits = RequestLimits(total: 256, perHost: 16, queue: 10_000)
            $0.rateLimit = RateLimiter(
                .perHost, 100, per: .seconds(1), burst: 20)
            $0.coalescing = .identicalReads
            $0.circuitBreaker = CircuitBreaker()
            $0.hedging = Hedging(after: .percentile(0.95))
        }
        #expect(configuration.limits?.total == 256 && configuration.middleware.count == 1)
        let page = await session.request("films").priority(.high)
        let prefetch = await session.request("films/2").priority(.background)
        #expect(await page.serializingString().response.value == "ok")
        #expect(await prefetch.serializingString().response.error == nil)
        // swift-format-ignore
        let perUser = RateLimiter(
            .by { request in
                request.url.path.hasPrefix("/search") ? "search" : nil
            },
            10, per: .seconds(60))
        let error = RequestError(.circuitOpen, "the circuit is open")
        if let circuit = error.underlying as? CircuitOpen {
            print("\(circuit.origin) is tried again in \(circuit.retryAfter)")
        }
        _ = perUser
    }

    #if os(Linux)
        @Test("Slow requests")
        func hedging() {
            // swift-format-ignore
            let hedging = HedgingTransport(
                CurlTransport(), after: .percentile(0.95), atMost: 0.05)
            let session = Session(transport: hedging)
            #expect(hedging.statistics.requests == 0)
            withExtendedLifetime(session) {}
        }
    #endif

    @Test("Rules of one's own")
    func rules() async throws {
        let paused = SessionConfiguration { $0.admissions = [Pause()] }
        let pause = try #require(paused.admissions.first as? Pause)
        pause.set(isPaused: true)
        let session = Session(configuration: paused, transport: StubTransport { _ in .text("ok") })
        let recorder = EventRecorder()
        let request = await session.request("http://h/").eventMonitor(recorder)
        let task = request.serializingString()
        await recorder.wait { $0.contains { $0.name == "awaitAdmission" } }
        pause.set(isPaused: false)
        #expect(await task.response.value == "ok")
    }

    @Test("Pages")
    func pages() async throws {
        let url = "https://api.example.com/repos"
        // swift-format-ignore
        let pages = session.pages(of: [Repo].self, from: url, by: .linkHeader)
        for try await page in pages {
            print(page.map(\.name))
        }
        // swift-format-ignore
        let byCursor = session.pages(
            of: RepoList.self, from: url,
            by: .cursor(in: \.nextCursor, parameter: "cursor"))
        // swift-format-ignore
        let byPath = session.pages(
            of: RepoList.self, from: url,
            by: .cursor(in: "meta.next", parameter: "cursor"))
        let byNumber = session.pages(
            of: [Repo].self, from: url, by: .pageNumber(parameter: "page"))
        // swift-format-ignore
        let byClosure = session.pages(
            of: RepoList.self, from: url,
            by: .custom { response in response.value?.next })
        // swift-format-ignore
        let quiet = session.pages(
            of: [Repo].self, from: url, by: .linkHeader
        ) { request in
            request.priority(.background).timeout(.total(.seconds(10)))
        }
        for try await page in quiet { #expect(page.count == 1) }
        _ = (byCursor, byPath, byNumber, byClosure)
    }
}
