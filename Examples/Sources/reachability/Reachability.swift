import Larkspur

// Prints the status of the network and each change of it. With a host, it also prints when the system has a route to
// the host. With a URL, it requests that, and waits for the network if necessary. It runs until its standard input ends.
//
//     reachability [HOST [URL]]

@main
struct Reachability {
    static func main() async throws {
        let monitor = NetworkMonitor()
        let statuses = Task {
            for await status in monitor.changes { say("\(status)") }
            say("end of the changes")
        }
        let (host, url) = (argument(1), argument(2))
        let route = Task {
            guard let host else { return }
            do {
                try await monitor.whenReachable(host: host)
                say("there is a route to \(host)")
            } catch {
                say("there was no route to \(host)")
            }
        }
        let request = Task { if let url { await fetch(url) } }
        await untilInputEnds()
        for task in [statuses, route, request] { task.cancel() }
        for task in [statuses, route, request] { await task.value }
    }

    static func fetch(_ url: String) async {
        // The first retrier only prints the failure.
        let failures = Interceptor(retry: { _, _, error in
            say("the request failed: \(error.code)")
            return .doNotRetry
        })
        let session = Session(interceptor: .composed(failures, .whenReachable(within: .seconds(30))))
        let response = await session.request(url).serializingData().response
        say("the request has the status \(response.head?.status ?? 0)")
    }

    static func argument(_ number: Int) -> String? { CommandLine.arguments.dropFirst(number).first }

    /// Prints a line at once, also to a pipe.
    static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

    /// Reads on a thread, because reading blocks.
    static func untilInputEnds() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                while readLine() != nil {}
                continuation.resume()
            }
        }
    }
}
