import Larkspur
import LarkspurInsight
import LarkspurTesting

extension Archive {
    static func serve(_ server: MockServer) {
        server.on("GET", "/old", .redirect(to: "/new"))
        server.on("GET", "/new", .json(#"{"name":"Ada","token":"s3cret"}"#))
        server.on("GET", "/busy", .text("busy", status: 503), .text("ok"))
        server.on("POST", "/login", .response(headers: ["Set-Cookie": "session=s3cret; Path=/; HttpOnly"]))
        let picture = Data([0x89, 0x50, 0x4E, 0x47, 0x00, 0xFF])
        server.on("GET", "/picture", .response(headers: ["Content-Type": "image/png"], chunks: [picture]))
        server.on("POST", "/form", .text("thanks", status: 201))
        server.webSocket("/echo") { socket in
            for await message in socket.messages { socket.send(message) }
        }
    }

    /// One line: the request, the response and the sizes. The address of the server differs from run to run.
    static func summary(of entry: HARArchive.Entry) -> String {
        let (request, response) = (entry.request, entry.response)
        let path = request.url.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" }
        var parts = [
            "\(request.method) \(path)",
            response.status == 0 ? "no response" : "\(response.status) \(response.statusText)",
        ]
        if let attempt = entry.attempt, attempt > 1 { parts.append("attempt \(attempt)") }
        if !response.redirectURL.isEmpty { parts.append("to \(response.redirectURL)") }
        if let body = request.body { parts += body.fields.map { "\($0.name)=\($0.value ?? $0.fileName ?? "")" } }
        parts += response.cookies.map { "\($0.name)=\($0.value)" }
        if let bytes = response.body.bytes { parts.append("\(bytes.count) bytes") }
        if !entry.messages.isEmpty { parts.append("\(entry.messages.count) messages") }
        return parts.joined(separator: ", ")
    }
}
