import Larkspur

// One GET whose JSON is decoded, or several at once: `small URL [COUNT CONCURRENCY [CA-FILE]]`.

@main
struct Small {
    struct Item: Decodable, Sendable {
        let id: Int
        let name: String
    }

    static func main() async throws {
        let arguments = CommandLine.arguments
        let url = arguments[1]
        let count = arguments.count > 2 ? Int(arguments[2]) ?? 1 : 1
        let width = arguments.count > 3 ? Int(arguments[3]) ?? 1 : 1
        let session = Session(
            transport: CurlTransport(
                configuration: .init {
                    if arguments.count > 4 { $0.certificateAuthorities = .file(path: arguments[4]) }
                }))
        let total = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<width {
                group.addTask {
                    var total = 0
                    for _ in 0..<count / width {
                        let request = await session.request(url).validate()
                        total += try await request.serializingDecodable([Item].self).value.count
                    }
                    return total
                }
            }
            var total = 0
            for try await part in group { total += part }
            return total
        }
        print(total)
    }
}
