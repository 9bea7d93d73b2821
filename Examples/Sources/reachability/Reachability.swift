import Larkspur

// Prints the status of the network and each change of it. With a host, it also prints when the system has a route to
// the host. It runs until its standard input ends.
//
//     reachability [HOST]

@main
struct Reachability {
    static func main() async throws {
        let monitor = NetworkMonitor()
        let statuses = Task {
            for await status in monitor.changes { say("\(status)") }
            say("end of the changes")
        }
        let host = CommandLine.arguments.dropFirst().first
        let route = Task {
            guard let host else { return }
            do {
                try await monitor.whenReachable(host: host)
                say("there is a route to \(host)")
            } catch {
                say("there was no route to \(host)")
            }
        }
        await untilInputEnds()
        route.cancel()
        statuses.cancel()
        _ = await (route.value, statuses.value)
    }

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
