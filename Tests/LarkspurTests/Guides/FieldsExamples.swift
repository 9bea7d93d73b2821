import Larkspur
import LarkspurTesting
import TestSupport
import Testing

// The code of the guide to trailers and interim responses, and of the part about both directions in the guide to
// streams, word for word.

@Suite("The guide to trailers and interim responses", .limited)
struct FieldsExamples {
    @Sendable private static func lines() -> AsyncStream<Data> {
        AsyncStream { pieces in
            pieces.yield(Data("line\n".utf8))
            pieces.finish()
        }
    }

    @Test("Trailers of a response and of a request")
    func trailers() async throws {
        let server = try MockServer { request in
            MockResponse([
                .head(ResponseHead(status: 200)), .body(request.body), .trailers(request.trailers),
            ])
        }
        let (url, session, lines) = (server.url, Session(), Self.lines)
        let sum = { @Sendable in "crc32=7" }

        let report = await session.request(url).serializingData().response
        print(report.trailers?["Server-Timing"] ?? "no trailers")

        let response = await session.request(url).serializingData().response
        print(response.metrics?.protocolName ?? "unknown")

        let checked = await session.request(url) {
            $0.options.decodesContent = false
        }.validate(using: .contentDigest)
        #expect(await checked.serializingData().response.error?.code == .checksumMismatch)

        let upload = await session.upload(
            .sequence { lines() }.contentDigest(), to: url)
        let echo = try await upload.validate(using: .contentDigest).serializingString().value
        #expect(echo == "line\n")

        let own = await session.upload(
            .sequence { lines() }.trailers("X-Sum") { ["X-Sum": sum()] },
            to: url)
        #expect(await own.serializingData().response.trailers == ["X-Sum": "crc32=7"])
        await server.stop()
    }

    @Test("Interim responses")
    func interim() async throws {
        let server = try MockServer { _ in
            MockResponse([.interim(103, ["Link": "</a.css>; rel=preload"])] + MockResponse.text("ok").steps)
        }
        let (url, session) = (server.url, Session())
        let links = Journal()
        let preload = { @Sendable (link: String) in links.note(link) }

        let page = await session.request(url).onInformationalResponse { head in
            for link in head.links where link.relations.contains("preload") {
                preload(link.target)
            }
        }
        for await head in page.informationalResponses { print(head.status) }
        #expect(try await page.serializingString().value == "ok")
        await poll { links.lines == ["/a.css"] }
        await server.stop()
    }

    @Test("Both directions at once")
    func duplex() async throws {
        let server = try MockServer()
        server.on("POST", "/", reading: .live) { request in
            var count = 0
            for await _ in request.pieces { count += 1 }
            return .text(count > 0 ? "one\ntwo\n" : "")
        }
        let (url, session) = (server.url, Session())

        let (moves, next) = AsyncStream.makeStream(of: Data.self)
        let duplex = await session.streamRequest(
            url, method: .post, body: .sequence(moves))
        next.yield(Data("e4\n".utf8))
        next.finish()  // ends the request's body, and not the response
        for try await reply in duplex.lines { print(reply) }
        #expect(await duplex.completion.error == nil)
        await server.stop()
    }
}
