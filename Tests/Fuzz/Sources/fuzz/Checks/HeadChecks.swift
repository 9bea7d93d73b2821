import Larkspur

@testable import LarkspurCore
@testable import LarkspurHTTP
@testable import LarkspurMessages
@testable import LarkspurSecurity

#if canImport(LarkspurCurl)
    @testable import LarkspurCurl
#endif

/// Checks a response head, with or without a status line, and the values of its fields.
func checkHeads(_ bytes: [UInt8]) throws {
    #if canImport(LarkspurCurl)
        try checkLines(bytes)
    #endif
    let head = ResponseHead(status: 200, rawFields: bytes)
    try checkFields(head)
    let url = try RequestURL("https://example.com/files/report.pdf")
    try checkMeaning(head, of: url)
    // Each field is also parsed as each of the fields that have a grammar.
    for field in head.fields.prefix(16) {
        let names = ["Content-Disposition", "Content-Range", "Content-Type", "Retry-After", "WWW-Authenticate"]
        let fields = names.map { HTTPHeader(name: $0, value: field.value) }
        try checkMeaning(ResponseHead(status: 206, fields: fields), of: url)
    }
    _ = MIMEType.ofContent(bytes)
}

private func checkFields(_ head: ResponseHead) throws {
    let fields = head.fields
    for field in fields {
        try require(!field.name.isEmpty, "a field has a name")
        try require(
            !(field.name + field.value).utf8.contains { $0 == 0x0D || $0 == 0x0A }, "fields are lines")
        try require(head[field.name] == head.values(for: field.name).first, "the first value is the first of all")
        guard field.name.utf8.allSatisfy({ $0 < 0x80 }) else { continue }
        let same = fields.filter { HTTPHeaders.areEqual($0.name, field.name) }
        try require(head.values(for: field.name) == same.map(\.value), "a name finds the fields that have it")
    }
    let again = ResponseHead(status: 200, fields: fields)
    try require(again.fields == fields, "fields read the same again")
    try require(again.contentLength == head.contentLength, "a length reads the same again")
}

private func checkMeaning(_ head: ResponseHead, of url: RequestURL) throws {
    let name = SuggestedName.of(head, from: url)
    try require((1...255).contains(name.utf8.count), "the name of a file has 1 to 255 bytes")
    let others = "/\\\0\r\n".unicodeScalars
    try require(!name.unicodeScalars.contains { others.contains($0) }, "it is one component of a path")
    try require(name.unicodeScalars.first != ".", "it is visible, and no other folder")
    if let delay = RetryAfter.delay(in: head) {
        try require(delay >= .zero && delay <= RetryAfter.longest, "a delay is one that clocks can count")
    }
    if let range = head["Content-Range"].flatMap(ContentRange.init) {
        try require(range.first ?? 0 < range.total ?? .max || range.first == nil, "a range is inside of its file")
    }
    _ = head.charset
    _ = DigestChallenge.strongest(in: head)
    try checkChallenges(AuthenticationChallenge.parse(head.values(for: "WWW-Authenticate")))
}

/// Checks that challenges, once serialised, are parsed as the same challenges.
private func checkChallenges(_ challenges: [AuthenticationChallenge]) throws {
    let field = challenges.map { challenge in
        let parameters = challenge.parameters.map { parameter in
            let value = parameter.value.unicodeScalars.reduce(into: "") { text, scalar in
                if scalar == "\"" || scalar == "\\" { text += "\\" }
                text.unicodeScalars.append(scalar)
            }
            return "\(parameter.name)=\"\(value)\""
        }
        let first = challenge.token.map { [$0] } ?? []
        return "\(challenge.scheme) \((first + parameters).joined(separator: ", "))"
    }
    let again = AuthenticationChallenge.parse([field.joined(separator: ", ")])
    try require(again == challenges, "challenges read the same again")
}

#if canImport(LarkspurCurl)
    /// Checks the lines as libcurl delivers them: any lines give at most one head and one length.
    private func checkLines(_ bytes: [UInt8]) throws {
        var lines = CurlHead()
        var rest = bytes[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: 0x0A).map { $0 + 1 } ?? rest.endIndex
            let progress = rest[..<end].withUnsafeBufferPointer { lines.add($0) }
            rest = rest[end...]
            switch progress {
            case .more: continue
            case .broken: return
            case .information(let head):
                try require(head.status > 100 && head.status < 200 && head.status != 101, "an interim head is interim")
                try checkFields(head)
            case .head(let head):
                try require(lines.isWhole && (head.status >= 200 || head.status == 101), "a head is a final one")
                try checkFields(head)
                if let length = lines.contentLength, let same = head.contentLength {
                    try require(same == UInt64(length), "there is one length")
                }
            }
        }
    }
#endif
