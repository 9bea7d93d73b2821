/// A server's description of an error in the format of RFC 9457, `application/problem+json`.
///
///     let task = request.validate().serializingDecodable(User.self, failure: APIProblem.self)
///     if let problem = await task.response.error?.failure(as: APIProblem.self) {
///         print(problem.detail ?? problem.title ?? "")
///     }
public struct APIProblem: Error, Sendable, Hashable {
    /// The kind of problem, as a URI; `about:blank` if the problem is fully described by its HTTP status.
    public var type: String
    /// The summary of the kind of problem. All problems of one kind have the same title.
    public var title: String?
    /// The HTTP status that the server's application set. A proxy may have given the response another status.
    public var status: Int?
    /// An explanation of this occurrence of the problem.
    public var detail: String?
    /// The identifier of this occurrence of the problem, as a URI.
    public var instance: String?
    /// Further members that the server has added.
    public var extensions: JSON.Object

    /// Creates a problem, for tests and servers.
    public init(
        type: String = "about:blank", title: String? = nil, status: Int? = nil, detail: String? = nil,
        instance: String? = nil, extensions: JSON.Object = [:]
    ) {
        (self.type, self.title, self.status, self.detail) = (type, title, status, detail)
        (self.instance, self.extensions) = (instance, extensions)
    }
}

extension APIProblem: Codable {
    private static let members = ["type", "title", "status", "detail", "instance"]

    /// Decodes a problem. As RFC 9457 requires, members of a wrong type are ignored. Throws if the JSON is not an
    /// object.
    public init(from decoder: any Decoder) throws {
        guard let members = try JSON(from: decoder).object else {
            throw DecodingError.typeMismatch(
                APIProblem.self,
                .init(codingPath: decoder.codingPath, debugDescription: "a problem must be a JSON object"))
        }
        self.init(
            type: members["type"]?.string ?? "about:blank", title: members["title"]?.string,
            status: members["status"]?.int, detail: members["detail"]?.string, instance: members["instance"]?.string,
            extensions: JSON.Object(members.filter { !Self.members.contains($0.key) }.map { ($0.key, $0.value) }))
    }

    public func encode(to encoder: any Encoder) throws {
        let own: [(String, JSON?)] = [
            ("type", .string(type)), ("title", title.map(JSON.string)), ("status", status.map { JSON($0) }),
            ("detail", detail.map(JSON.string)), ("instance", instance.map(JSON.string)),
        ]
        let members = own.compactMap { key, value in value.map { (key, $0) } } + extensions.map { ($0.key, $0.value) }
        try JSON.object(JSON.Object(members)).encode(to: encoder)
    }
}

extension APIProblem: CustomStringConvertible {
    public var description: String {
        [title ?? (type == "about:blank" ? "problem" : type), detail].compactMap(\.self).joined(separator: ": ")
    }
}

extension APIProblem {
    /// Returns the description as one redacted line of limited length. If the problem has another status than
    /// `received`, the line also contains the problem's status.
    func line(besideStatus received: Int?) -> String {
        let text = String(description.prefix(300))
        let shown = Redaction.standard.body(Data(text.utf8), type: "text/plain")
        let line = String(decoding: shown, as: UTF8.self).printable + (text.count < description.count ? "…" : "")
        guard let status, status != received else { return line }
        return "\(line) (status \(status))"
    }
}
