import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("The forms of a response", .limited)
struct ResponseFormsTests {
    private let log = TransportLog()

    @Test("A serializer has the same result by its handle, by its name and in a closure")
    func forms() async throws {
        let session = log.session { _, _ in .json("[7]") }
        let (request, seven) = (await session.request("http://h/p"), JSON.array([7]))
        let (answers, answered) = AsyncStream.makeStream(of: JSON?.self)
        request.responseJSON {
            answered.yield($0.value)
            answered.finish()
        }
        for await answer in answers { #expect(answer == seven) }
        #expect(try await request.serializingJSON().value == seven)
        #expect(try await request.serializingResponse(using: .json).value == seven)
        #expect(try await request.serializingResponse(using: .string).value == "[7]")
        #expect(try await request.serializingResponse(using: .data).value == Data("[7]".utf8))
        withExtendedLifetime(session) {}
    }

    @Test("A named serializer has the parameters for empty bodies too")
    func emptyBody() async throws {
        let request = await log.session { _, _ in .response(200) }.request("http://h/p")
        let serializing = request.serializingResponse(using: .json(emptyResponseCodes: [200]))
        #expect(try await serializing.value == .null)
    }

    @Test("A request and its attempts have the head, also as Foundation's type")
    func heads() async throws {
        let session = log.session { _, _ in .response(203, headers: ["X-B": "2", "X-A": "1"]) }
        let request = await session.request("http://h/p")
        #expect(request.response == nil && request.timeline.isEmpty)
        _ = try await request.serializingData().value
        #expect(request.attempts.map(\.head?.status) == [203])
        #expect(request.timeline.map(\.hop.head?.status) == [203])
        let response = try #require(request.response)
        #expect(response.statusCode == 203)
        #expect(response.headers.filter { $0.name.hasPrefix("X-") }.map(\.value) == ["1", "2"])
        withExtendedLifetime(session) {}
    }

    @Test("A handle holds its request, and resumes it")
    func pace() async throws {
        let session = log.session { _, _ in .json("[7]") }
        let request = await session.request("http://h/p")
        request.suspend()
        let task = request.serializingString()
        #expect(request.status == .suspended)
        task.resume()
        #expect(try await task.value == "[7]")
        task.suspend()
        #expect(request.status == .finished, "it is too late to hold it")
        withExtendedLifetime(session) {}
    }

    @Test("A stream is read as lines and as strings")
    func streams() async throws {
        let session = log.session { _, _ in .text("a\nb\n") }
        var lines: [String] = []
        for try await line in await session.streamRequest("http://h/p").lines { lines.append(line) }
        #expect(lines == ["a", "b"])
        var text = ""
        for try await piece in await session.streamRequest("http://h/p").strings { text += piece }
        #expect(text == "a\nb\n")
    }
}
