import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Child sessions", .limited)
struct SessionExtendingTests {
    private let log = TransportLog()

    private struct User: Codable, Sendable, Equatable {
        var firstName: String
    }

    private static func adapter(_ name: String) -> any RequestInterceptor {
        Interceptor(adapt: { request, _ in request.headers.add(name: "Via", value: name) })
    }

    @Test("A child begins with its parent's configuration, changes its own, and uses the same transport")
    func overriding() async throws {
        let parent = log.session(
            SessionConfiguration {
                $0.baseURL = "http://h/v1"
                $0.headers = ["A": "1", "B": "2"]
                $0.interceptors = [Self.adapter("configured")]
            }, interceptor: Self.adapter("given"))
        let child = parent.extending {
            $0.baseURL = "http://h/v2"
            $0.headers["B"] = "3"
            $0.interceptors.append(Self.adapter("child"))
        }
        for session in [parent, child] { _ = try await session.request("x").serializingData().value }
        #expect(
            log.requests.map { [$0.url.text] + $0.fields.map(\.line) } == [
                ["http://h/v1/x", "A: 1", "B: 2", "Via: configured", "Via: given"],
                ["http://h/v2/x", "A: 1", "B: 3", "Via: configured", "Via: given", "Via: child"],
            ])
    }

    @Test("Validation, encoder and decoder are the child's own")
    func rules() async throws {
        let parent = log.session { _, _ in .json(#"{"first_name": "Ada"}"#, status: 404) }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let child = parent.extending {
            $0.encoder = .json
            $0.decoder = decoder
        }
        let user = User(firstName: "Ada")
        let request = await child.request("http://h/", method: .post, parameters: user)
        #expect(try await request.serializingDecodable(User.self).value == user)
        #expect(log.requests.first?["Content-Type"] == "application/json")
        let answers = AsyncStream<User?>.makeStream()
        request.responseDecodable(of: User.self) { answers.continuation.yield($0.value) }
        #expect(await answers.stream.first { _ in true } == user)

        let strict = child.extending { $0.validation = [.standard] }
        #expect(await strict.request("http://h/").serializingData().response.error?.statusCode == 404)
        #expect(
            await parent.request("http://h/").serializingDecodable(User.self).response.error?.isSerialization == true)
    }

    @Test("Monitors of the parent hear of the child's requests, each session's in order")
    func monitors() async throws {
        let (parents, childs) = (EventRecorder(), EventRecorder())
        let parent = Session(transport: log.transport(), eventMonitors: [parents])
        let child = parent.extending { $0.eventMonitors.append(childs) }
        _ = try await child.request("http://h/").serializingData().value
        _ = try await parent.request("http://h/").serializingData().value
        await parents.wait { events in events.count { $0.name == "finish" } == 2 }
        await childs.wait { events in events.count { $0.name == "finish" } == 1 }
    }

    @Test("Neither holds the other: a child outlives its parent, and ends alone")
    func lifetimes() async throws {
        var parent: Session? = log.session()
        let child = try #require(parent?.extending { $0.headers = ["C": "1"] })
        weak let gone = parent
        parent = nil
        #expect(gone == nil)
        _ = try await child.request("http://h/").serializingData().value
        let sibling = child.extending { _ in }
        await child.invalidate()
        #expect(await child.request("http://h/").serializingData().response.error?.code == .sessionInvalidated)
        _ = try await sibling.request("http://h/").serializingData().value
    }
}
