/// The request under way, as adapters and modifiers see and change it.
///
/// It is a plain value of our own: Foundation's `URLRequest` loses the order and the repeats of header fields and costs
/// more to make than everything else in a request. `urlRequest` bridges for those who want it. It is one reference
/// inside, because each hop, attempt and response keeps one.
public struct OutgoingRequest: Sendable {
    private struct Content {
        var method: HTTPMethod
        var url: RequestURL
        var headers: HTTPHeaders
        var body: TransportBody
        var options: RequestOptions
        var problem: RequestError?
        var cookiesOfJar: String?
    }

    private final class Storage: Sendable {
        let content: Content
        init(_ content: Content) { self.content = content }
    }

    private var storage: Storage

    /// A request from its parts; what is wrong with them is said when it is sent.
    public init(
        method: HTTPMethod = .get, url: RequestURL, headers: HTTPHeaders = [:], body: TransportBody = .none,
        options: RequestOptions = RequestOptions()
    ) {
        storage = Storage(Content(method: method, url: url, headers: headers, body: body, options: options))
    }

    /// A request to anything that names a URL; throws what is wrong with it.
    public init(
        _ url: any URLConvertible, method: HTTPMethod = .get, headers: HTTPHeaders = [:], body: TransportBody = .none
    ) throws {
        self.init(method: method, url: try url.asRequestURL(), headers: headers, body: body)
    }

    private mutating func change(_ change: (inout Content) -> Void) {
        var content = storage.content
        change(&content)
        storage = Storage(content)
    }

    /// Whether nobody has changed anything since one was a copy of the other.
    func isSame(as other: OutgoingRequest) -> Bool { storage === other.storage }

    // Read in place: what is asked for most often is one field of the options, and a copy of all of them has its price.

    /// As it is written.
    public var method: HTTPMethod {
        _read { yield storage.content.method }
        set { change { $0.method = newValue } }
    }

    /// Where it goes.
    public var url: RequestURL {
        _read { yield storage.content.url }
        set {
            change {
                $0.url = newValue
                if $0.problem?.code == .invalidURL { $0.problem = nil }
            }
        }
    }

    /// In their order, repeats included.
    public var headers: HTTPHeaders {
        _read { yield storage.content.headers }
        set { change { $0.headers = newValue } }
    }

    /// None, bytes, a file or a stream.
    public var body: TransportBody {
        _read { yield storage.content.body }
        set { change { $0.body = newValue } }
    }

    /// What is not sent, and says how it is sent.
    public var options: RequestOptions {
        _read { yield storage.content.options }
        set { change { $0.options = newValue } }
    }

    /// What was wrong with a value that could not be refused where it was set; reported before sending.
    var problem: RequestError? {
        get { storage.content.problem }
        set { change { $0.problem = newValue } }
    }

    /// The field `Cookie`, if it is the jar's and nobody has changed it; setting puts another one of the jar's in its place.
    var cookiesOfJar: String? {
        get {
            guard let field = storage.content.cookiesOfJar, headers.values(for: "Cookie") == [field] else { return nil }
            return field
        }
        set {
            let isReplacing = cookiesOfJar != nil
            change {
                if isReplacing { $0.headers.remove(name: "Cookie") }
                if let newValue { $0.headers.add(name: "Cookie", value: newValue) }
                $0.cookiesOfJar = newValue
            }
        }
    }
}

/// What may be set for a single request beside what is sent.
public struct RequestOptions: Sendable, Hashable {
    /// What becomes of a redirect.
    public enum Redirects: Sendable, Hashable {
        /// Followed, up to so many in one attempt.
        case follow(limit: Int)
        /// Delivered as the response.
        case deliver
    }

    /// What to do with redirects; nil leaves it to the session, and there means to follow up to 20.
    public var redirects: Redirects?

    /// Whether a redirect may lead from https to http; nil leaves it to the session, and there means that it is refused.
    public var allowsInsecureRedirects: Bool?

    /// How long the request, its attempts and their hops may take. A request begins with its session's; setting one limit
    /// keeps the others.
    public var timeouts: RequestTimeouts {
        get { ownTimeouts ?? RequestTimeouts() }
        set { ownTimeouts = newValue }
    }
    private var ownTimeouts: RequestTimeouts?

    /// Which version of HTTP to speak; nil leaves it to the session, and there means to negotiate it.
    public var httpVersion: HTTPVersionChoice?

    /// From how many bytes on a body waits until the server has said that it wants it, by `Expect: 100-continue`, or a
    /// second has passed; bodies of unknown length count as large. Nil leaves it to the session, and there means never.
    ///
    /// It spares sending a large body that is going to be refused, and costs a round trip each time that it is not.
    public var expectsContinueFrom: UInt64?

    /// Whether a GET may have a body; nil leaves it to the session, and there means that it is refused: the body means
    /// nothing by the protocol, many servers drop it, some reject it, and most often it is a mistake.
    public var allowsBodyInGET: Bool?

