import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurSecurity

/// Many requests, one refresh.
@Suite("Single-flight refresh", .limited)
struct SingleFlightTests {
    private let refreshes = Counter()
    private let clock = ManualClock()
    private let gate = Gate()

    private func keys(
        _ key: Key, timeout: Duration? = nil, renew: @escaping @Sendable (Key, Session) async throws -> Key
    ) -> Keys {
        let authenticator = KeyAuthenticator { [refreshes] key, session in
            refreshes.increment()
            return try await renew(key, session)
        }
        return Keys(authenticator, credential: key, refreshTimeout: timeout, clock: clock)
    }

    private func session(_ keys: Keys, answer: @escaping @Sendable (TransportRequest) -> StubAnswer = { .guarding($0) })
        -> Session
    {
        Session(
            configuration: .validating, transport: StubTransport(answer: answer), interceptor: .authentication(keys))
    }

    private func start(_ count: Int, _ session: Session) async -> [DataTask<String>] {
        var tasks: [DataTask<String>] = []
        for _ in 0..<count { tasks.append(await session.request("http://h/").serializingString()) }
        return tasks
    }

    // MARK: A thousand requests

    @Test(
        "A thousand parallel requests with an expired or a revoked key: one refresh, by the same session, and all succeed",
        arguments: [Key.old, .revoked])
    func thousand(key: Key) async throws {
        let server = try MockServer()
        server.on("POST", "/key") { request in
            .text(request.headers["Authorization"] == nil ? "new" : "a key on the way to a key")
        }
        server.on("GET", "/data") { request in
            request.headers["Authorization"] == "Key new" ? .text("ok") : .text("no", status: 401)
        }
        let keys = keys(key) { _, session in
            Key(text: try await session.request(server.url + "/key", method: .post).serializingString().value)
        }
        let session = Session(configuration: .validating, interceptor: .authentication(keys))
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<1_000 {
                group.addTask { try await session.request(server.url + "/data").serializingString().value }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers == Array(repeating: "ok", count: 1_000))
        #expect(refreshes.value == 1)
        #expect(server.requests.count { $0.path == "/key" } == 1)
        await server.stop()
    }

    @Test("A refresh that fails fails all that wait for it with its error, and is not begun again for any of them")
    func failing() async throws {
        let keys = keys(.old) { [gate] _, _ in
            await gate.pass()
            throw ForeignError()
        }
        let tasks = await start(1_000, session(keys))
        await keys.waitUntilWaiting(1_000)
        gate.open()
        for task in tasks {
            let error = await task.response.error?.authenticationError
            #expect(error?.code == .refreshFailed)
            #expect(error?.underlying is ForeignError)
        }
        #expect(refreshes.value == 1)
    }

