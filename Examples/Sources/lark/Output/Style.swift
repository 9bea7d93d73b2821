import Foundation

/// How text is shown on one output.
struct Style: Sendable {
    enum Color: String {
        case key = "34"
        case string = "32"
        case number = "36"
        case literal = "35"
        case name = "36;2"
        case strong = "1"
        case faint = "2"
        case good = "32;1"
        case moved = "36;1"
        case refused = "33;1"
        case failed = "31;1"
    }

    var colors = false
    var formats = false
    /// Whether control characters of peers are replaced. Only bytes for a pipe or a file are left as they are.
    var escapes = false

    init(_ settings: Settings, _ terminal: Terminal, environment: [String: String]) {
        let pretty = settings.pretty
        let wantsColors = environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
        colors = pretty.map { $0 == .all || $0 == .colors } ?? (terminal.isTerminal && wantsColors)
        formats = pretty.map { $0 == .all || $0 == .format } ?? terminal.isTerminal
        escapes = terminal.isTerminal || colors
    }

    func paint(_ text: String, _ color: Color) -> String {
        colors && !text.isEmpty ? "\u{1B}[\(color.rawValue)m\(text)\u{1B}[0m" : text
    }

    /// Returns the text of a peer as it may be shown.
    func safe(_ text: String) -> String { escapes ? SafeText.escaped(text) : text }
}
