/// The head of a stored response, with everything that is needed to judge whether it may be served.
package struct StoredHead: Sendable {
    /// The URL without its fragment.
    package let url: String
    /// The party to which the response belongs (``CacheKey/partition``).
    package let partition: String
    /// The request fields for which the response was selected.
    package let selection: Selection
    /// The response's head, without the fields that must not be stored and without `Age`.
    package let head: ResponseHead
    /// The times of the request and of the response, in seconds since 1970.
    package let requested: Double
    package let received: Double
    /// The age that the response had when it was received, in seconds.
    package let initialAge: Double
    package let control: CacheControl

    package init(
        url: String, partition: String, selection: Selection, head: ResponseHead, requested: Double, received: Double,
        initialAge: Double? = nil
    ) {
        self.url = url
        self.partition = partition
        self.selection = selection
        self.requested = requested
        self.received = received
        self.initialAge = initialAge ?? Self.initialAge(of: head, requested: requested, received: received)
        control = CacheControl(head.values(for: "Cache-Control"))
        self.head = head
    }

    /// Creates the stored form of a response.
    init(of head: ResponseHead, to request: TransportRequest, _ key: CacheKey, requested: Double, received: Double) {
        let control = CacheControl(head.values(for: "Cache-Control"))
        self.init(
            url: key.url, partition: key.partition, selection: Selection(of: head, in: request.fields),
            head: head.with(head.fields.filter { FieldRules(head, control).isStored($0.name) }),
            requested: requested, received: received,
            initialAge: Self.initialAge(of: head, requested: requested, received: received))
    }

    /// Returns the head after a validation: the fields of the new head replace those of the same names (RFC 9111,
    /// section 3.2).
    func updated(
        by new: ResponseHead, to request: TransportRequest, requested: Double, received: Double
    ) -> StoredHead {
        let control = CacheControl(new.values(for: "Cache-Control"))
        let rules = FieldRules(new, control)
        let news = new.fields.filter { rules.isStored($0.name) && FieldRules.isUpdated($0.name) }
        let names = Set(news.map { $0.name.lowercased() })
        let merged = head.fields.filter { !names.contains($0.name.lowercased()) } + news
        let head = head.with(merged)
        return StoredHead(
            url: url, partition: partition,
            selection: Selection(
                of: head, in: request.fields,
                isForCookies: new["Set-Cookie"] != nil || selection.names.contains("cookie")),
            head: head, requested: requested, received: received,
            initialAge: Self.initialAge(of: new, requested: requested, received: received))
    }

    /// Returns the head for a response from the cache. Its `Age` is the current age.
    func served(age: Double) -> ResponseHead {
        let line = "Age: \(Int(age))\r\n"
        return ResponseHead(
            status: head.status, version: head.version, rawFields: head.rawFields + Array(line.utf8),
            bodyIsDecoded: head.bodyIsDecoded)
    }

    /// The age of the response in seconds (RFC 9111, section 4.2.3).
    package func age(at now: Double) -> Double { initialAge + max(0, now - received) }

    private static func initialAge(of head: ResponseHead, requested: Double, received: Double) -> Double {
        // A field with several ages is wrong. The largest one is the safe one.
        let ages = head.values(for: "Age").flatMap(\.listed).compactMap(seconds)
        let delay = max(0, received - requested)
        let corrected = (ages.max() ?? 0) + delay
        guard let date = head.date("Date") else { return corrected }
        return max(corrected, received - date)
    }

    private static func seconds(_ text: String) -> Double? {
        Int64(digits: text.utf8).map { min(Double($0), CacheControl.limit) }
    }
}

/// The rules for the fields of a response that is stored.
struct FieldRules {
    private static let ofConnection: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    ]
    /// Fields that a validation must not change, because they describe the body that is stored.
    private static let ofBody: Set<String> = ["content-encoding", "content-length", "content-range"]

    /// The lower-case names of the fields that this response names as not to be stored.
    private let named: Set<String>

    init(_ head: ResponseHead, _ control: CacheControl) {
        let connection = head.values(for: "Connection").flatMap(\.listed).map { $0.lowercased() }
        named = Set(connection + control.noCacheFields)
    }

    /// Returns whether the field is stored. A cookie is not: a stored response would set an old cookie again.
    func isStored(_ name: String) -> Bool {
        let name = name.lowercased()
        return name != "age" && name != "set-cookie" && !Self.ofConnection.contains(name) && !named.contains(name)
    }

    static func isUpdated(_ name: String) -> Bool { !ofBody.contains(name.lowercased()) }
}

/// The request fields for which a response was selected: their names and values.
package struct Selection: Sendable, Equatable {
    /// The names in lower case, sorted.
    package let names: [String]
    /// The values, one for each name; nil for a field that the request did not have.
    package let values: [String?]

    package init(names: [String], values: [String?]) {
        self.names = names
        self.values = values
    }

    /// Creates the selection of a request with these fields.
    init(names: [String], in fields: [HeaderField]) {
        self.init(names: names, values: names.map { Self.value(of: $0, in: fields) })
    }

    /// Creates the selection of a response to a request. A response that sets a cookie is for the request's cookies
    /// alone, because servers often forget to say so.
    init(of head: ResponseHead, in fields: [HeaderField], isForCookies: Bool = false) {
        var names = Set(head.values(for: "Vary").flatMap(\.listed).map { $0.lowercased() })
        if isForCookies || head["Set-Cookie"] != nil { names.insert("cookie") }
        self.names = names.sorted()
        values = self.names.map { Self.value(of: $0, in: fields) }
    }

    /// Returns whether a request with these fields selects the response.
    func matches(_ fields: [HeaderField]) -> Bool {
        zip(names, values).allSatisfy { Self.value(of: $0, in: fields) == $1 }
    }

    /// Returns the values of a field in one line, without the white space that has no meaning.
    private static func value(of name: String, in fields: [HeaderField]) -> String? {
        var value: String?
        for field in fields where HTTPHeaders.areEqual(field.name, name) {
            let text = field.value.listed.joined(separator: ",")
            value = value.map { $0 + "," + text } ?? text
        }
        return value
    }
}

extension ResponseHead {
    /// Returns a head with other fields.
    func with(_ fields: [HeaderField]) -> ResponseHead {
        ResponseHead(status: status, version: version, fields: fields, bodyIsDecoded: bodyIsDecoded)
    }

    /// The date of a field in seconds since 1970; nil if the field is missing or no date.
    func date(_ name: String) -> Double? {
        self[name].flatMap { Date(httpDate: $0) }?.timeIntervalSince1970
    }
}
