import Larkspur
import LarkspurTesting

// Server-sent events: the server drops the connection in the middle of an event, and the stream continues without a
// gap.

@main
struct EventStream {
    struct Score: Decodable, Sendable {
        let home: Int
        let away: Int
    }

    static func main() async throws {
        let server = try MockServer()
        serve(server)
        let session = Session(configuration: SessionConfiguration { $0.baseURL = server.url })

        // Each event as it arrives, over as many connections as necessary
        let scores = await session.streamRequest("scores").serverSentEvents()
        for try await event in scores {
            let score = try event.decode(Score.self)
            print("\(event.event) \(event.id): \(score.home) : \(score.away)")
        }
        print("the server has said that it is over:", scores.state)
        for request in server.requests {
            print("a connection asked for what follows", request.headers["Last-Event-ID"] ?? "the beginning")
        }

        // A response that is not an event stream, with the server's error body
        do {
            for try await _ in await session.streamRequest("tomorrow").serverSentEvents(of: Score.self) {}
        } catch let error as RequestError {
            print("\(error.code):", String(decoding: error.responseData ?? Data(), as: UTF8.self))
        }

        // The same body as lines
        for try await line in await session.streamRequest("scores?plain").lines { print("|", line) }
        await server.stop()
    }

    /// Serves four scores. The first connection breaks within the third. A client that has the fourth learns that it
    /// was the last.
    static func serve(_ server: MockServer) {
        let events = [(1, 0), (1, 1), (2, 1), (2, 2)].enumerated().map { index, score in
            "event: goal\nid: \(index + 1)\ndata: {\"home\": \(score.0), \"away\": \(score.1)}\n\n"
        }
        let head = ResponseHead(status: 200, fields: [HTTPHeader(name: "Content-Type", value: "text/event-stream")])
        server.on("GET", "/scores") { request in
            if request.query != nil { return MockResponse([.head(head), .body(Data(events[3].utf8))]) }
            switch request.headers["Last-Event-ID"] {
            case nil:
                let text = "retry: 100\n\n" + events[0] + events[1] + events[2].prefix(20)
                return MockResponse([.head(head, .chunked), .body(Data(text.utf8)), .close])
            case "4": return .response(204)
            default: return MockResponse([.head(head), .body(Data((events[2] + events[3]).utf8))])
            }
        }
        server.on("GET", "/tomorrow") { _ in .text("no match tomorrow", status: 404) }
    }
}
