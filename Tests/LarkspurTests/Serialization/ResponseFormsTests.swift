import Larkspur
import LarkspurTesting
import Testing

@Suite("The forms of an answer", .timeLimit(.minutes(10)))
struct ResponseFormsTests {
    private func request(_ answer: StubAnswer = .json("[7]")) async -> DataRequest {
        await TransportLog().session { _, _ in answer }.request("http://h/p")
    }

    @Test("A serializer gives the same as a handle, by its name, and to a closure")
    func forms() async throws {
        let request = await request()
        let (answers, answered) = AsyncStream.makeStream(of: JSON?.self)
        request.responseJSON {
            answered.yield($0.value)
            answered.finish()
        }
        #expect(await answers.reduce(into: []) { $0.append($1) } == [[7]])
        #expect(try await request.serializingJSON().value == [7])
        #expect(try await request.serializingResponse(using: .json).value == [7])
        #expect(try await request.serializingResponse(using: .string).value == "[7]")
        #expect(try await request.serializingResponse(using: .data).value == Data("[7]".utf8))
    }

    @Test("A named serializer takes the rules for empty bodies, too")
    func emptyBody() async throws {
        let serializing = await request(.response(200)).serializingResponse(using: .json(emptyResponseCodes: [200]))
        #expect(try await serializing.value == .null)
    }

    @Test("A request and its attempts have the head, also as Foundation's value")
    func heads() async throws {
        let request = await request(.response(203, headers: ["X-B": "2", "X-A": "1"]))
        #expect(request.response == nil && request.timeline.isEmpty)
        _ = try await request.serializingData().value
        #expect(request.attempts.map(\.head?.status) == [203])
        #expect(request.timeline.map(\.status) == [203])
        let response = try #require(request.response)
        #expect(response.statusCode == 203)
        #expect(response.headers.filter { $0.name.hasPrefix("X-") }.map(\.value) == ["1", "2"])
    }

    @Test("A handle holds its request, and lets it go on")
    func pace() async throws {
        let request = await request()
        request.suspend()
        let task = request.serializingString()
        #expect(request.status == .suspended)
        task.resume()
        #expect(try await task.value == "[7]")
        task.suspend()
        #expect(request.status == .finished, "it is too late to hold it")
    }

    @Test("A stream is read as lines and as texts")
    func streams() async throws {
        let session = TransportLog().session { _, _ in .text("a\nb\n") }
        var lines: [String] = []
        for try await line in await session.streamRequest("http://h/p").lines { lines.append(line) }
        #expect(lines == ["a", "b"])
        var text = ""
        for try await piece in await session.streamRequest("http://h/p").strings { text += piece }
        #expect(text == "a\nb\n")
    }
}
