import Larkspur
import LarkspurTesting

// A manager of AFNetworking, ported call by call. Each comment names the call that the code below it replaces.

struct User: Codable, Sendable {
    var id: Int?
    var name: String
}

/// The place of the app's `AFHTTPSessionManager`.
struct Manager {
    let session: Session

    /// `[[AFHTTPSessionManager alloc] initWithBaseURL:]` with the default serializers.
    init(baseURL: String, monitors: [any EventMonitor] = []) {
        session = Session(
            configuration: SessionConfiguration {
                $0.baseURL = baseURL
                // `responseSerializer.acceptableStatusCodes`, the range from 200 to 299
                $0.validation = [.standard]
                // `[requestSerializer setValue:@"port" forHTTPHeaderField:@"X-App"]`
                $0.headers.update(name: "X-App", value: "port")
            }, eventMonitors: monitors)
    }

    /// `GET:parameters:headers:progress:success:failure:`. Without an encoder, parameters are the query of a GET.
    func users(page: Int) async throws -> [User] {
        try await session.request("users", parameters: ["page": page]).serializingDecodable([User].self).value
    }

    /// `POST:parameters:headers:progress:success:failure:` with an `AFJSONRequestSerializer`.
    func add(_ user: User) async throws -> User {
        try await session.request("users", method: .post, parameters: user, encoder: .json)
            .serializingDecodable(User.self).value
    }

    /// The same with an `AFHTTPRequestSerializer`: parameters are a form.
    func rename(_ id: Int, to name: String) async throws -> String {
        try await session.request("users/\(id)/name", method: .post, parameters: ["name": name])
            .serializingString().value
    }

    /// `failure:^(NSURLSessionDataTask *task, NSError *error) { … }` and
    /// `AFNetworkingOperationFailingURLResponseDataErrorKey`.
    func failure(of path: String) async -> String {
        let error = await session.request(path).serializingJSON().response.error
        return "\(error?.statusCode ?? 0) \(String(decoding: error?.responseData ?? Data(), as: UTF8.self))"
    }
}

@main
struct Port {
    static func main() async throws {
        let server = try MockServer()
        serve(server)
        let center = NotificationCenter()
        // `[[NSNotificationCenter defaultCenter] addObserver:… name:AFNetworkingTaskDidCompleteNotification object:nil]`
        let (ends, end) = AsyncStream.makeStream(of: String.self)
        let observer = center.addObserver(forName: .larkspurRequestDidFinish, object: nil, queue: nil) { note in
            end.yield(note.larkspurError == nil ? "success" : "failure")
        }
        let manager = Manager(baseURL: server.url, monitors: [NotificationMonitor(center: center)])

        print("GET:", try await manager.users(page: 2).map(\.name))
        print("POST:", try await manager.add(User(name: "Grace")).id ?? 0)
        print("POST of a form:", try await manager.rename(7, to: "Ada & Co"))
        print("failure:", await manager.failure(of: "nothing"))
        try await showTransfers(manager)
        try await showTrust()
        await showReachability()
        var counts: [String: Int] = [:]
        for await end in ends.prefix(7) { counts[end, default: 0] += 1 }
        print("notifications:", counts["success"] ?? 0, "successes,", counts["failure"] ?? 0, "failure")
        center.removeObserver(observer)
        // `invalidateSessionCancelingTasks:resetSession:`
        await manager.session.invalidate()
        await server.stop()
    }
}
