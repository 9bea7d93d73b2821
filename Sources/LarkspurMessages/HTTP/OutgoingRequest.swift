/// A request before it is sent, as adapters and modifiers see and change it.
///
/// The type does not wrap Foundation's `URLRequest`, which loses the order and the repetition of header fields, and
/// costs more than all other parts of a request. ``urlRequest`` converts the request for code that needs a
/// `URLRequest`.
///
/// The value is a single reference, so that it is cheap to store a request in each hop, attempt and response.
public struct OutgoingRequest: Sendable {
    @usableFromInline
    struct Content: Sendable {
        @usableFromInline var method: HTTPMethod
        @usableFromInline var url: RequestURL
        @usableFromInline var headers: HTTPHeaders
        @usableFromInline var body: TransportBody
        @usableFromInline var options: RequestOptions
        var problem: RequestError?
        var cookiesOfJar: String?
    }

    @usableFromInline
    final class Storage: Sendable {
        @usableFromInline let content: Content
        init(_ content: Content) { self.content = content }
    }

    @usableFromInline private(set) var storage: Storage

    /// Creates a request from its parts. The parts are checked when the request is sent.
    public init(
        method: HTTPMethod = .get, url: RequestURL, headers: HTTPHeaders = [:], body: TransportBody = .none,
        options: RequestOptions = RequestOptions()
    ) {
        storage = Storage(Content(method: method, url: url, headers: headers, body: body, options: options))
    }

    /// Creates a request to a URL. Throws if the URL is not valid.
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

    /// Returns whether both values are copies of one request, and neither copy has been changed.
    @inlinable
    package func isSame(as other: OutgoingRequest) -> Bool { storage === other.storage }

    // The getters use `_read`, which yields the stored value without a copy. Single options are read often, and copying
    // all options is expensive. Where they are not inlined, each call allocates memory.

    /// The method, with upper and lower case as given.
    public var method: HTTPMethod {
        @inlinable _read { yield storage.content.method }
        set { change { $0.method = newValue } }
    }

    /// The target of the request.
    public var url: RequestURL {
        @inlinable _read { yield storage.content.url }
        set {
            change {
                $0.url = newValue
                if $0.problem?.code == .invalidURL { $0.problem = nil }
            }
        }
    }

    /// The header fields in their order, including repeated ones.
    public var headers: HTTPHeaders {
        @inlinable _read { yield storage.content.headers }
        set { change { $0.headers = newValue } }
    }

    /// The body: none, bytes, a file or a stream.
    public var body: TransportBody {
        @inlinable _read { yield storage.content.body }
        set { change { $0.body = newValue } }
    }

    /// Sets the body. Also sets the content type, unless the request already has a content type. Both are one change,
    /// because each change copies the request.
    mutating func setBody(_ data: Data, contentType: String) {
        let hasType = headers["Content-Type"] != nil
        change {
            $0.body = .data(data)
            if !hasType { $0.headers.add(name: "Content-Type", value: contentType) }
        }
    }

    /// The settings for how the request is sent. They are not part of the HTTP message.
    public var options: RequestOptions {
        @inlinable _read { yield storage.content.options }
        set { change { $0.options = newValue } }
    }

    /// The responder and the priority in `options`, read directly, because reading through the accessors of `options`
    /// would need an allocation.
    package var responder: (any ChallengeResponder)? { storage.content.options.responder }
    var priority: RequestPriority? { storage.content.options.priority }

    /// The error of a property setter, because setters cannot throw. The error is reported before the request is sent.
    var problem: RequestError? {
        get { storage.content.problem }
        set { change { $0.problem = newValue } }
    }

