import Larkspur

@testable import LarkspurCore

/// Checks streams of every kind. The first byte selects the kind, the second the maximum size of messages, the third
/// the pieces of the input.
func checkStreams(_ bytes: [UInt8]) throws {
    var input = FuzzInput(bytes)
    let kind = input.byte()
    let limit = 4 * Int(input.byte())
    let seed = input.byte()
    let pieces = input.rest.pieces(by: seed)
    func check<Parser: StreamParser>(_ parser: Parser) throws where Parser.Output: Equatable {
        let (whole, split) = (Outcome(of: parser, in: [input.rest]), Outcome(of: parser, in: pieces))
        try require(whole == split, "\(Parser.self) does not depend on how bytes come")
    }
    switch kind % 8 {
    case 0: try checkEvents(ServerSentEventParser(maximumEventSize: limit), input.rest, pieces)
    case 1: try check(LineParser(maximumLength: limit))
    case 2: try checkText(input.rest, pieces)
    case 3: try check(StandardFraming.jsonLines(maximumSize: limit))
    case 4: try check(StandardFraming.jsonSequence(maximumSize: limit))
    case 5:
        let width = 1 + Int(kind >> 4) % 8
        try check(
            StandardFraming.lengthPrefixed(
                bytes: width, endianness: kind & 8 == 0 ? .big : .little, maximumSize: limit))
    case 6: try check(StandardFraming.serverSentEvents(maximumSize: limit))
    default:
        try check(
            StandardFraming.custom(maximumSize: limit) { bytes in bytes.firstIndex(of: 0).map { (0..<$0, $0 + 1) } })
    }
}

/// The output of a parser up to a failure, and the bytes that it left.
private struct Outcome<Parser: StreamParser> where Parser.Output: Equatable {
    private(set) var values: [Parser.Output] = []
    private(set) var failure: String?
    private(set) var parser: Parser

    init(of parser: Parser, in pieces: [ArraySlice<UInt8>]) {
        self.parser = parser
        do {
            for piece in pieces {
                try piece.withUnsafeBytes { bytes in
                    var rest = bytes
                    while let value = try self.parser.next(in: &rest) { values.append(value) }
                    try require(rest.isEmpty, "a parser that needs more input has used all of it")
                }
            }
            if let value = try self.parser.end() { values.append(value) }
        } catch {
            failure = "\(error)"
        }
    }

    static func == (left: Self, right: Self) -> Bool { left.values == right.values && left.failure == right.failure }
}

private func checkEvents(
    _ parser: ServerSentEventParser, _ bytes: ArraySlice<UInt8>, _ pieces: [ArraySlice<UInt8>]
) throws {
    let (whole, split) = (Outcome(of: parser, in: [bytes]), Outcome(of: parser, in: pieces))
    try require(whole == split, "events do not depend on the pieces of the input")
    guard whole.failure == nil else { return }
    try require(
        whole.parser.lastEventID == split.parser.lastEventID
            && whole.parser.reconnectionTime == split.parser.reconnectionTime, "nor does the position to resume from")
    try require(!whole.parser.lastEventID.utf8.breaksLines, "an ID can stand in a field")
    for event in whole.values {
        try require(!event.event.isEmpty && !event.event.utf8.contains { $0 == 0x0A || $0 == 0x0D }, "a type is a line")
        try require(!event.data.utf8.contains(0x0D), "lines of data end with line feeds")
        try require(
            Outcome(of: ServerSentEventParser(), in: [written(event)[...]]).values == [event],
            "an event reads the same again")
    }
}

private func written(_ event: ServerSentEvent) -> [UInt8] {
    var text = "id: \(event.id)\nevent: \(event.event)\n"
    if let (seconds, rest) = event.retry?.components {
        text += "retry: \(seconds * 1_000 + rest / 1_000_000_000_000_000)\n"
    }
    for line in event.data.utf8.split(separator: 0x0A, omittingEmptySubsequences: false) {
        text += "data: \(Substring(line))\n"
    }
    return Array("\(text)\n".utf8)
}

/// Checks that text is cut only between characters, and that the pieces joined equal the whole.
private func checkText(_ bytes: ArraySlice<UInt8>, _ pieces: [ArraySlice<UInt8>]) throws {
    let whole = String(decoding: bytes, as: UTF8.self)
    let joined = Outcome(of: TextParser(), in: pieces).values.joined()
    try require(joined.utf8.elementsEqual(whole.utf8), "texts, joined, are the whole")
}
