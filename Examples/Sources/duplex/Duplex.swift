import Larkspur
import LarkspurTesting

// A game by mail: each move is sent after the server's reply to the move before, all in one request and one response.

@main
struct Duplex {
    static func main() async throws {
        let server = try MockServer()
        server.on("POST", "/game", reading: .live) { request in
            let opponent = Opponent(request.pieces)
            return MockResponse([
                .interim(103, ["Link": "</board.svg>; rel=preload"]), .head(ResponseHead(status: 200)),
                .pieces { await opponent.reply() }, .trailers(["X-Result": "draw"]),
            ])
        }
        let session = Session(configuration: SessionConfiguration { $0.baseURL = server.url })

        let (moves, next) = AsyncStream.makeStream(of: Data.self)
        let game = await session.streamRequest("game", method: .post, body: .sequence(moves))
        var replies = game.validate().lines.makeAsyncIterator()

        for move in ["e4", "Nf3", "Bb5"] {
            print("White plays \(move)")
            next.yield(Data("\(move)\n".utf8))
            print("Black plays \(try await replies.next() ?? "nothing")")
        }
        next.finish()  // the body ends here, and the server ends its response then
        print("More replies:", try await replies.next() != nil)

        let end = await game.completion
        print("Hints:", await game.hints.joined(separator: ", "))
        print("Result:", end.trailers?["X-Result"] ?? "unknown")
        print("Sent \(end.metrics?.requestBodyBytes ?? 0) bytes, received \(end.metrics?.responseBodyBytes ?? 0)")
        await server.stop()
    }

    /// The server's side, which answers each piece of the request's body.
    actor Opponent {
        private var replies = ["e5", "Nc6", "a6"][...]
        private let moves: AsyncStream<Data>

        init(_ moves: AsyncStream<Data>) { self.moves = moves }

        func reply() async -> Data? {
            for await _ in moves { return replies.popFirst().map { Data("\($0)\n".utf8) } }
            return nil
        }
    }
}

extension DataStreamRequest {
    /// The links of the early hints.
    var hints: [String] {
        get async {
            var links: [String] = []
            for await head in informationalResponses { links += head.values(for: "Link") }
            return links
        }
    }
}
