import Foundation
import Larkspur
import Testing

/// Reads the file of a HAR recorder, and checks that it has the fields that HAR 1.2 requires.
struct ArchiveReader {
    let file: URL

    /// The entries of the file, each of which was checked.
    func entries(_ location: SourceLocation = #_sourceLocation) throws -> [JSON] {
        let log = try JSON(data: Data(contentsOf: file), duplicateKeys: .refuse)["log"]
        #expect(log["version"] == "1.2", sourceLocation: location)
        #expect(log["creator"]["name"] == "Larkspur", sourceLocation: location)
        #expect(log["creator"]["version"].string != nil, sourceLocation: location)
        let entries = try #require(log["entries"].array, sourceLocation: location)
        for entry in entries {
            #expect(Self.problems(of: entry) == [], "\(entry)", sourceLocation: location)
        }
        return entries
    }

    /// The members that an entry lacks, or that have the wrong type.
    private static func problems(of entry: JSON) -> [String] {
        let (request, response, timings) = (entry["request"], entry["response"], entry["timings"])
        let strings = [
            "startedDateTime": entry["startedDateTime"], "request.method": request["method"],
            "request.url": request["url"], "request.httpVersion": request["httpVersion"],
            "response.statusText": response["statusText"], "response.httpVersion": response["httpVersion"],
            "response.redirectURL": response["redirectURL"], "content.mimeType": response["content"]["mimeType"],
        ].filter { $0.value.string == nil }
        let numbers = [
            "time": entry["time"], "request.headersSize": request["headersSize"],
            "request.bodySize": request["bodySize"], "response.status": response["status"],
            "response.headersSize": response["headersSize"], "response.bodySize": response["bodySize"],
            "content.size": response["content"]["size"],
        ].filter { $0.value.double == nil }
        let arrays = [
            "request.cookies": request["cookies"], "request.headers": request["headers"],
            "request.queryString": request["queryString"], "response.cookies": response["cookies"],
            "response.headers": response["headers"],
        ].filter { $0.value.array == nil }
        let isDate =
            (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true)
                .parse(entry["startedDateTime"].string ?? "")) != nil
        let phases = ["blocked", "dns", "connect", "ssl", "send", "wait", "receive"]
        let required = ["send", "wait", "receive"].filter { (timings[$0].double ?? -1) < 0 }
        let sum = phases.filter { $0 != "ssl" }.map { max(0, timings[$0].double ?? 0) }.reduce(0, +)
        let isSum = abs(sum - (entry["time"].double ?? -1)) < 0.01
        let pairs = [request["headers"], request["queryString"], response["headers"]].flatMap { $0.array ?? [] }
        let arePairs = pairs.allSatisfy { $0["name"].string != nil && $0["value"].string != nil }
        var problems = [String](strings.keys)
        problems += numbers.keys
        problems += arrays.keys
        problems += required
        if !isDate { problems.append("the date") }
        if !isSum { problems.append("the sum of the timings") }
        if !arePairs { problems.append("pairs of names and values") }
        if entry["cache"].object == nil { problems.append("cache") }
        return problems
    }
}
