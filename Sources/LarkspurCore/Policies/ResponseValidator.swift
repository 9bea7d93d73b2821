/// A check that accepts or rejects a response before it is serialized. A request whose response is rejected can be
/// retried.
public struct ResponseValidator: Sendable {
    private enum Check {
        /// A check by the caller's code.
        case user(@Sendable (CompletedExchange) async throws -> Void)
        /// A check by the library's code, which neither waits nor calls the caller's code.
        case library(@Sendable (CompletedExchange) throws -> Void)
    }

    private let check: Check

    /// Creates a validator that calls the closure. An error that the closure throws fails the attempt.
    public init(_ validate: @escaping @Sendable (CompletedExchange) async throws -> Void) {
        check = .user(validate)
    }

    init(library validate: @escaping @Sendable (CompletedExchange) throws -> Void) {
        check = .library(validate)
    }

    var isOwn: Bool {
        if case .library = check { true } else { false }
    }

    /// Runs a validator of the library and returns true. Returns false for a validator of the caller, which must be
    /// awaited.
    func checkAtOnce(_ exchange: CompletedExchange) throws -> Bool {
        guard case .library(let validate) = check else { return false }
        try validate(exchange)
        return true
    }

    /// Checks a response, for a serializer that requires something of it. Throws the error of the check.
    public func validate(_ exchange: CompletedExchange) async throws {
        switch check {
        case .user(let validate): try await validate(exchange)
        case .library(let validate): try validate(exchange)
        }
    }

    /// A validator that accepts the statuses 200..<300, and the content types that the request's `Accept` field allows.
    /// Without this field it accepts all content types.
    ///
    /// A content type whose weight in `Accept` is zero (`q=0`) is rejected.
    public static let standard = ResponseValidator(library: { exchange in
        try validateStatus(exchange, 200..<300)
        guard let headers = exchange.request?.headers, !headers.acceptEverything else { return }
        let accept = headers.values(for: "Accept").flatMap { $0.split(separator: ",").map(String.init) }
        if !accept.isEmpty { try validateContentType(exchange, accept) }
    })

    /// A validator that accepts every response. It states that the program looks at the status itself, so that the
    /// session makes no remark about a status that is not validated.
    public static let anyStatus = ResponseValidator(library: { _ in })

    /// Returns a validator that accepts only these status codes.
    public static func status(_ acceptable: some Sequence<Int> & Sendable) -> ResponseValidator {
        let acceptable = Set(acceptable)  // some sequences can be iterated only once
        return ResponseValidator(library: { try validateStatus($0, acceptable) })
    }

    /// Returns a validator that accepts only these content types, such as `application/json`, `text/*` or `*/*`. It
    /// accepts all responses without a body.
    public static func contentType(_ acceptable: some Sequence<String>) -> ResponseValidator {
        let acceptable = Array(acceptable)
        return ResponseValidator(library: { try validateContentType($0, acceptable) })
    }

    private static func validateStatus(_ exchange: CompletedExchange, _ acceptable: some Collection<Int>) throws {
        guard let status = exchange.head?.status, !acceptable.contains(status), !exchange.switchesProtocol else {
            return
        }
        throw RequestError(
            .unacceptableStatus,
            "the server answered with status \(StatusText.described(status)); expected \(runs(of: acceptable))")
    }

    /// Returns the numbers as text, with ranges: `200 to 299, 304`.
    private static func runs(of numbers: some Collection<Int>) -> String {
        var runs: [ClosedRange<Int>] = []
        for number in numbers.sorted() {
            if let last = runs.last, last.upperBound == number - 1 {
                runs[runs.count - 1] = last.lowerBound...number
            } else {
                runs.append(number...number)
            }
        }
        let texts = runs.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound) to \($0.upperBound)" }
        return texts.isEmpty ? "none" : texts.joined(separator: ", ")
    }

    private static func validateContentType(_ exchange: CompletedExchange, _ acceptable: [String]) throws {
        guard let head = exchange.head, exchange.hasBody, !exchange.switchesProtocol else { return }
        let type = head["Content-Type"].flatMap(MediaRange.init)
        // If several media ranges match the type, the most specific range decides. A missing type matches only `*/*`.
        let covering = acceptable.compactMap(MediaRange.init).filter { $0.covers(type) }
        if let decisive = covering.max(by: { $0.precision < $1.precision }), !decisive.isRefused { return }
        let names = acceptable.filter { MediaRange($0)?.isRefused != true }
            .map { MediaRange($0)?.description ?? String($0[...].utf8.trimmed) ?? $0 }.sorted()
        let expected = names.isEmpty ? "none of those refused" : names.joined(separator: ", ")
        throw RequestError(
            .unacceptableContentType,
            "the response \(type.map { "is \($0)" } ?? "names no content type"); expected \(expected)")
    }
}

extension CompletedExchange {
    /// Whether the response opens a WebSocket. Validators of status and type accept such a response.
    fileprivate var switchesProtocol: Bool { head?.status == 101 && request?.options.upgrade != nil }

    /// Whether the response has a body. A body that is not kept in memory has not arrived yet, so the head decides.
    fileprivate var hasBody: Bool {
        if let data { return !data.isEmpty }
        guard let head, request?.method != .head else { return false }
        return ![204, 205, 304].contains(head.status) && head.contentLength != 0
    }
}

extension HTTPHeaders {
    /// Whether the `Accept` fields allow every type, as the library's default field does.
    fileprivate var acceptEverything: Bool {
        allSatisfy { !Self.areEqual($0.name, "Accept") || $0.value == "*/*" }
    }
}

/// A content type that may have wildcards, such as `text/*`. All its parameters are ignored, except for the weight
/// `q=0`.
private struct MediaRange: CustomStringConvertible {
    let type: String
    let subtype: String
    /// Whether the range is excluded by `q=0` (RFC 9110, section 12.4.2).
    let isRefused: Bool

    init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            .map { String($0.trimmed)?.lowercased() ?? "" }
        let names = parts[0].utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard names.count == 2, let type = String(names[0]), let subtype = String(names[1]), !type.isEmpty,
            !subtype.isEmpty
        else { return nil }
        (self.type, self.subtype) = (type, subtype)
        isRefused = parts.dropFirst().contains { $0.hasPrefix("q=") && Double($0.dropFirst(2)) == 0 }
    }

    /// The precision of the range, from 0 for `*/*` to 3 for a range without wildcards.
    var precision: Int { (type == "*" ? 0 : 2) + (subtype == "*" ? 0 : 1) }

    func covers(_ other: MediaRange?) -> Bool {
        (type == "*" || type == other?.type) && (subtype == "*" || subtype == other?.subtype)
    }

    var description: String { "\(type)/\(subtype)" }
}
