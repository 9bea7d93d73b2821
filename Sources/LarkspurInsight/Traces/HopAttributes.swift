import Larkspur

/// The attributes of spans, named as in OpenTelemetry's semantic conventions for HTTP clients.
struct HopAttributes: Sendable {
    var status: Int?
    var cache: String?
    var metrics: TransportMetrics?

    /// Returns the method if it is a known one, as the conventions require of names with few values.
    static func name(of method: HTTPMethod) -> String { KnownMethods.contains(method) ? method.rawValue : "HTTP" }

    static func start(of request: OutgoingRequest) -> [String: SpanValue] {
        let isKnown = KnownMethods.contains(request.method)
        var attributes: [String: SpanValue] = [
            "http.request.method": .string(isKnown ? request.method.rawValue : "_OTHER"),
            "url.full": .string("\(request.url)"),  // without secrets
            "server.address": .string(request.url.host.map(String.init) ?? ""),
        ]
        if !isKnown { attributes["http.request.method_original"] = .string(request.method.rawValue) }
        if let port = request.url.effectivePort { attributes["server.port"] = .int(port) }
        return attributes
    }

    /// Returns the value of `error.type`: the status that was refused, as the conventions require, or the error's code.
    static func type(of error: RequestError) -> String {
        guard error.code == .unacceptableStatus, let status = error.statusCode else { return error.code.rawValue }
        return "\(status)"
    }

    static func end(error: String?, status: Int? = nil, at time: Date) -> SpanEnd {
        var attributes: [String: SpanValue] = [:]
        if let status { attributes["http.response.status_code"] = .int(status) }
        if let error { attributes["error.type"] = .string(error) }
        return SpanEnd(attributes: attributes, isError: error != nil, time: time)
    }

    /// Returns the end of a hop's span. The time is measured by the transport if it has measured the hop, because the
    /// monitor's thread may be late.
    func end(error: TransportError?, start: Date) -> SpanEnd {
        var attributes: [String: SpanValue] = [:]
        if let status { attributes["http.response.status_code"] = .int(status) }
        let failure = error?.code.rawValue ?? status.flatMap { $0 >= 400 ? "\($0)" : nil }
        if let failure { attributes["error.type"] = .string(failure) }
        if let cache { attributes["larkspur.cache"] = .string(cache) }
        if let metrics {
            if let version = Self.version(metrics.protocolName) {
                attributes["network.protocol.version"] = .string(version)
            }
            if let address = metrics.remoteAddress { attributes["network.peer.address"] = .string(address) }
            attributes["http.request.body.size"] = .int(Int(clamping: metrics.requestBodyBytes))
            attributes["http.response.body.size"] = .int(Int(clamping: metrics.responseBodyBytes))
        }
        // The metrics of a shared exchange may cover more than the hop.
        let time = metrics?.total.map { start.addingTimeInterval(((metrics?.queued ?? .zero) + $0) / .seconds(1)) }
        return SpanEnd(attributes: attributes, isError: failure != nil, time: min(time ?? Date(), Date()))
    }

    private static func version(_ name: String?) -> String? {
        switch name {
        case "http/1.0": "1.0"
        case "http/1.1": "1.1"
        case "h2", "h2c": "2"
        case "h3": "3"
        default: nil
        }
    }
}

/// The methods that metrics and traces name. All others are one value, because their number has no limit.
enum KnownMethods {
    static let names = ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"]

    static func contains(_ method: HTTPMethod) -> Bool { names.contains(method.rawValue) }
}

extension CacheOutcome {
    /// The name of the case. A case of a later version is `other`.
    var name: String {
        if case .unavailable = self { return "unavailable" }
        return switch self {
        case .miss: "miss"
        case .hit: "hit"
        case .revalidated: "revalidated"
        case .stale: "stale"
        case .bypassed: "bypassed"
        default: "other"
        }
    }
}
