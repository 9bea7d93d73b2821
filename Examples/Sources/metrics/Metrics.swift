import Larkspur
import LarkspurInsight
import LarkspurTesting

// The metrics of a session in the text format of Prometheus, after requests that succeed, are redirected, retried,
// cached, refused, fail and are cancelled. The text goes to standard output.

@main
struct Metrics {
    static func main() async throws {
        let server = try MockServer()
        serve(server)
        let options = PrometheusMonitor.Options {
            $0.host = { request in request.url.path == "/odd" ? "a \"quoted\" \\ name\nin two lines" : "server" }
        }
        let metrics = try PrometheusMonitor(options)
        let events = EventRecorder()
        let session = Session(
            configuration: SessionConfiguration {
                $0.baseURL = server.url
                $0.validation = [.standard]
                $0.cache = .inMemory()
                $0.retryBudget = nil
                // Both monitors share a queue, so an event that the recorder has was counted before.
                $0.eventMonitors = [CompositeEventMonitor([metrics, events])]
            },
            interceptor: .retry(backoff: RetryPolicy.Backoff(scale: .milliseconds(5))))
        let paths = ["cached", "cached", "odd", "old", "busy", "missing"]
        for path in paths { _ = await session.request(path).serializingString().response }
        _ = await session.upload(Data("body".utf8), to: "odd").serializingString().response
        _ = await session.request("http://127.0.0.1:1/", method: "BREW").serializingString().response
        let request = await session.request("stalled")
        for await event in request.events where event.event.name == "beginHop" { request.cancel() }
        await events.wait { $0.count { $0.name == "finish" } == paths.count + 3 }
        print(metrics.text, terminator: "")
        await server.stop()
    }

    static func serve(_ server: MockServer) {
        server.on("GET", "/cached") { _ in
            .response(headers: ["Cache-Control": "max-age=60"], chunks: [Data("kept".utf8)])
        }
        server.on("GET", "/odd") { _ in .text("odd") }
        server.on("POST", "/odd") { _ in .text("odd") }
        server.on("GET", "/old") { _ in .redirect(to: "/odd") }
        server.on("GET", "/busy", .text("busy", status: 503), .text("ready"))
        server.on("GET", "/stalled", MockResponse([.stall]))
        server.on("GET", "/missing") { _ in .text("no", status: 404) }
    }
}