    @Test("A refresh that hangs is given up after its time, also if it does not listen", arguments: [true, false])
    func hanging(listens: Bool) async throws {
        let cancelled = Gate()
        let keys = keys(.old, timeout: .seconds(10)) { [gate] _, _ in
            await withTaskCancellationHandler {
                await gate.pass()
            } onCancel: {
                cancelled.open()
                if listens { gate.open() }
            }
            return .new
        }
        let session = session(keys)
        let tasks = await start(1_000, session)
        await keys.waitUntilWaiting(1_000)
        await clock.waitForSleepers()
        clock.advance(by: .seconds(9))
        #expect(keys.waiting == 1_000)
        clock.advance(by: .seconds(1))
        for task in tasks { #expect(await task.response.error?.authenticationError?.code == .refreshTimedOut) }
        await cancelled.pass()
        // The late result of the abandoned refresh is ignored.
        gate.open()
        #expect(keys.credential == .old)
        #expect(refreshes.value == 1)
    }

    @Test("Cancelling some of the waiting requests leaves the refresh to the others")
    func someCancelled() async throws {
        let keys = keys(.old) { [gate] _, _ in
            await gate.pass()
            try Task.checkCancellation()
            return .new
        }
        let session = session(keys)
        let requests = await withTaskGroup(of: DataRequest.self) { group in
            for _ in 0..<100 { group.addTask { await session.request("http://h/") } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let tasks = requests.map { $0.serializingString() }
        await keys.waitUntilWaiting(100)
        for request in requests[..<99] { request.cancel() }
        for task in tasks[..<99] { #expect(await task.response.error?.isCancelled == true) }
        await keys.waitUntilWaiting(1)
        gate.open()
        #expect(try await tasks[99].value == "ok")
        #expect(refreshes.value == 1)
    }

    @Test("Cancelling all who wait cancels the refresh; the next request begins another one")
    func allCancelled() async throws {
        let cancelled = Gate()
        let keys = keys(.old) { [gate, refreshes] _, _ in
            if refreshes.value > 1 { return .new }
            await withTaskCancellationHandler {
                await gate.pass()
            } onCancel: {
                cancelled.open()
            }
            return Key(text: "late")
        }
        let session = session(keys)
        let tasks = await start(10, session)
        await keys.waitUntilWaiting(10)
        await gate.arrived()
        await session.cancelAllRequests()
        for task in tasks { #expect(await task.response.error?.isCancelled == true) }
        await cancelled.pass()
        #expect(try await session.request("http://h/").serializingString().value == "ok")
        gate.open()
        #expect(keys.credential == .new)
        #expect(refreshes.value == 2)
    }

    // MARK: What comes in between

    @Test("A request that comes while a refusal's refresh is under way waits for it, good as its credential looks")
    func joins() async throws {
        let keys = keys(.revoked) { [gate] _, _ in
            await gate.pass()
            return .new
        }
        let log = TransportLog()
        let session = log.session(.validating, interceptor: .authentication(keys)) { request, _ in .guarding(request) }
        let first = await session.request("http://h/").serializingString()
        await keys.waitUntilWaiting(1)
        let second = await session.request("http://h/").serializingString()
        await keys.waitUntilWaiting(2)
        gate.open()
        #expect(try await first.value == "ok")
        #expect(try await second.value == "ok")
        #expect(log.requests.map { $0["Authorization"] } == ["Key revoked", "Key new", "Key new"])
    }

    @Test(
        "Waiting requests continue with a credential that is set meanwhile, and the refresh is cancelled",
        arguments: [true, false])
    func replaced(byAnother: Bool) async throws {
        let cancelled = Gate()
        let keys = keys(.old) { [gate] _, _ in
            await withTaskCancellationHandler {
                await gate.pass()
            } onCancel: {
                cancelled.open()
            }
            return Key(text: "late")
        }
        let tasks = await start(10, session(keys))
        await keys.waitUntilWaiting(10)
        await gate.arrived()
        keys.credential = byAnother ? .new : nil
        for task in tasks {
            let response = await task.response
            #expect(response.value == (byAnother ? "ok" : nil))
            #expect(response.error?.authenticationError?.code == (byAnother ? nil : .missingCredential))
        }
        await cancelled.pass()
        gate.open()
        #expect(keys.credential == (byAnother ? .new : nil))
        #expect(refreshes.value == 1)
    }

    // MARK: The refresh's own requests

    /// How a request comes to be made inside a refresh.
    enum Making: CaseIterable, Sendable {
        case plainly, inChildTask, inTask
        /// Made by the refresh, and started by a task that knows nothing of it.
        case startedElsewhere
        /// Made before, and started by the refresh.
        case startedInside
        /// By a session of its own with the same interceptor.
        case extended
    }

    @Test(
        "A request that a refresh makes passes its own interceptor, wherever it is made and started",
        arguments: Making.allCases)
    func exempt(_ making: Making) async throws {
        let log = TransportLog()
        let prepared = Protected<DataRequest?>(nil)
        let keys = keys(.old) { _, session in
            let url = "http://h/key"
            let text: String
            switch making {
            case .plainly: text = try await session.request(url).serializingString().value
            case .inChildTask:
                async let value = session.request(url).serializingString().value
                text = try await value
            case .inTask: text = try await Task { try await session.request(url).serializingString().value }.value
            case .startedElsewhere:
                let request = await session.request(url)
                text = try await Task.detached { try await request.serializingString().value }.value
            case .startedInside:
                text = try await prepared.withLock { $0 }?.serializingString().value ?? ""
            case .extended: text = try await session.extending { _ in }.request(url).serializingString().value
            }
            return Key(text: text)
        }
        let session = log.session(.validating, interceptor: .authentication(keys)) { request, _ in
            request.url.path == "/key" ? .text("new") : .guarding(request)
        }
        let request = await session.request("http://h/key")
        prepared.withLock { $0 = request }
        #expect(try await session.request("http://h/").serializingString().value == "ok")
        #expect(log.requests.map { $0["Authorization"] } == [nil, "Key new"])
        prepared.withLock { $0 = nil }
    }

    @Test("A refusal of the refresh's own request is its own: it begins no refresh and waits for none")
    func exemptRefusal() async throws {
        let keys = keys(.revoked) { _, session in
            Key(text: try await session.request("http://h/key").serializingString().value)
        }
        let response = await session(keys).request("http://h/").serializingString().response
        let error = try #require(response.error?.authenticationError)
        #expect(error.code == .refreshFailed)
        #expect((error.underlying as? RequestError)?.statusCode == 401)
        #expect(refreshes.value == 1)
    }

    @Test("A task that a refresh leaves behind is exempt only until the refresh ends")
    func noLongerExempt() async throws {
        let log = TransportLog()
        let left = Protected<Task<String, any Error>?>(nil)
        let keys = keys(.old) { [gate] _, session in
            let task = Task {
                await gate.pass()
                return try await session.request("http://h/later").serializingString().value
            }
            left.withLock { $0 = task }
            return .new
        }
        let session = log.session(.validating, interceptor: .authentication(keys)) { request, _ in .guarding(request) }
        #expect(try await session.request("http://h/").serializingString().value == "ok")
        gate.open()
        #expect(try await left.withLock { $0 }?.value == "ok")
        #expect(log.requests.map { $0["Authorization"] } == ["Key new", "Key new"])
    }
}
