import Foundation
import Larkspur

/// The body of a request, and the header fields that belong to it.
struct BodyContent {
    let content: RequestContent
    let headers: HTTPHeaders

    /// Returns nil if the request has no body.
    init?(_ settings: Settings, _ items: [Item], type: String?) throws {
        if let text = settings.rawBody {
            self.init(Data(text.utf8), settings)
        } else if let item = items.first, item.name.isEmpty, case .file(let path, let type) = item.value {
            self.init(content: .file(URL(fileURLWithPath: path)), headers: type.map { [.contentType($0)] } ?? [:])
        } else if !items.isEmpty {
            let hasFile = items.contains { if case .file = $0.value { true } else { false } }
            switch settings.bodyKind ?? .json {
            case .multipart: self.init(content: .multipart(try Self.multipart(items)))
            case _ where hasFile: self.init(content: .multipart(try Self.multipart(items)))
            case .form: self.init(form: try Self.pairs(items))
            case .json: self.init(json: try Self.object(items))
            }
        } else if settings.takesInput {
            let limit = settings.isChunked ? 0 : settings.repetitions == nil ? 1 << 20 : Int.max
            let (bytes, isWhole) = StandardInput.read(upTo: limit)
            if isWhole, bytes.isEmpty, settings.method == nil { return nil }
            self.init(bytes, settings)
            if !isWhole {
                self = BodyContent(content: .sequence(StandardInput(beginning: bytes)), headers: headers)
            }
        } else {
            return nil
        }
    }

    private init(content: RequestContent, headers: HTTPHeaders = [:]) {
        self.content = content
        self.headers = headers
    }

    private init(_ bytes: Data, _ settings: Settings) {
        content = .data(bytes)
        headers =
            settings.bodyKind == .form
            ? [.contentType(Self.formType)] : [.contentType("application/json"), Self.acceptsJSON]
    }

    private init(json object: JSON) {
        content = .data(object.data())
        headers = [.contentType("application/json"), Self.acceptsJSON]
    }

    /// A form keeps the order of the items, and may have a name several times.
    private init(form pairs: [(String, String)]) {
        let encoder = URLEncodedFormEncoder()
        let text = pairs.compactMap { try? encoder.encode([$0: $1]) }.joined(separator: "&")
        content = .data(Data(text.utf8))
        headers = [.contentType(Self.formType)]
    }

    private static let formType = "application/x-www-form-urlencoded; charset=utf-8"
    private static let acceptsJSON = HTTPHeader(name: "Accept", value: "application/json, */*;q=0.5")

    private static func pairs(_ items: [Item]) throws -> [(String, String)] {
        try items.map { item in
            switch item.value {
            case .text(let text): (item.name, text)
            case .json(let text): (item.name, (try json(text, of: item)).string ?? text)
            default: (item.name, "")
            }
        }
    }

    private static func object(_ items: [Item]) throws -> JSON {
        var object = JSON.object([:])
        for item in items {
            switch item.value {
            case .text(let text): object[item.name] = .string(text)
            case .json(let text): object[item.name] = try json(text, of: item)
            default: break
            }
        }
        return object
    }

    private static func json(_ text: String, of item: Item) throws -> JSON {
        do {
            return try JSON(text: text)
        } catch {
            throw UsageError("the value of “\(item.name)” is not JSON: \(error); for a text write \(item.name)=\(text)")
        }
    }

    private static func multipart(_ items: [Item]) throws -> MultipartFormData {
        var form = MultipartFormData()
        for item in items {
            switch item.value {
            case .text(let text): form.append(text, name: item.name)
            case .json(let text): form.append(try json(text, of: item).string ?? text, name: item.name)
            case .file(let path, let type):
                form.append(URL(fileURLWithPath: path), name: item.name, mimeType: type)
            default: break
            }
        }
        return form
    }
}

extension Settings {
    /// Whether standard input is the body: if it is a pipe or a file, and the method does not speak against it.
    var takesInput: Bool {
        guard !ignoresInput, !hasData, !(method.map { [.get, .head, .options, .trace].contains($0) } ?? false) else {
            return false
        }
        return StandardInput.isPiped && !["ws", "wss"].contains { url.hasPrefix($0 + "://") }
    }
}
