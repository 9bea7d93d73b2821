/// Accepts or refuses a response before it is serialized. A refusal asks the retriers.
public struct ResponseValidator: Sendable {
    private enum Check {
        /// Code of the user's.
        case foreign(@Sendable (CompletedExchange) async throws -> Void)
        /// The library's: it neither waits nor calls anybody.
        case own(@Sendable (CompletedExchange) throws -> Void)
    }

    private let check: Check

    /// A validator of your own: what it throws is the request's error.
    public init(_ validate: @escaping @Sendable (CompletedExchange) async throws -> Void) {
        check = .foreign(validate)
    }

    private init(own validate: @escaping @Sendable (CompletedExchange) throws -> Void) {
        check = .own(validate)
    }

    var isOwn: Bool {
        if case .own = check { true } else { false }
    }

    func validate(_ exchange: CompletedExchange) async throws {
        switch check {
        case .foreign(let validate): try await validate(exchange)
        case .own(let validate): try validate(exchange)
        }
    }

    /// Whether a validator of the library's own accepts the exchange; others have to be waited for.
    func acceptsAtOnce(_ exchange: CompletedExchange) -> Bool {
        guard case .own(let validate) = check else { return false }
        return (try? validate(exchange)) != nil
    }

    /// Status 200..<300, and a content type that the request's `Accept` field names, if it has one.
    public static let standard = ResponseValidator(own: { exchange in
        try validateStatus(exchange, 200..<300)
        let accept = exchange.request?.headers.values(for: "Accept").joined(separator: ",") ?? ""
        guard !accept.isEmpty else { return }
        try validateContentType(exchange, accept.split(separator: ",").map(String.init))
    })

    public static func status(_ acceptable: some Sequence<Int> & Sendable) -> ResponseValidator {
        let acceptable = Set(acceptable)  // a sequence may be gone after its first use
        return ResponseValidator(own: { try validateStatus($0, acceptable) })
    }

    /// Content types such as `application/json`, `text/*` or `*/*`. A response without a body passes.
    public static func contentType(_ acceptable: [String]) -> ResponseValidator {
        ResponseValidator(own: { try validateContentType($0, acceptable) })
    }

    private static func validateStatus(_ exchange: CompletedExchange, _ acceptable: some Sequence<Int>) throws {
        guard let status = exchange.head?.status, !acceptable.contains(status) else { return }
        throw RequestError(.unacceptableStatus, "the server answered with status \(status)")
    }

    private static func validateContentType(_ exchange: CompletedExchange, _ acceptable: [String]) throws {
        guard let head = exchange.head, exchange.hasBody else { return }
        let accepted = acceptable.compactMap(MediaRange.init)
        if accepted.contains(where: { $0 == MediaRange("*/*") }) { return }
        let names = acceptable.map { $0.trimmingCharacters(in: .whitespaces) }.sorted().joined(separator: ", ")
        guard let text = head["Content-Type"], let type = MediaRange(text) else {
            throw RequestError(.unacceptableContentType, "the response names no content type; expected \(names)")
        }
        guard !accepted.contains(where: { $0.covers(type) }) else { return }
        throw RequestError(.unacceptableContentType, "the response is \(type), expected \(names)")
    }
}

extension CompletedExchange {
    /// Whether the response has a body, or will have one: a body that is not kept in memory has not come yet.
    fileprivate var hasBody: Bool {
        if let data { return !data.isEmpty }
        guard let head, request?.method != .head else { return false }
        return ![204, 205, 304].contains(head.status) && head.contentLength != 0
    }
}

/// A content type without its parameters, in which `*` stands for any.
private struct MediaRange: Equatable, CustomStringConvertible {
    let type: String
    let subtype: String

    init?(_ text: String) {
        let essence = text.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
        let parts = essence.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else { return nil }
        type = String(parts[0])
        subtype = String(parts[1])
    }

    func covers(_ other: MediaRange) -> Bool {
        (type == "*" || type == other.type) && (subtype == "*" || subtype == other.subtype)
    }

    var description: String { "\(type)/\(subtype)" }
}
