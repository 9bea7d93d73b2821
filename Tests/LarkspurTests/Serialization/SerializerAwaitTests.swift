import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Serializers that await responses", .limited)
struct SerializerAwaitTests {
    /// The ways in which a serializer can await a response.
    enum Way: CaseIterable, Sendable {
        case itself, childTask, taskGroup, unstructuredTask

        func callAsFunction<Value: Sendable>(
            _ body: @escaping @Sendable () async throws -> Value
        ) async throws -> Value {
            switch self {
            case .itself: return try await body()
            case .childTask:
                async let value = body()
                return try await value
            case .taskGroup:
                return try await withThrowingTaskGroup(of: Value.self) { group in
                    group.addTask { try await body() }
                    return try #require(await group.next())
                }
            case .unstructuredTask: return try await Task { try await body() }.value
            }
        }
    }

    private typealias Serializer = SerializerRulesTests.Serializer

    private let session = Session(
        transport: StubTransport { _ in .text("text") }, interceptor: .retry(limit: 3))

    @Test("A serializer that awaits another one of its own request fails at once", arguments: Way.allCases)
    func attachedInside(way: Way) async throws {
        let request = await session.request("http://h/", startsAutomatically: false)
        let task = request.serializingResponse(
            using: Serializer { _ in try await way { try await request.serializingString().value } })
        request.resume()
        let error = try #require(await task.response.error)
        #expect(error.code == .serializerAwaitsItself)
        #expect(error.stage == .serializing && error.attempts == 1)
        #expect(try await request.serializingData().value == Data("text".utf8))
    }

    @Test(
        "A serializer that awaits an earlier or later one of its own request fails at once", arguments: [false, true])
    func attachedOutside(isBefore: Bool) async throws {
        let request = await session.request("http://h/", startsAutomatically: false)
        let other = Protected<DataTask<String>?>(nil)
        let serializer = Serializer { _ in try await other.withLock { $0 }?.value ?? "" }
        if isBefore { other.withLock { $0 = request.serializingString() } }
        let task = request.serializingResponse(using: serializer)
        if !isBefore { other.withLock { $0 = request.serializingString() } }
        request.resume()
        #expect(await task.response.error?.code == .serializerAwaitsItself)
        #expect(try await other.withLock { $0 }?.value == "text")
    }

    @Test("Awaiting themselves, downloads, uploads, late serializers, and requests that wait for each other fail")
    func otherKinds() async throws {
        let download = await session.download("http://h/")
        let upload = await session.upload(Data("x".utf8), to: "http://h/")
        for request in [download, upload] as [any SerializableRequest] {
            let task = request.serializingResponse(using: Serializer { _ in try await request.serializingData().value })
            #expect(await task.response.error?.code == .serializerAwaitsItself)
            let late = request.serializingResponse(using: Serializer { _ in try await request.serializingData().value })
            #expect(await late.response.error?.code == .serializerAwaitsItself)
        }
        try FileManager.default.removeItem(at: await download.serializingFile().value)
        let (first, second) = (await session.request("http://h/"), await session.request("http://h/"))
        let inner = Serializer { _ in try await first.serializingString().value }
        let outer = Serializer { _ in try await second.serializingResponse(using: inner).value }
        let error = await first.serializingResponse(using: outer).response.error
        #expect((error?.underlying as? RequestError)?.code == .serializerAwaitsItself)
    }

    @Test("A serializer may await another request, and a final response of its own")
    func allowed() async throws {
        let (request, other) = (await session.request("http://h/"), await session.request("http://h/other"))
        let first = request.serializingString()
        #expect(try await first.value == "text")
        let late = request.serializingResponse(
            using: Serializer { _ in try await first.value + other.serializingString().value })
        #expect(try await late.value == "texttext")
    }

    @Test("A task that outlives its serializer may await a response")
    func leftBehind() async throws {
        let request = await session.request("http://h/", startsAutomatically: false)
        let (gate, task) = (Gate(), Protected<Task<String, any Error>?>(nil))
        let left = request.serializingResponse(
            using: Serializer { _ in
                let later = Task {
                    await gate.pass()
                    return try await request.serializingString().value
                }
                task.withLock { $0 = later }
            })
        request.resume()
        try await left.value
        gate.open()
        #expect(try await task.withLock { $0 }?.value == "text")
    }
}
