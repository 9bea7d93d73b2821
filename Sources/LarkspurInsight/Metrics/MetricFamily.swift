import Larkspur

/// The outcome of a request or hop, as a label with few values.
enum RequestOutcome: String, CaseIterable, Sendable {
    case success, cancelled, timeout, trust, connectivity, validation, serialization, failed

    init(_ error: RequestError) {
        self =
            switch error {
            case _ where error.isCancelled: .cancelled
            case _ where error.isTimeout: .timeout
            case _ where error.isTrust: .trust
            case _ where error.isValidation: .validation
            case _ where error.isSerialization: .serialization
            case _ where error.isConnectivity: .connectivity
            default: .failed
            }
    }

    init(_ error: TransportError) {
        // The predicates of `RequestError` also know the codes of hops.
        let code = RequestError.Code(rawValue: error.code.rawValue)
        self.init(RequestError(code, error.message))
    }
}

/// The families of a ``PrometheusMonitor``, in the order of the text.
enum MetricFamily {
    enum Counter: Int, CaseIterable {
        case requests, attempts, retries, hops, redirects, requestBytes, responseBytes, connections, cacheOutcomes
    }

    enum Duration: Int, CaseIterable {
        case request, hop, firstByte, nameLookup, connect, tls, queued
    }

    /// A label of a family.
    enum Label: String {
        case host, method, status, outcome, reused

        /// Returns the value in a series.
        func value(in labels: MetricsState.Labels, of family: Counter?, hosts: [String]) -> String {
            switch self {
            case .host: hosts[Int(labels.host)]
            case .method: MetricsState.methods[Int(labels.method)]
            case .status: labels.status == 0 ? "none" : "\(labels.status)xx"
            case .outcome:
                family == .cacheOutcomes
                    ? cacheOutcomes[Int(labels.outcome)] : RequestOutcome.allCases[Int(labels.outcome)].rawValue
            case .reused: labels.outcome == 1 ? "true" : "false"
            }
        }
    }

    static let cacheOutcomes = ["other", "miss", "hit", "revalidated", "stale", "bypassed", "unavailable"]

    static func outcome(of outcome: RequestOutcome) -> UInt8 {
        UInt8(RequestOutcome.allCases.firstIndex(of: outcome) ?? 0)
    }
}

extension MetricFamily.Counter {
    var name: String {
        switch self {
        case .requests: "requests_total"
        case .attempts: "attempts_total"
        case .retries: "retries_total"
        case .hops: "hops_total"
        case .redirects: "redirects_total"
        case .requestBytes: "request_body_bytes_total"
        case .responseBytes: "response_body_bytes_total"
        case .connections: "connections_used_total"
        case .cacheOutcomes: "cache_responses_total"
        }
    }

    var help: String {
        switch self {
        case .requests: "Requests that have finished, by the status of the last response."
        case .attempts: "Attempts of requests; a retry is another attempt."
        case .retries: "Attempts that have failed and are repeated."
        case .hops: "Requests on the wire or to the cache; a redirect leads to another hop."
        case .redirects: "Redirects that were followed, by the host that sent them."
        case .requestBytes: "Bytes of request bodies that were sent."
        case .responseBytes: "Bytes of response bodies that were received, before decoding."
        case .connections: "Hops by whether an earlier request has used their connection."
        case .cacheOutcomes: "Hops by the outcome of the session's cache."
        }
    }

    var labels: [MetricFamily.Label] {
        switch self {
        case .requests, .hops: [.host, .method, .status, .outcome]
        case .attempts, .retries, .redirects: [.host, .method]
        case .requestBytes, .responseBytes: [.host]
        case .connections: [.host, .reused]
        case .cacheOutcomes: [.host, .outcome]
        }
    }
}

extension MetricFamily.Duration {
    var name: String {
        switch self {
        case .request: "request_duration_seconds"
        case .hop: "hop_duration_seconds"
        case .firstByte: "time_to_first_byte_seconds"
        case .nameLookup: "name_lookup_seconds"
        case .connect: "connect_seconds"
        case .tls: "tls_handshake_seconds"
        case .queued: "queue_seconds"
        }
    }

    var help: String {
        switch self {
        case .request: "Time from the start of a request to its finish, with retries and their delays."
        case .hop: "Time of a hop, without its time in a queue."
        case .firstByte: "Time from the start of a hop to the first byte of its response."
        case .nameLookup: "Time of name lookups."
        case .connect: "Time from the lookup to the connection."
        case .tls: "Time of TLS handshakes."
        case .queued: "Time that hops have waited for a limit or a connection."
        }
    }

    var labels: [MetricFamily.Label] { self == .request ? [.host, .method, .status] : [.host] }
}
