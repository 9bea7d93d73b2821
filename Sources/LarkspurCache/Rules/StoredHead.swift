/// The head of a stored response, with everything that is needed to judge whether it may be served.
///
/// This is a class, because it is passed on often, and a copy of a struct would count the references of all its parts.
package final class StoredHead: Sendable {
    /// The place of the response in a store.
    let place: CachePlace
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
    /// Whether the response is only for requests without cookies, because the request had none, and the response does
    /// not say that it is for everyone.
    let isForNoCookies: Bool

    /// The URL without its fragment.
    package var url: String { place.url }
    /// The party to which the response belongs (``CachePlace/partition``).
    package var partition: String { place.partition }

    package convenience init(
        url: String, partition: String, selection: Selection, head: ResponseHead, control: CacheControl? = nil,
        requested: Double, received: Double, initialAge: Double? = nil
    ) {
        self.init(
            at: CachePlace(url: url, partition: partition), selection: selection, head: head, control: control,
            requested: requested, received: received, initialAge: initialAge)
    }

    init(
        at place: CachePlace, selection: Selection, head: ResponseHead, control: CacheControl? = nil,
        requested: Double, received: Double, initialAge: Double? = nil
    ) {
        self.place = place
        self.selection = selection
        self.requested = requested
        self.received = received
        self.initialAge = initialAge ?? Self.initialAge(of: head, requested: requested, received: received)
        let control = control ?? CacheControl(head.values(for: "Cache-Control"))
        self.control = control
        self.head = head
        isForNoCookies = !control.isPublic && !selection.names.contains(Selection.cookie)
    }

    /// Creates the stored form of a response.
    package convenience init(
        of head: ResponseHead, control: CacheControl? = nil, to request: TransportRequest, _ key: CacheKey,
        requested: Double, received: Double, isShared: Bool = false
    ) {
        let control = control ?? CacheControl(head.values(for: "Cache-Control"))
        let rules = FieldRules(head, control, isShared: isShared)
        self.init(
            at: key.place, selection: Selection(of: head, control, in: request.fields),
            head: rules.stored(head), control: control, requested: requested, received: received,
            initialAge: Self.initialAge(of: head, requested: requested, received: received))
    }

    /// Returns the head after a validation: the fields of the new head replace those of the same names (RFC 9111,
    /// section 3.2).
    package func updated(
        by new: ResponseHead, to request: TransportRequest, requested: Double, received: Double, isShared: Bool = false
    ) -> StoredHead {
        let rules = FieldRules(new, CacheControl(new.values(for: "Cache-Control")), isShared: isShared)
        // The body of a weak tag may be a changed one, which the server's strong tag must not name.
        let isWeak = head["ETag"]?.hasPrefix("W/") == true
        let news = new.fields.filter { field in
            rules.isStored(field.name) && FieldRules.isUpdated(field.name)
                && !(isWeak && HTTPHeaders.areEqual(field.name, "ETag") && !field.value.hasPrefix("W/"))
        }
        let names = Set(news.map { $0.name.lowercased() })
        let kept = head.fields.filter { !names.contains($0.name.lowercased()) && rules.isStored($0.name) }
        let head = head.with(kept + news)
        let control = CacheControl(head.values(for: "Cache-Control"))
        return StoredHead(
            at: place,
            selection: Selection(
                of: head, control, in: request.fields,
                also: selection.names + (new["Set-Cookie"] == nil ? [] : [Selection.cookie])),
            head: head, control: control, requested: requested, received: received,
            initialAge: Self.initialAge(of: new, requested: requested, received: received))
    }

    /// Returns the head after a ``CachedResponseHandler`` has changed the response.
    ///
    /// - Parameters:
    ///   - new: The changed head; nil if only the body was changed.
    ///   - bodyLength: The length of the changed body; nil if the body is the received one.
    ///   - fields: The fields of the request.
    ///   - isShared: Whether the cache serves several users.
    func changed(to new: ResponseHead?, bodyLength: Int?, in fields: [HTTPHeader], isShared: Bool) -> StoredHead {
        var head = head
        if let new {
            let rules = FieldRules(new, CacheControl(new.values(for: "Cache-Control")), isShared: isShared)
            head = new.with(new.fields.filter { rules.isStored($0.name) })
        }
        if let bodyLength {
            var kept = head.fields.filter { FieldRules.isKept($0.name) }
            // Ranges of this body must not be joined with those of the server's, so the tag is a strong one no more.
            for index in kept.indices where HTTPHeaders.areEqual(kept[index].name, "ETag") {
                if kept[index].value.hasPrefix("\"") { kept[index].value = "W/" + kept[index].value }
            }
            head = head.with(kept + [HTTPHeader(name: "Content-Length", value: "\(bodyLength)")])
        }
        let control = CacheControl(head.values(for: "Cache-Control"))
        // A handler may keep more requests apart than the server does, and not fewer.
        let names = selection.names + (isForNoCookies ? [Selection.cookie] : [])
        return StoredHead(
            at: place, selection: Selection(of: head, control, in: fields, also: names),
            head: head, control: control, requested: requested, received: received, initialAge: initialAge)
    }

    /// Returns the head for a response from the cache. Its `Age` is the current age.
    func served(age: Double) -> ResponseHead {
        var fields: [UInt8] = []
        fields.reserveCapacity(head.rawFields.count + 24)
        fields += head.rawFields
        fields += "Age: ".utf8
        fields += String(Int(age)).utf8
        fields += "\r\n".utf8
        return ResponseHead(
            status: head.status, version: head.version, rawFields: fields, bodyIsDecoded: head.bodyIsDecoded)
    }

    /// Returns whether a request with these fields selects the response.
    func isSelected(by fields: [HTTPHeader]) -> Bool {
        selection.matches(fields) && isForCookies(of: fields)
    }

    /// Returns whether a request with these fields selects the response.
    ///
    /// - Parameter asked: The selection of the request by the names of this response's selection.
    func isSelected(by asked: Selection, of fields: [HTTPHeader]) -> Bool {
        asked == selection && !selection.variesWithEverything && isForCookies(of: fields)
    }

    private func isForCookies(of fields: [HTTPHeader]) -> Bool {
        !(isForNoCookies && fields.contains(where: \.isCookie))
    }

    /// The age of the response in seconds (RFC 9111, section 4.2.3).
    package func age(at now: Double) -> Double { initialAge + max(0, now - received) }

    private static func initialAge(of head: ResponseHead, requested: Double, received: Double) -> Double {
        // Of several ages the first one counts. An age that is not a number of seconds is ignored (section 5.1).
        let age = head.values(for: "Age").flatMap(\.listed).first.flatMap(seconds) ?? 0
        let delay = max(0, received - requested)
        let corrected = age + delay
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
    /// The lengths of all names that ``isStored(_:)`` knows, as bits. Few fields have one of them.
    private static let lengths = (ofConnection + ["age", "set-cookie"]).reduce(into: UInt64(0)) {
        $0 |= 1 << UInt64($1.utf8.count)
    }

    /// Fields that a validation must not change, because they describe the body that is stored.
    private static let ofBody: Set<String> = ["content-encoding", "content-length", "content-range"]

    /// Fields that a response cannot name as not to be stored, because without them it would be judged wrongly.
    private static let essential: Set<String> = ["cache-control", "date", "expires", "pragma", "vary"]

    /// The lower-case names of the fields that this response names as not to be stored.
    private let named: Set<String>

    init(_ head: ResponseHead, _ control: CacheControl, isShared: Bool = false) {
        let connection = head.values(for: "Connection").flatMap(\.listed).map { $0.lowercased() }
        named = Set(connection + control.noCacheFields + (isShared ? control.privateFields : []))
            .subtracting(Self.essential)
    }

    /// Returns whether the field is stored. A cookie is not: a stored response would set an old cookie again.
    func isStored(_ name: String) -> Bool {
        if named.isEmpty, Self.lengths >> UInt64(name.utf8.count) & 1 == 0 { return true }
        let name = name.lowercased()
        return name != "age" && name != "set-cookie" && !Self.ofConnection.contains(name) && !named.contains(name)
    }

    /// Returns the head with those of its fields that are stored, and each of them in a line that ends.
    func stored(_ head: ResponseHead) -> ResponseHead {
        let fields = head.fields
        let isWhole = head.rawFields.last == UInt8(ascii: "\n") && fields.allSatisfy { isStored($0.name) }
        return isWhole ? head : head.with(fields.filter { isStored($0.name) })
    }

    static func isUpdated(_ name: String) -> Bool { !ofBody.contains(name.lowercased()) }

    /// Fields that a response loses with its received body.
    private static let ofReceivedBody: Set<String> = [
        "content-length", "content-md5", "digest", "content-digest", "repr-digest",
    ]

    /// Returns whether the field stays when the body is replaced.
    static func isKept(_ name: String) -> Bool { !ofReceivedBody.contains(name.lowercased()) }
}

/// The request fields for which a response was selected: their names and values.
///
/// A server chooses the names, and any client the values, so both have limits.
package struct Selection: Sendable, Hashable {
    /// The maximum number of responses to one URL and one party that a store keeps. They differ in their selections.
    package static let maximumCount = 32
    /// The maximum size of all names in bytes, with four bytes for each name.
    private static let maximumSize = 2 << 10

    /// The names in lower case, sorted.
    package let names: [String]
    /// The values, one for each name; nil for a field that the request did not have.
    package let values: [String?]

    package init(names: [String], values: [String?]) {
        self.names = names
        self.values = values
    }

    /// Creates the selection of a request with these fields.
    init(names: [String], in fields: [HTTPHeader]) {
        self.init(names: names, values: names.map { Self.value(of: $0, in: fields) })
    }

    /// The name that selects by cookies.
    static let cookie = "cookie"

    /// Creates the selection of a response to a request. A response that sets a cookie is for the request's cookies
    /// alone, and so is a response to a request with cookies that is not `public`. Servers often forget to say so.
    ///
    /// - Parameter others: The names in lower case of more fields by which the response was selected.
    package init(
        of head: ResponseHead, _ control: CacheControl, in fields: [HTTPHeader], also others: [String] = []
    ) {
        var names = Set(head.values(for: "Vary").flatMap(\.listed).map { $0.lowercased() } + others)
        if head["Set-Cookie"] != nil || !control.isPublic && fields.contains(where: \.isCookie) {
            names.insert(Self.cookie)
        }
        self.names = names.sorted()
        values = self.names.map { Self.value(of: $0, in: fields) }
    }

    /// Whether the names are few enough to be stored.
    var isStorable: Bool { names.reduce(0) { $0 + $1.utf8.count + 4 } <= Self.maximumSize }

    /// Whether no request selects the response, because `Vary` has a `*`.
    var variesWithEverything: Bool { names.contains("*") }

    /// Returns whether a request with these fields selects the response.
    package func matches(_ fields: [HTTPHeader]) -> Bool {
        !variesWithEverything && zip(names, values).allSatisfy { Self.value(of: $0, in: fields) == $1 }
    }

    /// The fields whose values mean the same in upper and lower case.
    private static let caseless: Set<String> = ["accept-charset", "accept-encoding", "accept-language"]

    /// Returns the values of a field in one line, without differences that have no meaning.
    private static func value(of name: String, in fields: [HTTPHeader]) -> String? {
        var value: String?
        for field in fields where HTTPHeaders.areEqual(field.name, name) {
            // In cookies, commas have no meaning.
            let text = name == cookie ? field.value : field.value.listed.joined(separator: ",")
            value = value.map { $0 + "," + text } ?? text
        }
        return caseless.contains(name) ? value?.lowercased() : value
    }
}

extension ResponseHead {
    /// Returns a head with other fields.
    func with(_ fields: [HTTPHeader]) -> ResponseHead {
        ResponseHead(status: status, version: version, fields: fields, bodyIsDecoded: bodyIsDecoded)
    }

    /// The date of a field in seconds since 1970; nil if the field is missing or no date.
    func date(_ name: String) -> Double? {
        self[name].flatMap(Self.time)
    }

    /// Returns the seconds since 1970 of a date, whose names may have upper and lower case (RFC 9111, section 4.2).
    static func time(_ text: String) -> Double? {
        if let date = Date(httpDate: text) { return date.timeIntervalSince1970 }
        var isInName = false
        let bytes = text.utf8.map { byte -> UInt8 in
            let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            defer { isInName = isLetter }
            return isLetter ? (isInName ? byte | 0x20 : byte & ~0x20) : byte
        }
        let usual = String(decoding: bytes, as: UTF8.self)
        return Date(httpDate: usual.hasSuffix(" Gmt") ? usual.dropLast(3) + "GMT" : usual)?.timeIntervalSince1970
    }
}
