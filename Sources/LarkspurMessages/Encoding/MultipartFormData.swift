/// A form of named parts, sent as `multipart/form-data` (RFC 7578).
///
///     var form = MultipartFormData()
///     form.append("Ada", name: "author")
///     form.append(photo, name: "photo")  // a file's URL, which gives the file name and the type
///     form.append(.sequence { lines() }, name: "log", fileName: "log.txt")  // any body
///     let body = try form.body()
///
/// A form is a value. Files are read while they are sent, and are not kept in memory. Appending never throws an error.
/// Instead, ``body()`` throws the first error.
public struct MultipartFormData: Sendable {
    /// The text that separates the parts.
    public let boundary: String

    /// Whether parts that are appended later also have the parameter `filename*` (RFC 5987) if their file name is not
    /// ASCII. Browsers do not send `filename*`, and most servers ignore it.
    public var addsExtendedFileNames = false

    /// For each part, two bodies: the delimiter with the header fields of the part, and the content of the part.
    private var pieces: [TransportBody] = []
    private var failure: RequestError?

    /// Creates an empty form. The default boundary is random.
    ///
    /// - Parameter boundary: The text that separates the parts: 1 to 70 of the characters that RFC 2046 allows. The
    ///   text must not occur in any part.
    public init(boundary: String? = nil) {
        if let boundary, !Self.isBoundary(boundary) {
            failure = RequestError(
                .invalidRequest,
                "a boundary must have 1 to 70 letters, digits, spaces or '()+_,-./:=? and must not end with a space"
            )
        }
        self.boundary = failure == nil ? boundary ?? Self.randomBoundary() : Self.randomBoundary()
    }

    /// The value of the request's `Content-Type` field.
    public var contentType: String {
        let isToken = !boundary.contains { "(),/:=? ".contains($0) }
        return "multipart/form-data; boundary=" + (isToken ? boundary : "\"\(boundary)\"")
    }

    /// The length of the whole body with headers and boundaries; nil if the length of a part is unknown.
    public var contentLength: UInt64? { TransportBody.length(of: framed) }

    /// Returns the form as a body, which can be sent again if all of its parts can. Throws the first error of a part.
    public func body() throws(RequestError) -> TransportBody {
        if let failure { throw failure }
        return .joined(framed)
    }

    private var framed: [TransportBody] {
        pieces + [.data(Data(((pieces.isEmpty ? "" : "\r\n") + "--\(boundary)--\r\n").utf8))]
    }

    // MARK: Parts

    /// Adds a part with exactly these header fields.
    public mutating func append(_ body: TransportBody, headers: HTTPHeaders) {
        var header = (pieces.isEmpty ? "" : "\r\n") + "--\(boundary)\r\n"
        for field in headers {
            guard Self.isFieldName(field.name), !field.value.utf8.contains(where: { [0, 0x0A, 0x0D].contains($0) })
            else { return fail(RequestError(.invalidRequest, "a part has a header field with a line break or a NUL")) }
            header += "\(field.name): \(field.value)\r\n"
        }
        pieces += [.data(Data((header + "\r\n").utf8)), body]
    }

    /// Adds a part of any body: a stream, an asynchronous sequence, a file.
    ///
    /// - Parameter mimeType: The `Content-Type`; nil adds no such field.
    /// - Parameter headers: Further fields, after those of the other parameters.
    public mutating func append(
        _ body: TransportBody, name: String, fileName: String? = nil, mimeType: String? = nil,
        headers: HTTPHeaders = [:]
    ) {
        var fields: HTTPHeaders = [.contentDisposition(disposition(name, fileName))]
        if let mimeType { fields.add(.contentType(mimeType)) }
        for field in headers { fields.add(field) }
        append(body, headers: fields)
    }

    /// Adds bytes as a part. If a file name but no type is given, the type is detected from the name or the bytes.
    public mutating func append(_ data: Data, name: String, fileName: String? = nil, mimeType: String? = nil) {
        let type = mimeType ?? fileName.map { MIMEType.ofFile(named: $0) ?? MIMEType.ofContent(data) }
        append(.data(data), name: name, fileName: fileName, mimeType: type)
    }

    /// Adds a text in UTF-8, with its line breaks unchanged.
    public mutating func append(_ text: String, name: String) {
        append(.data(Data(text.utf8)), name: name)
    }

