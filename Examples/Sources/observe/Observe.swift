import Larkspur
import LarkspurTesting

// Observing a session: a readable log, events for programs, and the times of a request. The log and the times go to
// standard error; standard output has only what is the same in every run.

@main
struct Observe {
    static func main() async throws {
        let server = try MockServer()
        serve(server)
        let session = Session(
            configuration: SessionConfiguration {
                $0.baseURL = server.url
                $0.validation = [.standard]
                $0.headers.update(name: "Authorization", value: "Bearer s3cret")
                $0.retryBudget = nil
            },
            interceptor: .retry(backoff: RetryPolicy.Backoff(scale: .milliseconds(5))),
            eventMonitors: [LogMonitor(level: .body)])
        let events = await session.events

        // Iterating a request's events sends it. The first attempt is refused, the second is redirected.
        let request = await session.request("orders/35")
        for await event in request.events { print(event) }
        print(request.timeline.map { "attempt \($0.attempt): \($0.hop.head?.status ?? 0)" })
        for times in request.timeline { FileHandle.standardError.write(Data("\(times)\n".utf8)) }

        // Sixty concurrent requests, and their events in one sequence
        await withTaskGroup { group in
            for number in 1...60 {
                group.addTask { _ = await session.request("orders/\(number)").serializingJSON().response }
            }
        }
        for (name, count) in await figures(of: events, upTo: 61).sorted(by: { $0.key < $1.key }) { print(name, count) }
        await server.stop()
    }

    /// Counts events until this many requests have finished.
    static func figures(of events: AsyncStream<IdentifiedEvent>, upTo count: Int) async -> [String: Int] {
        var figures: [String: Int] = [:]
        var finished = 0
        for await event in events {
            switch event.event {
            case .start, .redirect, .retry: figures[event.event.name, default: 0] += 1
            case .receiveHead(let head): figures["status \(head.status)", default: 0] += 1
            case .finish(let error):
                figures[error == nil ? "done" : "failed", default: 0] += 1
                finished += 1
            default: break
            }
            if finished == count { break }
        }
        return figures
    }

    /// Serves orders: every fifth has moved, every seventh succeeds on a retry, the fiftieth never.
    static func serve(_ server: MockServer) {
        for number in 1...60 {
            let path = "/orders/\(number)"
            let order = MockResponse.json(#"{"id": \#(number), "token": "s3cret"}"#)
            let answer = number.isMultiple(of: 5) ? .redirect(to: "/archive/\(number)") : order
            if number == 50 {
                server.on("GET", path, .json(#"{"error": "no such order"}"#, status: 404))
            } else if number.isMultiple(of: 7) {
                server.on("GET", path, .text("busy", status: 503), answer)
            } else {
                server.on("GET", path, answer)
            }
            server.on("GET", "/archive/\(number)") { _ in .json(#"{"id": \#(number), "archived": true}"#) }
        }
    }
}
