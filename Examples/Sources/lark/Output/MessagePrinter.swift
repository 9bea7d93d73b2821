import Foundation
import Larkspur

/// A printer of the heads of requests and responses, and of bodies that are in memory.
struct MessagePrinter: Sendable {
    let terminal: Terminal
    let style: Style
    let folding: Settings.Folding?
    /// The rules for what is hidden of requests.
    let redaction: Redaction

    init(_ settings: Settings, _ terminal: Terminal) {
        self.terminal = terminal
        style = Style(settings, terminal, environment: ProcessInfo.processInfo.environment)
        folding = settings.folding
        redaction = settings.showsSecrets ? .none : .standard
    }

    func print(_ request: OutgoingRequest, head: Bool, body: Bool, version: String) throws {
        let rules = request.redaction(extending: redaction)
        let url = request.url
        if head {
            let shown = (try? RequestURL(rules.url(url))) ?? url
            var lines = [
                style.paint(request.method.rawValue, .strong) + " \(style.safe(String(shown.target))) \(version)"
            ]
            if request.headers["Host"] == nil { lines.append(field("Host", String(url.hostHeader ?? ""))) }
            for header in request.headers { lines.append(field(header.name, rules.value(of: header))) }
            if let length = request.body.length, length > 0, request.headers["Content-Length"] == nil {
                lines.append(field("Content-Length", "\(length)"))
            }
            try terminal.write(lines.joined(separator: "\n") + "\n\n")
        }
        guard body else { return }
        switch request.body {
        case .none: return
        case .data(let data):
            try print(rules.body(data, type: request.headers["Content-Type"]), type: request.headers["Content-Type"])
        case .file(let path, let length, _): try note("the body is the file \(path), \(Self.bytes(length))")
        case .stream(let source):
            try note("the body is made while it is sent\(source.length.map { ", \(Self.bytes($0))" } ?? "")")
        @unknown default: try note("the body is not shown")
        }
        try terminal.write("\n\n")
    }

    func print(_ head: ResponseHead) throws {
        let color: Style.Color =
            switch head.status {
            case 200..<300: .good
            case 300..<400: .moved
            case 400..<500: .refused
            case 500...: .failed
            default: .strong
            }
        let status = "\(head.status) \(head.statusText)".trimmingCharacters(in: .whitespaces)
        let lines =
            ["\(style.safe(head.version)) \(style.paint(status, color))"] + head.fields.map { field($0.name, $0.value) }
        try terminal.write(lines.joined(separator: "\n") + "\n\n")
    }

    /// Prints a whole body: JSON as the style says, other text with its control characters replaced.
    func print(_ data: Data, type: String?, charset: String? = nil) throws {
        if style.escapes, Self.isBinary(data, type: type) {
            return try note("a binary body, \(Self.bytes(UInt64(data.count)))")
        }
        if let text = jsonText(data, type: type) { return try terminal.write(text) }
        guard style.escapes else { return try terminal.write(data) }
        try terminal.write(style.safe(Self.decoded(data, charset)))
    }

    /// Returns the JSON as it is shown; nil if the body is another text, or is not valid.
    func jsonText(_ data: Data, type: String?) -> String? {
        guard style.formats || style.colors || folding != nil else { return nil }
        guard
            Self.isJSON(type) || type == nil || type?.hasPrefix("text/plain") == true && data.first == UInt8(ascii: "{")
        else {
            return nil
        }
        // A duplicate member would be lost, so such a body is shown as it came.
        guard let json = try? JSON(data: data, duplicateKeys: .refuse) else { return nil }
        let formats = style.formats || folding != nil
        let rows = max(4, terminal.size.rows - 2)
        let text =
            formats ? JSONLayout.text(of: json, folding: folding, rows: rows) : String(decoding: data, as: UTF8.self)
        return JSONPainter(style: style).painted(text)
    }

    /// Writes a remark in the place of something that is not shown.
    func note(_ text: String) throws { try terminal.write(style.paint("(\(SafeText.line(text)))", .faint)) }

    private func field(_ name: String, _ value: String) -> String {
        style.paint(style.safe(name), .name) + ": " + (style.escapes ? SafeText.line(value) : value)
    }
}

extension MessagePrinter {
    static func isJSON(_ type: String?) -> Bool {
        let type = (type ?? "").prefix { $0 != ";" }.lowercased().trimmingCharacters(in: .whitespaces)
        return type == "application/json" || type == "text/json" || type.hasSuffix("+json")
    }

    static func isLines(_ type: String?) -> Bool {
        let type = (type ?? "").prefix { $0 != ";" }.lowercased()
        return ["application/x-ndjson", "application/ndjson", "application/jsonl", "application/json-seq"].contains(
            type)
    }

    /// Whether a body is no text, by its type or by a NUL in its beginning.
    static func isBinary(_ beginning: Data, type: String?) -> Bool {
        let type = (type ?? "").lowercased()
        if type.hasPrefix("image/svg") || type.hasPrefix("text/") { return beginning.prefix(1_024).contains(0) }
        return ["image/", "audio/", "video/", "font/"].contains { type.hasPrefix($0) }
            || ["octet-stream", "/zip", "/gzip", "/pdf"].contains { type.contains($0) }
            || beginning.prefix(1_024).contains(0)
    }

    static func decoded(_ data: Data, _ charset: String?) -> String {
        let encoding: String.Encoding? =
            switch charset?.lowercased() {
            case "iso-8859-1", "latin1": .isoLatin1
            case "windows-1252": .windowsCP1252
            case "utf-16": .utf16
            default: nil
            }
        return encoding.flatMap { String(data: data, encoding: $0) } ?? String(decoding: data, as: UTF8.self)
    }

    static func bytes(_ count: UInt64) -> String {
        if count < 1_000 { return "\(count) byte\(count == 1 ? "" : "s")" }
        var value = Double(count)
        var unit = 0
        while value >= 999.5, unit < 5 {
            value /= 1_000
            unit += 1
        }
        let digits = value < 10 ? 1 : 0
        return String(format: "%.\(digits)f", value) + " " + ["", "kB", "MB", "GB", "TB", "PB"][unit]
    }
}