    /// Adds a file. The default file name is the last component of the URL. The default type is detected from the
    /// extension of `fileName` or of the URL. If no extension is known, the type is detected from the first bytes of
    /// the file.
    public mutating func append(_ url: URL, name: String, fileName: String? = nil, mimeType: String? = nil) {
        attempt { form in
            let file = try ReadableFile.open(url)
            let fileName = fileName ?? url.lastPathComponent
            let type = mimeType ?? MIMEType.ofFile(named: fileName) ?? MIMEType.ofFile(named: url.lastPathComponent)
            form.append(
                try file.body(), name: name, fileName: fileName, mimeType: type ?? MIMEType.ofContent(file.beginning))
        }
    }

    /// Adds an encoded value as a part, with the body and the content type that the encoder would set in a request.
    public mutating func append<Value: Encodable & Sendable>(
        encoding value: Value, name: String, fileName: String? = nil, encoder: any ParameterEncoder = .json
    ) {
        attempt { form in
            var request = OutgoingRequest(method: .post, url: try RequestURL("http://part.invalid/"))
            try encoder.encode(value, into: &request)
            if case .none = request.body {
                throw RequestError(.encodingFailed, "the encoder sets no body, so it cannot encode a part of a form")
            }
            form.append(request.body, name: name, fileName: fileName, mimeType: request.headers["Content-Type"])
        }
    }

    /// Adds a text part for each field of a value. The parts are named like the keys of a form: `user[name]`, `tags[]`.
    public mutating func append(
        fieldsOf value: some Encodable & Sendable, encoder: URLEncodedFormEncoder = URLEncodedFormEncoder()
    ) {
        attempt { form in
            let pairs: String = try encoder.encode(value)
            for pair in pairs.split(separator: "&") {
                let texts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                    .map { String($0).formDecoded }
                form.append(texts[1], name: texts[0])
            }
        }
    }

    private mutating func attempt(_ append: (inout MultipartFormData) throws -> Void) {
        do { try append(&self) } catch { fail(RequestError(wrapping: error, as: .encodingFailed)) }
    }

    private mutating func fail(_ error: RequestError) { failure = failure ?? error }

    // MARK: Text of headers

    private func disposition(_ name: String, _ fileName: String?) -> String {
        var value = "form-data; name=\"\(Self.escaped(Self.withCRLFLineBreaks(name)))\""
        guard let fileName else { return value }
        value += "; filename=\"\(Self.escaped(fileName))\""
        if addsExtendedFileNames, !fileName.utf8.allSatisfy({ $0 < 0x80 }) {
            value += "; filename*=UTF-8''\(fileName.percentEncoded)"
        }
        return value
    }

    /// Escapes quotes and line breaks in a name as browsers do (WHATWG HTML, "multipart/form-data encoding algorithm").
    /// Other characters stay unescaped, as UTF-8.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": escaped += "%22"
            case "\r": escaped += "%0D"
            case "\n": escaped += "%0A"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// Normalizes the line breaks of a field's name to CRLF, as the same algorithm requires. The algorithm does not
    /// change the line breaks of file names.
    private static func withCRLFLineBreaks(_ name: String) -> String {
        guard name.utf8.contains(where: { $0 == 0x0A || $0 == 0x0D }) else { return name }
        var whole = String.UnicodeScalarView()
        var previous: Unicode.Scalar?
        for scalar in name.unicodeScalars {
            if scalar == "\n", previous != "\r" { whole.append("\r") }
            if previous == "\r", scalar != "\n" { whole.append("\n") }
            whole.append(scalar)
            previous = scalar
        }
        if previous == "\r" { whole.append("\n") }
        return String(whole)
    }

    private static func isFieldName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x3A }
    }

    private static func isBoundary(_ text: String) -> Bool {
        (1...70).contains(text.utf8.count) && text.last != " "
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "'()+_,-./:=? ".contains($0)) }
    }

    private static func randomBoundary() -> String {
        "larkspur-" + (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined(separator: "-")
    }
}

extension MultipartFormData: CustomReflectable {
    /// A mirror without the parts.
    public var customMirror: Mirror { Mirror(self, children: ["boundary": boundary]) }
}
