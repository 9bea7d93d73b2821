import Larkspur
import LarkspurInsight
import LarkspurTesting

// A page with the requests of a program, or of an archive that a browser has saved.
//
// usage: waterfall [ARCHIVE PAGE]

@main
struct Example {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst().map { URL(fileURLWithPath: $0) }
        if arguments.count == 2 {
            try Waterfall(HARArchive(contentsOf: arguments[0]), title: arguments[0].lastPathComponent)
                .write(to: arguments[1])
            return
        }
        let server = try MockServer()
        server.on("GET", "/old", .redirect(to: "/new"))
        server.on("GET", "/new", .json(#"{"name":"Ada"}"#))
        let recorder = WaterfallRecorder()
        let session = Session(eventMonitors: [recorder])
        _ = try await session.request("\(server.url)/old").serializingData().value

        let page = FileManager.default.temporaryDirectory.appendingPathComponent("larkspur-waterfall.html")
        try await recorder.waterfall(title: "Example").write(to: page)
        await server.stop()
        print("the page has its own script: \(try String(contentsOf: page, encoding: .utf8).contains("<script>"))")
    }
}
