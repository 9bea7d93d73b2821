import Larkspur
import LarkspurTesting

// A chat over WebSockets: two people talk through a server, the server drops a connection, and the chat continues.

@main
struct Chat {
    struct Line: Codable, Sendable {
        let from: String
        let text: String
    }

    static func main() async throws {
        let server = try MockServer()
        let room = Room()
        server.webSocket("/room", protocols: ["chat.v1"]) { socket in try await room.serve(socket) }
        let session = Session(configuration: SessionConfiguration { $0.baseURL = server.url })

        // Ada connects again when her connection is lost, and tells her name after each opening.
        let ada = await session.webSocket("room", protocols: ["chat.v1"], options: options(for: "Ada"))
        let bob = await session.webSocket("room", protocols: ["chat.v1"], options: options(for: "Bob"))
        var adaReads = ada.messages(of: Line.self).makeAsyncIterator()
        var bobReads = bob.messages(of: Line.self).makeAsyncIterator()
        print("Ada is connected with status \(try await ada.opened.status), over \(ada.negotiatedProtocol ?? "-")")
        print("Bob is connected with status \(try await bob.opened.status), over \(bob.negotiatedProtocol ?? "-")")
        await room.waitForMembers(2)

        try await ada.send(json: Line(from: "Ada", text: "Can you hear me?"))
        show(try await bobReads.next(), to: "Bob")
        try await bob.send(json: Line(from: "Bob", text: "Loud and clear."))
        show(try await adaReads.next(), to: "Ada")

        // The server loses Ada's connection. The same request and the same reader continue over the next one.
        await room.drop("Ada")
        await room.waitForMembers(2)
        try await bob.send(json: Line(from: "Bob", text: "Are you still there?"))
        show(try await adaReads.next(), to: "Ada")
        print("Ada has connected \(ada.attempts.count) times")

        try await ada.close(.goingAway, reason: "good night")
        print("Ada:", await ada.closed)
        await room.closeAll()
        print("Bob has more to read:", try await bobReads.next() != nil)
        print("Bob:", await bob.closed)
        await server.stop()
    }

    static func options(for name: String) -> WebSocketOptions {
        WebSocketOptions {
            $0.pingInterval = .seconds(20)
            var rules = WebSocketReconnection.backoff(limit: 5)
            rules.backoff = .init(scale: .milliseconds(10))
            rules.onOpen = { try await $0.send(json: Line(from: name, text: "")) }
            $0.reconnection = rules
        }
    }

    static func show(_ line: Line?, to reader: String) {
        if let line { print("\(reader) reads: \(line.from): \(line.text)") }
    }
}