    /// Whether a body that comes in a content coding (gzip, deflate, br, zstd, several of them) is decoded; nil leaves it
    /// to the session, and there means yes.
    ///
    /// With false, bodies are delivered as they are sent, and codings are not asked for. Parts of a body (206) never are
    /// decoded: they do not stand for themselves.
    public var decodesContent: Bool?

    /// How much may become of a body by decoding; nil leaves it to the session, and there means `DecodingLimits()`.
    public var decodingLimits: DecodingLimits?

    /// How many bytes of a response's body are received, as they are sent; nil leaves it to the session, and there means
    /// 2 GiB for what is kept in memory, and without end for what is not.
    ///
    /// A larger body fails with `.contentTooLarge`: at once if the head says how long it will be, else with the byte that
    /// is too many.
    public var maximumBodySize: UInt64?

    /// Whether the session's cookies are sent, and those of the response kept; nil leaves it to the session, and there means
    /// yes if it has a jar. A `Cookie` field that the request has of its own is sent as it is, without any of the jar's.
    public var usesCookieJar: Bool?

    /// Whether the session's credentials are used: its ``CredentialStore`` answers challenges, and an
    /// ``AuthenticationInterceptor`` adds its credential. Nil takes the session's option, whose default is true. False is for
    /// requests that get a credential, such as a login.
    public var usesCredentials: Bool?

    /// Header fields that do not follow a redirect to another origin, beside `Authorization`, `Cookie` and their kin, which
    /// never do: those with keys of your own. Descriptions hide their values. The session's are added to a request's.
    ///
    /// A field made with `isSecret` is treated alike without being named here.
    public var confidentialHeaders: [String] = []

    /// Query items whose values descriptions, logs and cURL commands hide, beside those whose names ``Redaction`` knows. The
    /// session's are added to a request's.
    public var confidentialQueryItems: [String] = []

    /// Who sends the request, for a server that asks. It comes from the request's settings at each attempt, or from the
    /// session's store at each hop.
    var authentication: Authentication?

    /// What the library has asked to go on with. It comes from the file at each attempt.
    var resumption: Resumption?

    mutating func addMissing(from session: RequestOptions) {
        redirects = redirects ?? session.redirects
        allowsInsecureRedirects = allowsInsecureRedirects ?? session.allowsInsecureRedirects
        expectsContinueFrom = expectsContinueFrom ?? session.expectsContinueFrom
        allowsBodyInGET = allowsBodyInGET ?? session.allowsBodyInGET
        if let theirs = session.ownTimeouts { ownTimeouts = ownTimeouts?.filled(from: theirs) ?? theirs }
        httpVersion = httpVersion ?? session.httpVersion
        usesCookieJar = usesCookieJar ?? session.usesCookieJar
        usesCredentials = usesCredentials ?? session.usesCredentials
        decodesContent = decodesContent ?? session.decodesContent
        decodingLimits = decodingLimits ?? session.decodingLimits
        maximumBodySize = maximumBodySize ?? session.maximumBodySize
        let known = confidentialHeaders
        confidentialHeaders += session.confidentialHeaders.filter { !known.contains($0) }
        let items = confidentialQueryItems
        confidentialQueryItems += session.confidentialQueryItems.filter { !items.contains($0) }
    }

    /// The options as they are unless set.
    public init() {}
}

extension OutgoingRequest {
    /// Settles what follows from the rest, and refuses what must never be sent.
    ///
    /// It runs after the last adapter, so that nothing gets past it.
    ///
    /// - Parameter known: Fields about which nothing is wrong, whatever request they are of.
    mutating func complete(knowing known: HTTPHeaders = HTTPHeaders()) throws(RequestError) {
        moveUserInfoToHeader()
        askForIdentity()
        do { try check(knowing: known) } catch {
            throw RequestError(wrapping: error, as: .invalidRequest, stage: .building, about: self)
        }
        if let threshold = options.expectsContinueFrom, body.length ?? .max >= max(1, threshold),
            headers["Expect"] == nil
        {
            headers.add(name: "Expect", value: "100-continue")
        }
        if !options.confidentialHeaders.isEmpty { headers.hide(options.confidentialHeaders) }
        if !options.confidentialQueryItems.isEmpty { url = url.hidingQueryItems(options.confidentialQueryItems) }
    }

    /// The rules for descriptions of this request and of its response: these, and what the request names or marks itself.
    func redaction(_ rules: Redaction) -> Redaction {
        let marked = headers.filter(\.isSecret).map(\.name)
        return rules.hiding(options.confidentialHeaders + options.confidentialQueryItems + marked)
    }

    /// Refuses a method or field that could split the request, a length that is not the body's, a URL that is not
    /// HTTP's, a GET with a body.
    private func check(knowing known: HTTPHeaders) throws(RequestError) {
        if let problem { throw problem }
        guard url.isHTTP, url.hasAuthority else {
            throw RequestError(
                .invalidURL, "the URL, of the scheme \(url.scheme), is not an http or https URL with a host")
        }
        guard Self.isToken(method.rawValue) else {
            throw RequestError(.invalidRequest, "the method has characters that HTTP does not allow in one")
        }
        if method == .get, body.length != 0, options.allowsBodyInGET != true {
            throw RequestError(
                .bodyInGETRequest, "a GET has a body; if that is meant, set options.allowsBodyInGET to true")
        }
        if !headers.fields.isIdentical(to: known.fields) { try Self.check(headers, for: body) }
    }

