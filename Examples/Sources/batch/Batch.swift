import Larkspur
import LarkspurTesting

// Many requests with a limit on those in flight, with a progress line. Then requests that wait for others.

struct Film: Codable, Sendable {
    let title: String
}

extension Endpoint where Response == Film {
    static func film(_ id: Int) -> Self { Endpoint(.get, "films/\(id)") }
}

/// A line in the terminal that each value overwrites. It goes to the standard error, so that the output stays clean.
func show(_ progress: GroupProgress) {
    let done = Int(progress.fraction * 20)
    let bar = String(repeating: "#", count: done) + String(repeating: ".", count: 20 - done)
    let line = "\r[\(bar)] \(progress.finished)/\(progress.total), \(progress.receivedBytes) bytes"
    FileHandle.standardError.write(Data((line + (progress.fraction == 1 ? "\n" : "")).utf8))
}

@main
struct Batch {
    static func main() async throws {
        let server = try MockServer()
        for id in 1...40 {
            server.on("GET", "/films/\(id)") { _ in
                id == 13 ? .text("no such film", status: 404) : .json(#"{"title": "Film \#(id)"}"#)
            }
        }
        server.on("GET", "/list") { _ in .text("40 films") }
        server.on("GET", "/poster") { _ in .text("a poster") }
        let session = Session(configuration: SessionConfiguration { $0.baseURL = server.url })

        let films = await session.batch((1...40).map { Endpoint.film($0) }, atOnce: 8) { show($0) }
        print("\(films.count { $0.error == nil }) of \(films.count) films")
        print("first: \(films[0].value?.title ?? "-"), last: \(films[39].value?.title ?? "-")")
        for response in films {
            if let error = response.error { print("failed with status \(error.statusCode ?? 0)") }
        }

        let group = RequestGroup(session, atOnce: 2)
        let list = await session.request("list").validate()
        let poster = await session.request("poster").validate()
        let missing = await session.request("missing").validate()
        let never = await session.request("poster").validate()
        try group.add(list)
        try group.add(poster, after: [list])
        try group.add(missing, after: [poster])
        try group.add(never, after: [missing])
        for (name, request) in [("list", list), ("poster", poster), ("missing", missing), ("never", never)] {
            request.responseString { response in
                print("\(name): \(response.value ?? response.error?.code.rawValue ?? "-")")
            }
        }
        do { try await group.run() } catch let error as RequestError {
            print("the group failed with status \(error.statusCode ?? 0)")
        }
        do { try group.add(list, after: [never]) } catch let error as RequestError { print("refused: \(error.code)") }
        await server.stop()
    }
}
