import Larkspur
import LarkspurInsight
import LarkspurTesting

// Recording the requests of a session in an HTTP archive, and reading it.
//
// usage: archive [FILE]

@main
struct Archive {
    static func main() async throws {
        let file =
            CommandLine.arguments.dropFirst().first.map { URL(fileURLWithPath: $0) }
            ?? FileManager.default.temporaryDirectory.appendingPathComponent("larkspur-example.har")
        let server = try MockServer()
        serve(server)

        let har = HARRecorder(to: file)
        let session = Session(
            configuration: SessionConfiguration {
                $0.baseURL = server.url
                $0.eventMonitors = [har]
                $0.retryBudget = nil
            },
            interceptor: .retry(backoff: RetryPolicy.Backoff(scale: .milliseconds(5))))
        try await send(over: session, socket: "ws://127.0.0.1:\(server.port)/echo")
        try await har.finish()
        await server.stop()

        for entry in try HARArchive(contentsOf: file).entries { print(summary(of: entry)) }
    }

    /// Sends a request of each kind.
    static func send(over session: Session, socket: String) async throws {
        _ = try await session.request("old").serializingData().value
        _ = try await session.request("busy").validate().serializingData().value
        _ = try await session.request("login", method: .post, parameters: ["user": "Ada", "password": "s3cret"])
            .serializingData().value
        _ = try await session.request("picture?page=2").serializingData().value
        var form = MultipartFormData()
        form.append("Ada", name: "name")
        form.append(Data("x,y".utf8), name: "table", fileName: "table.csv", mimeType: "text/csv")
        _ = try await session.upload(form, to: "form").serializingData().value
        _ = await session.request("http://127.0.0.1:1/").serializingData().response

        let connection = await session.webSocket(socket)
        var echoes = connection.messages.makeAsyncIterator()
        for message in [WebSocketMessage.text("hello"), .data(Data([1, 2, 0xFF]))] {
            try await connection.send(message)
            _ = try await echoes.next()
        }
        try await connection.close()
        _ = await connection.closed
    }
}
