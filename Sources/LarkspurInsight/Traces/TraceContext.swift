import Larkspur

/// A position in a distributed trace, as in the fields `traceparent` and `tracestate` of W3C Trace Context.
///
/// A server sets ``current`` while it handles a request. Requests that the handler makes then belong to the same trace:
///
/// ```swift
/// let context = TraceContext(incoming)
/// try await TraceContext.$current.withValue(context) {
///     try await handle(incoming)
/// }
/// ```
public struct TraceContext: Hashable, Sendable {
    /// The identifier of a trace: 16 bytes that are not all zero.
    public struct TraceID: Hashable, Sendable, CustomStringConvertible {
        let high: UInt64
        let low: UInt64

        init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

        /// Parses 32 hexadecimal digits in lower case. Returns nil for another text, and if all digits are zero.
        public init?(_ text: String) { self.init(Array(text.utf8)[...]) }

        init?(_ digits: ArraySlice<UInt8>) {
            guard digits.count == 32, let high = Hexadecimal.value(of: digits.prefix(16)),
                let low = Hexadecimal.value(of: digits.suffix(16)), high | low != 0
            else { return nil }
            (self.high, self.low) = (high, low)
        }

        /// Returns a random identifier.
        public static func random() -> TraceID {
            TraceID(high: .random(in: 0 ... .max), low: .random(in: 1 ... .max))
        }

        /// The 32 hexadecimal digits.
        public var description: String { Hexadecimal.text(of: high) + Hexadecimal.text(of: low) }
    }

    /// The identifier of a span in a trace: 8 bytes that are not all zero.
    public struct SpanID: Hashable, Sendable, CustomStringConvertible {
        let value: UInt64

        init(value: UInt64) { self.value = value }

        /// Parses 16 hexadecimal digits in lower case. Returns nil for another text, and if all digits are zero.
        public init?(_ text: String) { self.init(Array(text.utf8)[...]) }

        init?(_ digits: ArraySlice<UInt8>) {
            guard digits.count == 16, let value = Hexadecimal.value(of: digits), value != 0 else { return nil }
            self.value = value
        }

        /// Returns a random identifier.
        public static func random() -> SpanID { SpanID(value: .random(in: 1 ... .max)) }

        /// The 16 hexadecimal digits.
        public var description: String { Hexadecimal.text(of: value) }
    }

    /// The context of the current task. A request that is created in the task continues this trace. If nil, the request
    /// starts a new trace.
    @TaskLocal public static var current: TraceContext?

    /// The identifier of the trace.
    public var traceID: TraceID
    /// The identifier of the current span, which is the parent of new spans.
    public var spanID: SpanID
    /// Whether the sender may have recorded the trace. The flag is passed on unchanged.
    public var isSampled: Bool
    /// The entries of `tracestate`, each of one tracing system. They are passed on unchanged.
    public var state: TraceState

    /// Creates a context from its parts.
    public init(traceID: TraceID, spanID: SpanID, isSampled: Bool, state: TraceState = TraceState()) {
        (self.traceID, self.spanID, self.isSampled, self.state) = (traceID, spanID, isSampled, state)
    }

    /// Returns the context of a new trace, with random identifiers.
    public static func root(isSampled: Bool = true) -> TraceContext {
        TraceContext(traceID: .random(), spanID: .random(), isSampled: isSampled)
    }

    /// Returns the context of a new span whose parent is this span. Only the span's identifier changes.
    public func child() -> TraceContext {
        var child = self
        child.spanID = .random()
        return child
    }
}

extension TraceContext {
    /// Parses the values of the two fields. Returns nil if `traceparent` is not valid. An invalid `tracestate` is
    /// dropped.
    ///
    /// A `traceparent` of a later version than 00 is read as far as version 00 knows it. It may have further parts,
    /// after a hyphen. The version `ff` is invalid.
    public init?(traceparent: String, tracestate: String? = nil) {
        let bytes = Array(traceparent.utf8)
        let hyphen = UInt8(ascii: "-")
        guard bytes.count >= 55, bytes[2] == hyphen, bytes[35] == hyphen, bytes[52] == hyphen,
            let version = Hexadecimal.value(of: bytes[..<2]), version != 0xFF,
            bytes.count == 55 || version > 0 && bytes[55] == hyphen,
            let trace = TraceID(bytes[3..<35]), let span = SpanID(bytes[36..<52]),
            let flags = Hexadecimal.value(of: bytes[53..<55])
        else { return nil }
        let state = tracestate.flatMap { TraceState($0) } ?? TraceState()
        self.init(traceID: trace, spanID: span, isSampled: flags & 1 == 1, state: state)
    }

    /// Reads the context of a received request. Returns nil if there is no valid `traceparent`, or more than one. The
    /// values of several `tracestate` fields are one list.
    public init?(_ headers: HTTPHeaders) {
        let parents = headers.values(for: "traceparent")
        guard parents.count == 1 else { return nil }
        let states = headers.values(for: "tracestate")
        self.init(traceparent: parents[0], tracestate: states.isEmpty ? nil : states.joined(separator: ","))
    }

    /// The value of `traceparent`, in version 00.
    public var traceparent: String { "00-\(traceID)-\(spanID)-\(isSampled ? "01" : "00")" }

    /// The fields `traceparent` and, if it is not empty, `tracestate`.
    public var headers: HTTPHeaders {
        var headers: HTTPHeaders = ["traceparent": traceparent]
        let state = state.description
        if !state.isEmpty { headers.add(name: "tracestate", value: state) }
        return headers
    }
}

enum Hexadecimal {
    private static let digits = Array("0123456789abcdef".utf8)

    /// Returns the number that up to 16 digits stand for; nil if a byte is no digit. Upper case is refused.
    static func value(of bytes: ArraySlice<UInt8>) -> UInt64? {
        var value: UInt64 = 0
        for byte in bytes {
            switch byte {
            case 0x30...0x39: value = value << 4 | UInt64(byte - 0x30)
            case 0x61...0x66: value = value << 4 | UInt64(byte - 0x61 + 10)
            default: return nil
            }
        }
        return value
    }

    static func text(of value: UInt64) -> String {
        String(unsafeUninitializedCapacity: 16) { buffer in
            for index in 0..<16 { buffer[index] = digits[Int(value >> UInt64(60 - 4 * index) & 15)] }
            return 16
        }
    }
}
