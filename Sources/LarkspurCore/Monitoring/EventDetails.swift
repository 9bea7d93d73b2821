/// The response that an event of a request is about, for monitors that print it.
///
/// The report refers to the record of the exchange, and copies nothing. An excerpt is made when the monitor asks for
/// it, on the monitor's thread.
public struct ResponseReport: Sendable {
    /// The exchange when the event occurred. A download or a stream is validated before its body arrives, so the
    /// exchange then has no body and no metrics.
    public let exchange: CompletedExchange

    /// Creates a report, for tests of monitors.
    public init(_ exchange: CompletedExchange) { self.exchange = exchange }

    /// The request of the last hop.
    public var request: OutgoingRequest? { exchange.request }
    /// The head of the response; nil without a response.
    public var head: ResponseHead? { exchange.head }
    /// The number of bytes of the decoded body in memory. For other bodies, the number of bytes received, if known.
    public var size: UInt64? {
        exchange.data.map { UInt64($0.count) } ?? exchange.metrics?.responseBodyBytes
    }
    /// The duration of the last hop; nil if the hop has not ended, or the transport does not measure it.
    public var duration: Duration? { exchange.metrics?.total }
    /// The file of a download; nil before the file is complete.
    public var fileURL: URL? { exchange.fileURL }

    /// Returns the beginning of a text body on one line; nil if there is no body in memory.
    ///
    ///     case .validate(let event): print(event.response.excerpt() ?? "")
    ///
    /// - Parameters:
    ///   - limit: The maximum number of characters; 200 by default.
    ///   - redaction: The rules for hiding secrets. The request's own rules are added.
    public func excerpt(upTo limit: Int = 200, redacting redaction: Redaction = .standard) -> String? {
        guard let data = exchange.data ?? exchange.error?.responseData, !data.isEmpty else { return nil }
        let redaction = exchange.request?.redaction(extending: redaction) ?? redaction
        let lines = BodyPreview(redaction: redaction, limit: max(0, limit)).lines(of: data, type: head?["Content-Type"])
        return lines.map { $0.drop { $0 == " " } }.joined(separator: " ")
    }
}

extension ResponseReport: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The status, the size and the duration, without secrets: `200, 28 bytes, 1.4 ms`.
    public var description: String {
        let facts = [
            head.map { "\($0.status)" }, size.map { "\($0) bytes" },
            duration.map { TransportMetrics.milliseconds($0) },
        ]
        return facts.compactMap(\.self).joined(separator: ", ")
    }
    public var debugDescription: String { description }
    /// Keeps `dump` from showing the body and the header fields.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

/// The details of the event ``RequestEvent/validate(_:)``.
public struct ValidationEvent: Sendable {
    /// The response that was validated.
    public let response: ResponseReport
    /// The error of the validator that has refused the response; nil if all validators have accepted it.
    public let error: RequestError?

    /// Creates the details, for tests of monitors.
    public init(_ exchange: CompletedExchange, error: RequestError? = nil) {
        (response, self.error) = (ResponseReport(exchange), error)
    }
}

/// The details of the event ``RequestEvent/serialize(_:)``.
public struct SerializationEvent: Sendable {
    /// The response that was serialized. Its body is that of the server, not the serializer's value.
    public let response: ResponseReport
    /// The type of the serializer's value.
    public let valueType: (any Any.Type)?
    /// The time that the serializer took; zero if it was not called, because the request was cancelled.
    public let duration: Duration
    /// The error of the serializer; nil if it succeeded, or if the exchange had failed before.
    public let error: RequestError?

    /// Creates the details, for tests of monitors.
    public init(
        _ exchange: CompletedExchange, valueType: (any Any.Type)? = nil, duration: Duration = .zero,
        error: RequestError? = nil
    ) {
        response = ResponseReport(exchange)
        (self.valueType, self.duration, self.error) = (valueType, duration, error)
    }