    /// The `Cookie` field that the cookie jar has set; nil if the field was changed afterwards. Setting this property
    /// replaces the jar's field.
    package var cookiesOfJar: String? {
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

extension OutgoingRequest {
    /// Adds the header fields that the request's URL, options and body require, and throws if the request must not be
    /// sent.
    ///
    /// The caller runs all adapters before, so that their changes are checked, too.
    ///
    /// - Parameter known: Header fields that were checked before and are valid for any request.
    package mutating func complete(knowing known: HTTPHeaders = HTTPHeaders()) throws(RequestError) {
        moveUserInfoToHeader()
        askForIdentity()
        announceTrailers()
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

    /// Returns the given redaction rules, extended with the names of this request's own secret fields and query items.
    /// The result applies to the request and to its response, in logs and in recordings.
    public func redaction(extending rules: Redaction) -> Redaction {
        let marked = headers.filter(\.isSecret).map(\.name)
        return rules.hiding(options.confidentialHeaders + options.confidentialQueryItems + marked)
    }

    /// Throws for a method or field that could split the request, for a `Content-Length` that differs from the body's
    /// length, for a URL that is not an HTTP URL, and for a GET with a body.
    private func check(knowing known: HTTPHeaders) throws(RequestError) {
        if let problem { throw problem }
        guard url.isHTTP, url.hasAuthority else {
            let problem =
                url.isHTTP
                ? "the URL has no host"
                : "the URL's scheme is \(url.scheme) (if that is a host, write http:// or https:// before it)"
            throw RequestError(
                .invalidURL, "\(problem); a session sends requests only to http and https URLs with a host")
        }
        guard Self.isToken(method.rawValue) else {
            throw RequestError(.invalidRequest, "the method \(Self.fault(in: method.rawValue))")
        }
        if method == .get, body.length != 0, options.allowsBodyInGET != true {
            throw RequestError(
                .bodyInGETRequest, "a GET has a body; if that is intended, set options.allowsBodyInGET to true")
        }
        if !headers.fields.isIdentical(to: known.fields) { try Self.check(headers, for: body) }
    }

    /// Returns whether these header fields are valid for any request.
    package static func areAlwaysFine(_ headers: HTTPHeaders) -> Bool {
        headers["Content-Length"] == nil && headers["Transfer-Encoding"] == nil
            && (try? check(headers, for: .none)) != nil
    }

    package static func check(_ headers: HTTPHeaders, for body: TransportBody) throws(RequestError) {
        var singles: UInt = 0
        for field in headers {
            try check(field, for: body)
            guard let name = single(field.name) else { continue }
            defer { singles |= 1 << name.utf8.count }  // the four names have different lengths
            if singles & 1 << name.utf8.count != 0 {
                throw RequestError(
                    .invalidRequest,
                    "the header field \(name) occurs twice, but only one is allowed; use update instead of add")
            }
        }
    }

    /// Returns the canonical name of a field that may occur only once, because it affects routing or identity; nil for
    /// other fields.
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
            throw RequestError(.invalidRequest, "the name of a header field \(Self.fault(in: field.name))")
        }
        guard field.value.hasOnly({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
            throw RequestError(
                .invalidRequest, "the header field \(field.name) contains a line break or control character")
        }
        guard field.value.utf8.first?.isBlank != true, field.value.utf8.last?.isBlank != true else {
            throw RequestError(
                .invalidRequest, "the header field \(field.name) begins or ends with white space; trim its value")
        }
        // The transport determines where the body ends. If a field of the request contradicts the transport, the server
        // could take the next request for a part of this body.
        switch field.name.utf8.count {
        case 4 where field.name.lowercased() == "host":
            guard field.value.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !#"/?#@\,"<>"#.utf8.contains($0) }) else {
                throw RequestError(.invalidRequest, "the header field \(field.name) is not a host and a port")
            }
        case 14 where field.name.lowercased() == "content-length":
            let length = body.length.map { "\($0)" }
            guard field.value == length else {
                throw RequestError(
                    .invalidRequest,
                    "the header field \(field.name) is not the body's length, \(length ?? "which is unknown")"
                )
            }
        case 17 where field.name.lowercased() == "transfer-encoding":
            guard field.value.lowercased() == "chunked", body.length == nil else {
                throw RequestError(.invalidRequest, "the header field \(field.name) cannot be set by requests")
            }
        default: break
        }
    }

    private static func isToken(_ text: String) -> Bool { !text.isEmpty && text.hasOnly(isTokenByte) }

    /// Returns the fault of a text that is not a token. The part after the fault is hidden, because it may be a value.
    private static func fault(in text: String) -> String {
        let start = text.unicodeScalars.prefix { $0.isASCII && isTokenByte(UInt8($0.value)) }
        guard let fault = text.unicodeScalars.dropFirst(start.count).first else { return "is empty" }
        let place = start.isEmpty ? "at its beginning" : "after \"\(String(start).prefix(60))\""
        return "has \(String(fault).debugDescription) \(place), which HTTP does not allow there"
    }

    package static func isTokenByte(_ byte: UInt8) -> Bool { byte.isTokenByte }

    /// Moves `user:password@` from the URL to an `Authorization` field, so that no other code sees the password in the
    /// URL.
    package mutating func moveUserInfoToHeader() {
        guard let user = url.user else { return }
        if headers["Authorization"] == nil {
            headers.add(.authorization(username: user, password: url.password ?? ""))
        }
        change { $0.url = $0.url.withoutUserInfo }
    }

    /// Sets `Accept-Encoding: identity` if the body will not be decoded, because decoding is off or a range is
    /// requested. An `Accept-Encoding` field that the user has set is kept.
    private mutating func askForIdentity() {
        guard headers["Range"] != nil || options.decodesContent == false else { return }
        let accepted = headers["Accept-Encoding"] ?? HTTPHeader.defaultAcceptEncoding.value
        if accepted == HTTPHeader.defaultAcceptEncoding.value { headers.update(.acceptEncoding("identity")) }
    }

    /// Announces the fields that follow the body, as far as their names are known.
    private mutating func announceTrailers() {
        guard case .stream(let source) = body, let names = source.trailerNames, !names.isEmpty,
            headers["Trailer"] == nil
        else { return }
        headers.add(name: "Trailer", value: names.joined(separator: ", "))
    }

    /// - Parameter timeLeft: The remaining time of those time limits that cover several hops; asked if there are any.
    package func transportRequest(
        initialAllowance: UInt64, timeLeft: @autoclosure () -> Duration?
    ) -> TransportRequest {
        let timeLeft = storage.content.options.timeouts.spanHops ? timeLeft() : nil
        var request = TransportRequest(
            method: method.rawValue, url: url, fields: headers.fields, body: body, initialAllowance: initialAllowance)
        request.timeouts = options.timeouts.ofHop(timeLeft: timeLeft)
        if let version = options.httpVersion { request.version = version }
        if let priority { request.priority = priority }
        options.upgrade?.apply(&request)
        return request
    }
}

extension String {
    /// Returns whether all bytes are allowed. The check of contiguous text, the common case, takes a fraction of the
    /// time that other text takes.
    @inline(__always)
    fileprivate func hasOnly(_ isAllowed: (UInt8) -> Bool) -> Bool {
        utf8.withContiguousStorageIfAvailable { $0.allSatisfy(isAllowed) } ?? utf8.allSatisfy(isAllowed)
    }
}

extension OutgoingRequest: CustomStringConvertible, CustomReflectable {
    /// The method and the URL without its query. Fields and body are left out because they may contain secrets.
    public var description: String { "\(method) \(url.withoutQuery)" }
    /// An empty mirror, so that `dump` does not show secrets that the description hides.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension RequestError {
    /// Wraps an error about a request, as ``init(wrapping:as:stage:)`` does.
    package init(wrapping error: any Error, as code: Code, stage: Stage, about request: OutgoingRequest) {
        self = RequestError(wrapping: error, as: code, stage: stage).adding(about: request)
    }

    /// Returns the error with facts about the request. Facts that the error already contains are kept.
    package func adding(about request: OutgoingRequest) -> RequestError {
        adding(method: request.method, url: request.url.withoutUserInfo)
    }
}
