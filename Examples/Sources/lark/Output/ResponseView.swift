import Foundation
import Larkspur

/// Shows one response while it arrives: first its head, then its body in the way that suits its type.
actor ResponseView {
    private enum Mode {
        /// The bytes go to the output as they are.
        case raw
        /// The body is collected, because JSON can be laid out only as a whole.
        case document(Data)
        case lines(LineParser)
        case text(TextParser)
        case events(ServerSentEventParser)
        case binary(UInt64)
        case hidden
    }

    /// A document that is longer than this is shown as it comes.
    private static let longestDocument = 16 << 20

    private let printer: MessagePrinter
    private let printed: Set<Character>
    private let streams: Bool
    private var mode: Mode?
    private var head: ResponseHead?
    private var hasPrintedHead = false
    private var endsWithLineFeed = true

    init(_ printer: MessagePrinter, _ settings: Settings) {
        self.printer = printer
        streams = settings.streams
        printed = settings.printedParts(for: printer.terminal)
    }

    /// Prints the requests and the heads of an exchange, once. Redirects that were followed come first, if `all`.
    func show(_ request: any Request, _ head: ResponseHead?, all: Bool) throws {
        guard !hasPrintedHead else { return }
        hasPrintedHead = true
        var hops = request.attempts.last?.hops ?? []
        if !all { hops = hops.suffix(1) }
        for hop in hops {
            try show(hop.request, version: hop.head?.version ?? "HTTP/1.1")
            if hop.head != nil, hop.head?.status != head?.status || hop !== hops.last { try show(hop.head) }
        }
        if hops.isEmpty, let request = request.request { try show(request, version: "HTTP/1.1") }
        try show(head)
        self.head = head
    }

    private func show(_ request: OutgoingRequest, version: String) throws {
        try printer.print(request, head: printed.contains("H"), body: printed.contains("B"), version: version)
    }

    private func show(_ head: ResponseHead?) throws {
        if let head, printed.contains("h") { try printer.print(head) }
    }

    private var showsBody: Bool { printed.contains("b") }
    /// Whether the rest of the response is worth its time.
    var needsBody: Bool { showsBody || printed.contains("m") }

    func receive(_ chunk: Data) throws {
        var mode = mode ?? Self.mode(for: head, chunk, printer.style, streams: streams, showsBody)
        switch mode {
        case .raw: try write(chunk)
        case .document(var data):
            self.mode = nil
            mode = .hidden
            data += chunk
            mode = .document(data)
            if data.count > Self.longestDocument {
                mode = .text(TextParser())
                self.mode = mode
                return try receive(data)
            }
        case .lines(var parser):
            for line in try parser.parse(chunk) { try show(line: line) }
            mode = .lines(parser)
        case .text(var parser):
            for text in try parser.parse(chunk) { try write(text: text) }
            mode = .text(parser)
        case .events(var parser):
            for event in try parser.parse(chunk) { try show(event) }
            mode = .events(parser)
        case .binary(let count): mode = .binary(count + UInt64(chunk.count))
        case .hidden: break
        }
        self.mode = mode
    }

    /// Shows what is left at the end of the body.
    func finish() throws {
        switch mode {
        case .document(let data):
            try printer.print(data, type: head?["Content-Type"], charset: head?.charset)
            endsWithLineFeed = data.last == 0x0A && !printer.style.formats
        case .lines(var parser): if let line = try parser.end() { try show(line: line) }
        case .text(var parser): if let text = parser.end() { try write(text: text) }
        case .binary(let count):
            try printer.note("a binary body, \(MessagePrinter.bytes(count)); --output FILE or a pipe receives it")
            endsWithLineFeed = false
        case .raw, .events, .hidden, nil: break
        }
        if printer.terminal.isTerminal, !endsWithLineFeed { try printer.terminal.write("\n") }
    }

    /// Prints the phases of the exchange.
    func showTimes(_ request: any Request) throws {
        guard printed.contains("m") else { return }
        for hop in request.timeline { try printer.terminal.write("\(printer.style.safe("\(hop)"))\n") }
    }

    private static func mode(
        for head: ResponseHead?, _ chunk: Data, _ style: Style, streams: Bool, _ isShown: Bool
    ) -> Mode {
        let type = head?["Content-Type"]
        guard isShown else { return .hidden }
        if type?.lowercased().hasPrefix("text/event-stream") == true, style.escapes || style.formats {
            return .events(ServerSentEventParser())
        }
        if style.escapes, MessagePrinter.isBinary(chunk, type: type) { return .binary(0) }
        if MessagePrinter.isLines(type) || streams, style.escapes || style.formats { return .lines(LineParser()) }
        let isText = head?.charset.map { ["utf-8", "us-ascii"].contains($0.lowercased()) } ?? true
        if MessagePrinter.isJSON(type) ? style.formats || style.colors : style.escapes && !isText {
            return .document(Data())
        }
        return style.escapes ? .text(TextParser()) : .raw
    }

    private func show(line: String) throws {
        let isJSON = MessagePrinter.isJSON(head?["Content-Type"]) || MessagePrinter.isLines(head?["Content-Type"])
        let text = isJSON ? JSONPainter(style: printer.style).painted(line) : printer.style.safe(line)
        try printer.terminal.write(text + "\n")
    }

    private func show(_ event: ServerSentEvent) throws {
        let style = printer.style
        let id = event.id.isEmpty ? "" : style.paint(" \(SafeText.line(event.id))", .faint)
        let isJSON = (try? JSON(text: event.data)) != nil
        let data = isJSON ? JSONPainter(style: style).painted(event.data) : style.safe(event.data)
        let lines = data.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\n    ")
        try printer.terminal.write("\(style.paint(SafeText.line(event.event), .strong))\(id): \(lines)\n")
    }

    private func write(text: String) throws { try write(Data(printer.style.safe(text).utf8)) }

    private func write(_ data: Data) throws {
        guard let last = data.last else { return }
        endsWithLineFeed = last == 0x0A
        try printer.terminal.write(data)
    }
}

extension Settings {
    /// The parts that are printed: those that the user has chosen, or those that suit the output.
    func printedParts(for terminal: Terminal) -> Set<Character> {
        if isOffline { return printed?.intersection("HB") ?? ["H", "B"] }
        return printed ?? (terminal.isTerminal ? ["h", "b"] : ["b"])
    }
}
