import Foundation
import Larkspur

/// The text of `--help` and `--version`.
enum Help {
    static func text(topic name: String?) throws -> String {
        guard let name else {
            let topics = HelpTopic.allCases.dropFirst().map { "    \($0.rawValue)".padded(to: 20) + $0.title }
            return ([HelpTopic.overview.text] + topics).joined(separator: "\n") + "\n"
        }
        guard let topic = HelpTopic.allCases.first(where: { $0.rawValue.hasPrefix(name.lowercased()) }) else {
            let names = HelpTopic.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("there is no help about “\(name)”; topics are \(names)")
        }
        let options = Option.table.filter { $0.topic == topic }
        let width = (options.map(\.usage.count).max() ?? 0) + 6
        let lines = options.map { "    \($0.usage)".padded(to: width) + $0.help }
        return ([topic.title, "", wrapped(topic.text)] + (lines.isEmpty ? [] : [""] + lines)).joined(separator: "\n")
            + "\n"
    }

    static var version: String {
        var text = "lark, an example of Larkspur \(LarkspurInfo.version)\n"
        #if os(Linux)
            if let library = CurlTransport().library { text += "libcurl \(library.version), \(library.tls)\n" }
        #endif
        return text
    }

    /// Breaks paragraphs at 100 columns. Lines that begin with a space are examples, and stay as they are.
    private static func wrapped(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            guard line.count > 100, line.first != " " else { return String(line) }
            var lines: [String] = []
            var current = ""
            for word in line.split(separator: " ") {
                if current.count + word.count >= 100 {
                    lines.append(current)
                    current = ""
                }
                current += (current.isEmpty ? "" : " ") + word
            }
            return (lines + [current]).joined(separator: "\n")
        }.joined(separator: "\n")
    }
}

extension String {
    /// The text with spaces at its end, so that it has at least this many characters.
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }

    /// The text with spaces before it, so that it has at least this many characters.
    func rightAligned(to width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}
