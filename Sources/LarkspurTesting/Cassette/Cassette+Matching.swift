import Larkspur
import LarkspurInsight

extension Cassette {
    /// The parts of requests that are compared with the entries of a cassette: the method, the URL and what is chosen
    /// here.
    ///
    /// Secrets do not have to agree: an archive does not have them. The order of a query's items does not matter, and
    /// the fragment is not compared.
    public struct Matching: Sendable {
        /// How bodies are compared.
        public enum Body: Sendable {
            /// Bodies are not compared.
            case ignored
            /// Bodies have the same bytes, the same values of JSON, or the same parts of a multipart form.
            case equal
            /// The closure decides. It gets the bytes that are sent, and the body of the entry.
            case matched(by: @Sendable (_ sent: Data, _ recorded: HARArchive.Body) -> Bool)
        }

        /// The names of header fields whose values must agree.
        public var fields: [String]
        /// The names of query items that are not compared, such as the time.
        public var ignoredQueryItems: Set<String>
        /// Whether the scheme, the host and the port are not compared. Useful for recordings of a test's own server.
        public var ignoresOrigin: Bool
        /// How bodies are compared.
        public var body: Body

        /// Creates a choice. Without arguments, the method and the URL are compared.
        public init(
            fields: [String] = [], ignoringQueryItems ignoredQueryItems: Set<String> = [], ignoringOrigin: Bool = false,
            body: Body = .ignored
        ) {
            (self.fields, self.ignoredQueryItems) = (fields, ignoredQueryItems)
            (ignoresOrigin, self.body) = (ignoringOrigin, body)
        }

        var readsBodies: Bool { if case .ignored = body { false } else { true } }
    }
}

/// A request in the form in which it is compared with entries.
struct CassetteRequest: Sendable {
    let method: String
    let url: RequestURL
    let headers: HTTPHeaders
    /// The bytes of the body; nil if they have not been read.
    var body: Data?
    /// Whether the body is part of the message. That of an upgrade is sent afterwards.
    let hasBody: Bool

    init(_ request: TransportRequest) {
        method = request.method
        url = request.url
        headers = HTTPHeaders(request.fields)
        hasBody = !request.upgrades
        switch request.body {
        case _ where request.upgrades: body = Data()
        case .none: body = Data()
        case .data(let data): body = data
        default: body = nil
        }
    }

    /// The names of the fields and query items that the request marks as secret.
    var secrets: [String] { url.secretItems + headers.filter(\.isSecret).map(\.name) }
}

/// The parts of a URL that are compared, without secrets and in a fixed order.
struct CassetteURL: Hashable {
    let origin: String
    let path: String
    let items: [String]

    /// - Parameter redaction: The rules for secrets; nil to keep them.
    init(_ text: String, _ matching: Cassette.Matching, without redaction: Redaction?) {
        // Archives have WebSockets under their own schemes.
        let text = text.prefix(2).lowercased() == "ws" ? "http" + text.dropFirst(2) : text
        // The spelling of a URL does not matter: browsers and other programs escape other characters.
        guard let whole = try? RequestURL(text),
            let url = try? redaction.map({ try RequestURL($0.url(whole)) }) ?? whole
        else {
            (origin, path, items) = (text, "", [])
            return
        }
        origin = matching.ignoresOrigin ? "" : "\(whole.origin)"
        path = url.path.isEmpty ? "/" : String(url.path)
        items = (url.query ?? "").split(separator: "&")
            .filter { !matching.ignoredQueryItems.contains(Self.name(of: $0)) }.map(String.init).sorted()
    }

    /// Returns the name of an item of a query, decoded.
    private static func name(of item: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = item.utf8.prefix { $0 != UInt8(ascii: "=") }
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let decoded = Substring(rest.prefix(2)).hexadecimalByte {
                bytes.append(decoded)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Substring {
    fileprivate var hexadecimalByte: UInt8? {
        utf8.count == 2 && allSatisfy(\.isHexDigit) ? UInt8(self, radix: 16) : nil
    }
}

extension Cassette.Matching {
    /// Returns how the header fields or the body of a request differ from those of an entry; nil if they agree.
    func difference(_ request: CassetteRequest, _ entry: HARArchive.Request, _ redaction: Redaction) -> String? {
        for name in fields {
            let sent = request.headers.values(for: name)
            let recorded = entry.headers.values(for: name)
            guard sent != recorded else { continue }
            let shown = sent.map { redaction.value(of: HTTPHeader(name: name, value: $0)) }
            if shown != recorded.map({ redaction.value(of: HTTPHeader(name: name, value: $0)) }) {
                return "the field \(name) differs"
            }
        }
        guard request.hasBody else { return nil }
        guard let sent = request.body else { return readsBodies ? "the body was not read" : nil }
        let isSame: Bool
        switch body {
        case .ignored: return nil
        case .matched(let matches): isSame = matches(sent, entry.body ?? HARArchive.Body())
        case .equal:
            if entry.body?.bytes == nil, entry.body?.size ?? 0 > 0 { return "the archive does not have the body" }
            isSame = CassetteBody.areEqual(
                sent, request.headers["Content-Type"], entry.body?.bytes ?? Data(), entry.headers["Content-Type"],
                redaction)
        }
        return isSame ? nil : "the body differs"
    }
}

/// The comparison of bodies.
enum CassetteBody {
    static func areEqual(
        _ sent: Data, _ type: String?, _ recorded: Data, _ recordedType: String?, _ redaction: Redaction
    ) -> Bool {
        let sent = withoutBoundary(sent, type)
        let recorded = withoutBoundary(recorded, recordedType)
        if sent == recorded { return true }
        // The type has the boundary of the form, which the rules need to find its parts.
        let plainType = type.map { Self.withoutBoundary($0) }
        let shown = redaction.body(sent, type: plainType)
        let shownRecorded = redaction.body(recorded, type: plainType)
        if shown == shownRecorded || isHidden(shown) && isHidden(shownRecorded) { return true }
        guard let json = try? JSON(data: shown), let recordedJSON = try? JSON(data: shownRecorded) else { return false }
        return json == recordedJSON
    }

    /// Returns whether the rules have hidden a body as a whole, with only its size left.
    private static func isHidden(_ body: Data) -> Bool {
        body.starts(with: Data("\(Redaction.replacement) (".utf8)) && body.count < 64
            && String(decoding: body, as: UTF8.self).wholeMatch(of: /[A-Z]+ \([0-9]+ bytes\)/) != nil
    }

    private static let boundary = "----boundary----"

    /// Returns the bytes of a multipart form with the same boundary for all forms. Each form has a random one.
    private static func withoutBoundary(_ data: Data, _ type: String?) -> Data {
        guard let name = type.flatMap({ Self.boundary(in: $0) }) else { return data }
        var result = Data()
        var rest = data[...]
        let pattern = Data("--\(name)".utf8)
        while let range = rest.firstRange(of: pattern) {
            result += rest[..<range.lowerBound] + Data("--\(boundary)".utf8)
            rest = rest[range.upperBound...]
        }
        return result + rest
    }

    private static func withoutBoundary(_ type: String) -> String {
        boundary(in: type).map { type.replacing($0, with: boundary) } ?? type
    }

    private static func boundary(in type: String) -> String? {
        guard type.lowercased().hasPrefix("multipart/"), let boundary = type.parameters["boundary"],
            !boundary.isEmpty
        else { return nil }
        return boundary
    }
}
