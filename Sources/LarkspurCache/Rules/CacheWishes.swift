/// The rules about caches that a request itself states.
enum CacheWishes {
    private static let conditions = ["If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"]

    static func control(of fields: [HTTPHeader]) -> CacheControl {
        var values: [String] = []
        var pragma = false
        for field in fields {
            switch field.name.utf8.count {
            case 13 where HTTPHeaders.areEqual(field.name, "Cache-Control"): values.append(field.value)
            case 6 where HTTPHeaders.areEqual(field.name, "Pragma"):
                pragma = pragma || field.value.lowercased().contains("no-cache")
            default: break
            }
        }
        var control = values.isEmpty ? CacheControl() : CacheControl(values)
        if values.isEmpty, pragma { control.noCache = true }
        return control
    }

    /// Returns the directive with which caches on the way have to ask the server too; nil if they need not, or if the
    /// request has directives of its own.
    static func directive(
        for request: TransportRequest, _ instructions: CacheInstructions, isInBackground: Bool
    ) -> HTTPHeader? {
        let isReload = instructions.policy == .reload || instructions.isRepeated
        guard isReload || instructions.policy == .revalidate && !isInBackground,
            !request.fields.contains(where: { HTTPHeaders.areEqual($0.name, "Cache-Control") })
        else { return nil }
        return HTTPHeader(name: "Cache-Control", value: isReload ? "no-cache" : "max-age=0")
    }

    /// Returns whether the cache takes part in the request at all.
    static func usesCache(
        _ request: TransportRequest, _ instructions: CacheInstructions, _ wishes: CacheControl
    ) -> Bool {
        let isEmpty: Bool
        if case .none = request.body { isEmpty = true } else { isEmpty = false }
        return (request.method == "GET" || request.method == "HEAD") && isEmpty && instructions.policy != .bypass
            && !wishes.noStore && !hasConditions(request.fields)
    }

    private static func hasConditions(_ fields: [HTTPHeader]) -> Bool {
        fields.contains { field in
            field.name.utf8.first.map { $0 | 0x20 } == UInt8(ascii: "i")
                && conditions.contains { HTTPHeaders.areEqual($0, field.name) }
        }
    }
}

extension HTTPHeader {
    var isRange: Bool { name.utf8.count == 5 && HTTPHeaders.areEqual(name, "Range") }
}

extension TransportRequest {
    /// The value of `Range`; nil if the request has none. It has a meaning only for a GET (RFC 9110, section 14.2).
    var range: String? {
        guard method == "GET", let first = fields.firstIndex(where: \.isRange) else { return nil }
        return fields[first...].filter(\.isRange).map(\.value).joined(separator: ",")
    }
}