    /// Whether nothing is wrong with these fields, whatever request they are of.
    static func areAlwaysFine(_ headers: HTTPHeaders) -> Bool {
        headers["Content-Length"] == nil && headers["Transfer-Encoding"] == nil
            && (try? check(headers, for: .none)) != nil
    }

    private static func check(_ headers: HTTPHeaders, for body: TransportBody) throws(RequestError) {
        var singles: UInt = 0
        for field in headers {
            try check(field, for: body)
            guard let name = single(field.name) else { continue }
            defer { singles |= 1 << name.utf8.count }  // which tells them apart
            if singles & 1 << name.utf8.count != 0 {
                throw RequestError(
                    .invalidRequest,
                    "there are two fields \(name), of which there can be one; use update instead of add")
            }
        }
    }

    /// The name of a field that a request has once, if it is one that matters to who is asked, and for whom.
    private static func single(_ name: String) -> String? {
        let known: String
        switch name.utf8.count {
        case 4: known = "Host"
        case 10: known = "User-Agent"
        case 12: known = "Content-Type"
        case 13: known = "Authorization"
        default: return nil
        }
        return HTTPHeaders.areEqual(name, known) ? known : nil
    }

    private static func check(_ field: HTTPHeader, for body: TransportBody) throws(RequestError) {
        guard isToken(field.name) else {
            throw RequestError(.invalidRequest, "a header field's name has characters that HTTP does not allow")
        }
        guard field.value.hasOnly({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
            throw RequestError(.invalidRequest, "the header field \(field.name) has a line end or control character")
        }
        guard field.value.utf8.first?.isBlank != true, field.value.utf8.last?.isBlank != true else {
            throw RequestError(
                .invalidRequest, "the header field \(field.name) begins or ends with white space; trim its value")
        }
        // How the body ends is the transport's to say; what contradicts it would let the next request be taken for
        // this one's body.
        switch field.name.utf8.count {
        case 4 where field.name.lowercased() == "host":
            guard field.value.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !#"/?#@\,"<>"#.utf8.contains($0) }) else {
                throw RequestError(.invalidRequest, "the field \(field.name) is not a host and a port")
            }
        case 14 where field.name.lowercased() == "content-length":
            let length = body.length.map { "\($0)" }
            guard field.value == length else {
                throw RequestError(
                    .invalidRequest, "the field \(field.name) is not the body's length, \(length ?? "which is unknown")"
                )
            }
        case 17 where field.name.lowercased() == "transfer-encoding":
            guard field.value.lowercased() == "chunked", body.length == nil else {
                throw RequestError(.invalidRequest, "the field \(field.name) is not for requests to set")
            }
        default: break
        }
    }

    private static func isToken(_ text: String) -> Bool { !text.isEmpty && text.hasOnly(isTokenByte) }

    static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true  // digits and letters
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true  // !#$%&'*+-.^_`|~
        default: false
        }
    }

    /// Turns `user:password@` of the URL into a field, so that nothing below or beside ever sees it in the URL.
    mutating func moveUserInfoToHeader() {
        guard let user = url.user else { return }
        if headers["Authorization"] == nil {
            headers.add(.authorization(username: user, password: url.password ?? ""))
        }
        change { $0.url = $0.url.withoutUserInfo }
    }

    /// Has the body sent as it is where nobody is going to decode it: because nobody should, or because only a part of it is
    /// wanted. What the user says of codings stands.
    private mutating func askForIdentity() {
        guard headers["Range"] != nil || options.decodesContent == false else { return }
        let accepted = headers["Accept-Encoding"] ?? HTTPHeader.defaultAcceptEncoding.value
        if accepted == HTTPHeader.defaultAcceptEncoding.value { headers.update(.acceptEncoding("identity")) }
    }

    /// - Parameter timeLeft: How much is left of the limits that span hops.
    func transportRequest(initialAllowance: UInt64, timeLeft: Duration?) -> TransportRequest {
        var request = TransportRequest(
            method: method.rawValue, url: url, fields: headers.fields, body: body, initialAllowance: initialAllowance)
        request.timeouts = options.timeouts.ofHop(timeLeft: timeLeft)
        if let version = options.httpVersion { request.version = version }
        return request
    }
}

extension String {
    /// Whether all its bytes are such ones; in one piece of memory, as they are in most texts, this takes a fraction of the time.
    @inline(__always)
    fileprivate func hasOnly(_ isAllowed: (UInt8) -> Bool) -> Bool {
        utf8.withContiguousStorageIfAvailable { $0.allSatisfy(isAllowed) } ?? utf8.allSatisfy(isAllowed)
    }
}

extension OutgoingRequest: CustomStringConvertible, CustomReflectable {
    /// Method and URL, without the query; fields and body may hold secrets.
    public var description: String { "\(method) \(url.withoutQuery)" }
    /// Keeps `dump` from showing what the description hides.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