    init(_ exchange: CompletedExchange, _ response: any SerializedBox, error: RequestError? = nil) {
        self.init(exchange, valueType: response.valueType, duration: response.duration, error: error)
    }
}

/// The details of the event ``RequestEvent/placeFile(_:)``.
public struct FileEvent: Sendable {
    /// The file of the download.
    public let url: URL
    /// The size of the file in bytes.
    public let size: UInt64
    /// The response whose body the file has.
    public let response: ResponseReport

    /// Creates the details, for tests of monitors.
    public init(_ url: URL, size: UInt64, of exchange: CompletedExchange) {
        (self.url, self.size, response) = (url, size, ResponseReport(exchange))
    }
}

/// The details of the event ``RequestEvent/parse(_:)``.
public struct ParsingEvent: Sendable {
    /// The number of the value among those of its reader, from 1.
    public let number: Int
    /// The type of the value.
    public let valueType: any Any.Type
    /// The error of the parser, which ends the reader's sequence; nil if there is a value.
    public let error: RequestError?

    /// Creates the details, for tests of monitors.
    public init(number: Int, valueType: any Any.Type, error: RequestError? = nil) {
        (self.number, self.valueType, self.error) = (number, valueType, error)
    }
}

/// The details of the event ``RequestEvent/evaluateServer(_:)``.
public struct ServerEvaluationEvent: Sendable {
    /// The server with its certificates, and the platform's verdict on them.
    public let peer: PeerTrust
    /// The decision of the session's evaluators. If an evaluator still runs, the decision is `.refused`, and the hop is
    /// sent again when the evaluator has decided. Nil counts as a refusal.
    public let decision: TrustDecision?

    /// Creates the details, for tests of monitors.
    public init(_ peer: PeerTrust, decision: TrustDecision?) { (self.peer, self.decision) = (peer, decision) }
}

/// The details of the event ``RequestEvent/waitForNetwork(_:)``.
public struct NetworkWaitEvent: Sendable, Hashable {
    /// The host that cannot be reached; nil if it is not known.
    public let host: String?
    /// The maximum time of the wait; nil if only the request's timeouts limit it.
    public let limit: Duration?

    /// Creates the details, for tests of monitors.
    public init(host: String? = nil, limit: Duration? = nil) { (self.host, self.limit) = (host, limit) }
}

// MARK: The values of streams

extension RequestEvent {
    /// Whether monitors with different limits or intervals receive different events.
    var dependsOnReader: Bool {
        switch self {
        case .copyBody, .parse: true
        default: false
        }
    }

    /// Returns the event as a monitor with this limit and interval receives it; nil if the monitor does not receive it.
    func cut(to bodyLimit: Int, _ parsingInterval: Int) -> RequestEvent? {
        switch self {
        case .copyBody(let part): return part.cut(to: bodyLimit).map(RequestEvent.copyBody)
        case .parse(let event):
            guard parsingInterval > 0 else { return nil }
            return event.error != nil || event.number % parsingInterval == 0 ? self : nil
        default: return self
        }
    }
}

extension DataStreamRequest {
    /// The interval that has the values of all monitors; 0 if none receives values.
    var parsingInterval: Int {
        handle.core.read { $0.settings.content.monitors.reduce(0) { .commonDivisor($0, $1.parsingInterval) } }
    }

    /// Tells the monitors about a value, or about the error of the parser.
    @usableFromInline
    func tell(of number: Int, _ valueType: any Any.Type, _ error: RequestError? = nil) {
        handle.core.emit(
            .parse(ParsingEvent(number: number, valueType: valueType, error: error)), isLate: true)
    }
}

extension Int {
    /// Returns the greatest common divisor; the other number if one is 0.
    static func commonDivisor(_ first: Int, _ second: Int) -> Int {
        var (first, second) = (first, second)
        while second != 0 { (first, second) = (second, first % second) }
        return first
    }
}
