import Foundation
import Larkspur

/// The request that a command line and the files that it names describe.
struct RequestPlan: Sendable {
    var method: HTTPMethod
    var url: RequestURL
    var headers: HTTPHeaders
    /// Names of headers that are not sent, not even with their default values.
    var removed: [String]
    var body: RequestContent?

    /// Reads the files of the items and, if the request takes its body from there, standard input.
    init(_ settings: Settings, kept: HTTPHeaders = [:]) throws {
        let items = try settings.items.map { try $0.isInFile ? $0.readingFile() : $0 }
        headers = kept
        removed = items.filter { $0.value == .removedHeader }.map(\.name)
        for name in removed { headers.remove(name: name) }
        var given = HTTPHeaders()
        for item in items { if case .header(let value) = item.value { given.add(name: item.name, value: value) } }
        for field in given { headers.remove(name: field.name) }
        for field in given { headers.add(field) }

        url = try Self.url(settings)
        let query = items.compactMap { item -> String? in
            guard case .query(let value) = item.value else { return nil }
            return "\(Self.encoded(item.name))=\(Self.encoded(value))"
        }
        if !query.isEmpty { url = try url.appendingQuery(query.joined(separator: "&")) }

        let content = try BodyContent(settings, items.filter(\.isData), type: headers["Content-Type"])
        body = content?.content
        method = settings.method ?? (body == nil ? .get : .post)
        for field in content?.headers ?? [:] where headers[field.name] == nil && !isRemoved(field.name) {
            headers.add(field)
        }
    }

    /// Returns the URL without the query items of the command line.
    static func url(_ settings: Settings) throws -> RequestURL {
        let address = Address.complete(settings.url, default: settings.defaultScheme)
        do {
            return try RequestURL(address)
        } catch {
            throw UsageError("\(error); the URL is read as \(address)")
        }
    }

    var isWebSocket: Bool { ["ws", "wss"].contains(url.scheme) }

    func isRemoved(_ name: String) -> Bool { removed.contains { $0.lowercased() == name.lowercased() } }

    private static func encoded(_ text: String) -> String {
        let unreserved = CharacterSet(charactersIn: "-._~").union(
            .alphanumerics.intersection(CharacterSet(charactersIn: "\0"..."\u{7F}")))
        return text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? text
    }
}

extension Item {
    /// Returns the item with the content of the file that it names.
    func readingFile() throws -> Item {
        func text(_ path: String) throws -> String {
            guard let data = FileManager.default.contents(atPath: path) else {
                throw UsageError("the file “\(path)” of the item “\(name)” cannot be read")
            }
            guard let text = String(data: data, encoding: .utf8) else {
                throw UsageError("the file “\(path)” is not UTF-8 text; send it as a file: \(name)@\(path)")
            }
            return text
        }
        switch value {
        case .query(let path): return Item(name, .query(try text(path)))
        case .text(let path): return Item(name, .text(try text(path)))
        case .json(let path): return Item(name, .json(try text(path)))
        case .header(let path):
            return Item(name, .header(try text(path).trimmingCharacters(in: .whitespacesAndNewlines)))
        case .removedHeader, .file: return self
        }
    }

    private init(_ name: String, _ value: Value) {
        self.name = name
        self.value = value
        isInFile = false
    }
}
