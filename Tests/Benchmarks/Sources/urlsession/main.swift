import CAuthorities
import Foundation
import Measuring

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// urlsession URL [OPTIONS]
// Sends the same requests with Foundation's own client. On Linux it may crash.

struct UnexpectedAnswer: Error {}

guard let plan = Plan(CommandLine.arguments.dropFirst()), let url = URL(string: plan.url) else {
    print("usage: urlsession URL \(Plan.options)")
    exit(2)
}
if let path = plan.certificateAuthorities {
    larkspur_set_authorities(path)
}
let configuration = URLSessionConfiguration.default
configuration.urlCache = nil
configuration.httpMaximumConnectionsPerHost = 64
let session = URLSession(configuration: configuration)
let decoder = JSONDecoder()

@Sendable func check(_ response: URLResponse) throws {
    guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw UnexpectedAnswer() }
}

let perform: @Sendable () async throws -> Int
if plan.streams {
    perform = { try await Drain.download(url) }
} else if let path = plan.download {
    let file = URL(fileURLWithPath: path)
    perform = {
        let (temporary, response) = try await session.download(from: url)
        try check(response)
        if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(at: file) }
        try FileManager.default.moveItem(at: temporary, to: file)
        return try file.size
    }
} else if let path = plan.upload {
    let size = try URL(fileURLWithPath: path).size
    perform = {
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        let (_, response) = try await session.upload(for: request, fromFile: URL(fileURLWithPath: path))
        try check(response)
        return size
    }
} else {
    perform = {
        let (data, response) = try await session.data(from: url)
        try check(response)
        switch plan.reading {
        case .data: break
        case .decoded: _ = try decoder.decode(Page.self, from: data)
        case .json: _ = try JSONSerialization.jsonObject(with: data)
        }
        return data.count
    }
}
await Measurement(plan, perform: perform).run(variant: "urlsession")
