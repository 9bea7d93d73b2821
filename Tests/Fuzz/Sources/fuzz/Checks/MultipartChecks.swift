import Foundation
import Larkspur

@testable import LarkspurCore
@testable import LarkspurHTTP
@testable import LarkspurTransport

/// Checks that parts with any names, file names, types, fields and contents are each parsed as one part.
func checkMultipart(_ bytes: [UInt8]) throws {
    var input = FuzzInput(bytes)
    var form = MultipartFormData(boundary: input.byte() % 4 == 0 ? input.text() : "fuzz")
    var parts: [WrittenPart] = []
    repeat {
        let part = WrittenPart(from: &input)
        form.addsExtendedFileNames = part.hasExtendedName
        form.append(
            .data(Data(part.content)), name: part.name, fileName: part.fileName, mimeType: part.type,
            headers: part.headers)
        parts.append(part)
    } while !input.rest.isEmpty
    let delimiter = Data("--\(form.boundary)".utf8)
    // A boundary must not occur in a part, and a refused form is not parsed.
    guard !parts.contains(where: { Data($0.content).range(of: delimiter) != nil }), let body = try? form.body() else {
        return
    }
    let data = try read(body)
    try require(UInt64(data.count) == form.contentLength, "the length is that of the body")
    let found = try split(data, at: Data("\r\n".utf8) + delimiter)
    try require(found.count == parts.count, "there are as many parts as were appended")
    for (part, found) in zip(parts, found) { try part.check(found) }
}

private struct WrittenPart {
    let name: String
    let hasExtendedName: Bool
    let fileName: String?
    let type: String?
    let headers: HTTPHeaders
    let content: [UInt8]

    init(from input: inout FuzzInput) {
        let choice = input.byte()
        name = input.text()
        hasExtendedName = choice & 1 != 0
        fileName = choice & 2 != 0 ? input.text() : nil
        type = choice & 4 != 0 ? input.text() : nil
        headers = choice & 8 != 0 ? [input.text(): input.text()] : [:]
        content = input.piece()
    }

    /// Checks the part's bytes between two delimiters, as a server would parse them.
    func check(_ part: Data) throws {
        guard part.starts(with: "\r\n".utf8), let end = part.range(of: Data("\r\n\r\n".utf8)) else {
            throw Violation(rule: "a part has a header")
        }
        try require(part[end.upperBound...].elementsEqual(content), "a part has its content and nothing else")
        let lines = String(decoding: part[..<end.lowerBound], as: UTF8.self).utf8.split(separator: 0x0A).dropFirst()
        let count = 1 + (type == nil ? 0 : 1) + headers.count
        try require(lines.count == count, "a part has its fields and no more")
        var rest = String(Substring(lines[1]))[...].utf8
        func take(_ text: String) -> Bool {
            defer { rest = rest.dropFirst(text.utf8.count) }
            return rest.starts(with: text.utf8)
        }
        func value() -> [UInt8] {
            defer { rest = rest.drop { $0 != UInt8(ascii: "\"") }.dropFirst() }
            return Array(rest.prefix { $0 != UInt8(ascii: "\"") })
        }
        try require(take("Content-Disposition: form-data; name=\""), "a part says what it is")
        try require(value() == Self.escaped(Self.withLineEnds(name)), "a part has its name")
        if let fileName {
            try require(take("; filename=\"") && value() == Self.escaped(fileName), "a file has its name")
            if take("; filename*=UTF-8''") {
                try require(hasExtendedName, "a name is given twice if that is asked for")
                let encoded = String(Substring(rest)).trimmingCharacters(in: .newlines)
                try require(encoded.removingPercentEncoding == fileName, "both names are the same")
                rest = rest.dropFirst(rest.count)
            }
        }
    }

    /// Returns the text with each of its line ends as CR LF.
    private static func withLineEnds(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        var last: Unicode.Scalar?
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\r": scalars.append(contentsOf: "\r\n".unicodeScalars)
            case "\n" where last == "\r": break
            case "\n": scalars.append(contentsOf: "\r\n".unicodeScalars)
            default: scalars.append(scalar)
            }
            last = scalar
        }
        return String(scalars)
    }

    private static func escaped(_ text: String) -> [UInt8] {
        text.utf8.flatMap { byte -> [UInt8] in
            switch byte {
            case UInt8(ascii: "\""): Array("%22".utf8)
            case 0x0D: Array("%0D".utf8)
            case 0x0A: Array("%0A".utf8)
            default: [byte]
            }
        }
    }
}

private func read(_ body: TransportBody) throws -> Data {
    let stream = body.open()
    stream.begin {}
    defer { stream.end() }
    var data = Data()
    var buffer = [UInt8](repeating: 0, count: 1_000)
    while case .bytes(let count) = buffer.withUnsafeMutableBytes({ stream.read(into: $0) }) { data += buffer[..<count] }
    return data
}

/// Splits a body at its delimiters; the last delimiter ends the body.
private func split(_ data: Data, at delimiter: Data) throws -> [Data] {
    var rest = Data("\r\n".utf8) + data
    var parts: [Data] = []
    guard let first = rest.range(of: delimiter), first.lowerBound == 0 else {
        throw Violation(rule: "a form begins with its boundary")
    }
    rest = rest[first.upperBound...]
    while let next = rest.range(of: delimiter) {
        parts.append(rest[..<next.lowerBound])
        rest = rest[next.upperBound...]
    }
    try require(rest.elementsEqual("--\r\n".utf8), "a form ends with its boundary")
    return parts
}
