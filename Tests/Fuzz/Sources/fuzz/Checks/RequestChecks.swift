import Larkspur

@testable import LarkspurCore
@testable import LarkspurTesting

/// Checks requests as a mock server parses them. The first byte selects whether bodies are counted or kept, and the
/// pieces of the input.
func checkRequests(_ bytes: [UInt8]) throws {
    var input = FuzzInput(bytes)
    let choice = input.byte()
    let reading = choice & 0x80 == 0 ? MockBodyReading.kept : .counted
    let whole = found(in: [input.rest], reading)
    let pieces = found(in: input.rest.pieces(by: choice & 0x7F), reading)
    try require(whole.map(\.text) == pieces.map(\.text), "requests do not depend on the pieces of the input")
    for case .request(let request) in whole {
        try checkRequest(request)
        guard case .kept = reading else { continue }
        try require(UInt64(request.body.count) == request.bodyCount, "all of a body is kept")
        try checkRoundTrip(request)
    }
}

private func checkRequest(_ request: MockRequest) throws {
    for word in [request.method, request.target, request.version] {
        try require(!word.utf8.contains { $0 <= 0x20 || $0 == 0x7F }, "words of the first line have no spaces")
    }
    for field in request.headers {
        try require(!field.name.utf8.contains { $0 <= 0x20 }, "names of fields have no spaces")
        try require(!field.value.utf8.breaksLines, "fields are lines")
    }
    try require(request.path + (request.query.map { "?\($0)" } ?? "") == request.target, "parts make up the target")
}

private func checkRoundTrip(_ request: MockRequest) throws {
    var text = "\(request.method) \(request.target) \(request.version)\r\n"
    let fields = request.headers.filter { !["transfer-encoding", "content-length"].contains($0.name.lowercased()) }
    for field in fields { text += "\(field.name): \(field.value)\r\n" }
    text += "Content-Length: \(request.body.count)\r\n\r\n"
    let again = found(in: [Array(text.utf8)[...] + request.body], .kept)
    guard case .request(let copy)? = again.last else { throw Violation(rule: "a request reads the same again") }
    try require(copy.body == request.body && copy.headers.count == fields.count + 1, "a request reads the same again")
    try require(zip(copy.headers, fields).allSatisfy { $0 == $1 }, "fields read the same again")
}

private func found(in pieces: [ArraySlice<UInt8>], _ reading: MockBodyReading) -> [MockRequestParser.Found] {
    var parser = MockRequestParser()
    parser.reading = reading
    var all: [MockRequestParser.Found] = []
    for piece in pieces {
        parser.append(piece)
        while true {
            let found = parser.next()
            if case .nothing = found { break }
            all.append(found)
            if case .broken = found { return all }
        }
    }
    return all
}

extension MockRequestParser.Found {
    fileprivate var text: String {
        switch self {
        case .nothing: ""
        case .head(let request): "head \(request)"
        case .request(let request): "request \(request) \([UInt8](request.body))"
        case .broken(let reason): reason
        }
    }
}
