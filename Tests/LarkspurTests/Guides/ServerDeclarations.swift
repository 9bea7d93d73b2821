import Larkspur

// Declarations of the packages that the guide "On servers" names, with the signatures of those packages. The bridges of
// the guide are compiled with them. An enumeration stands for a module, so that `Metrics.Timer` has the same name.

// MARK: swift-log

enum Logging {
    struct Logger: Sendable {
        enum Level: String, Sendable { case trace, debug, info, notice, warning, error, critical }

        struct Message: ExpressibleByStringInterpolation, CustomStringConvertible, Sendable {
            let description: String
            init(stringLiteral value: String) { description = value }
        }

        enum MetadataValue: ExpressibleByStringInterpolation, Sendable {
            case string(String)
            init(stringLiteral value: String) { self = .string(value) }
        }

        typealias Metadata = [String: MetadataValue]

        let journal = Journal()

        init(label: String) {}

        func log(
            level: Level, _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil,
            source: @autoclosure () -> String? = nil, file: String = #fileID, function: String = #function,
            line: UInt = #line
        ) {
            let fields = (metadata() ?? [:]).map { key, value in
                if case .string(let text) = value { "\(key)=\(text)" } else { key }
            }
            journal.note(([level.rawValue, "\(message())"] + fields.sorted()).joined(separator: " "))
        }
    }
}

// MARK: swift-metrics

enum Metrics {
    static let journal = Journal()

    final class Counter: Sendable {
        private let line: String
        init(label: String, dimensions: [(String, String)] = []) { line = "\(label) \(dimensions)" }
        func increment<Number: BinaryInteger>(by amount: Number) { journal.note("\(line) \(amount)") }
        func increment() { increment(by: 1) }
    }

    final class Timer: Sendable {
        private let line: String
        init(label: String, dimensions: [(String, String)] = []) { line = "\(label) \(dimensions)" }
        func recordNanoseconds(_ duration: Int64) { journal.note("\(line) \(duration > 0)") }
    }
}

// MARK: swift-distributed-tracing

struct ServiceContext: Sendable {
    @TaskLocal static var current: ServiceContext?
    static var topLevel: ServiceContext { ServiceContext() }
    /// The key that a tracer would add.
    var traceparent: String?
}

protocol Injector: Sendable {
    associatedtype Carrier
    func inject(_ value: String, forKey key: String, into carrier: inout Carrier)
}

protocol Extractor: Sendable {
    associatedtype Carrier
    func extract(key: String, from carrier: Carrier) -> String?
}

enum Tracing {
    enum SpanKind: Sendable { case server, client, producer, consumer, `internal` }

    struct SpanStatus: Sendable {
        enum Code: Sendable { case ok, error }
        let code: Code
        init(code: Code, message: String? = nil) { self.code = code }
    }

    struct SpanAttributes: Sendable {
        private(set) var names: Set<String> = []
        subscript(name: String) -> String? {
            get { nil }
            set { names.insert(name) }
        }
        subscript(name: String) -> Int? {
            get { nil }
            set { names.insert(name) }
        }
    }

    protocol Span: Sendable {
        var context: ServiceContext { get }
        var attributes: SpanAttributes { get nonmutating set }
        func setStatus(_ status: SpanStatus)
        func end()
    }

    static let journal = Journal()

    final class RecordedSpan: Span {
        let name: String
        let context: ServiceContext
        private let box = Protected((attributes: SpanAttributes(), failed: false))

        init(_ name: String, _ context: ServiceContext) { (self.name, self.context) = (name, context) }

        var attributes: SpanAttributes {
            get { box.withLock { $0.attributes } }
            set { box.withLock { $0.attributes = newValue } }
        }

        func setStatus(_ status: SpanStatus) { box.withLock { $0.failed = status.code == .error } }

        func end() {
            let (attributes, failed) = box.withLock { $0 }
            let method = attributes.names.contains("http.request.method") ? " with a method" : ""
            Tracing.journal.note("\(name)\(method)\(failed ? " failed" : "")")
        }
    }

    static func startSpan(
        _ operationName: String, context: @autoclosure () -> ServiceContext = .current ?? .topLevel,
        ofKind kind: SpanKind = .internal, function: String = #function, file fileID: String = #fileID,
        line: UInt = #line
    ) -> any Span {
        var context = context()
        let parent = context.traceparent.flatMap { TraceParts($0) }
        let id = String(UInt64.random(in: 1 ... .max), radix: 16)
        let padded = String(repeating: "0", count: 16 - id.count) + id
        context.traceparent = "00-\(parent?.trace ?? String(repeating: "a", count: 32))-\(padded)-01"
        return RecordedSpan("\(operationName) \(kind)", context)
    }

    private struct TraceParts {
        let trace: String
        init?(_ text: String) {
            let parts = text.split(separator: "-")
            guard parts.count == 4 else { return nil }
            trace = String(parts[1])
        }
    }
}

enum InstrumentationSystem {
    struct Instrument: Sendable {
        func inject<Carrier, Inject: Injector>(
            _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
        ) where Inject.Carrier == Carrier {
            if let text = context.traceparent { injector.inject(text, forKey: "traceparent", into: &carrier) }
        }

        func extract<Carrier, Extract: Extractor>(
            _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
        ) where Extract.Carrier == Carrier {
            context.traceparent = extractor.extract(key: "traceparent", from: carrier)
        }
    }

    static var instrument: Instrument { Instrument() }
}

// MARK: swift-service-lifecycle

protocol Service: Sendable {
    func run() async throws
}

/// The gate that a group of services opens when the process is asked to end.
let shutdownGate = Gate()

func gracefulShutdown() async throws { await shutdownGate.pass() }

// MARK: swift-http-types, swift-openapi-runtime

enum HTTPTypes {
    struct HTTPField: Sendable {
        struct Name: Sendable {
            let rawName: String
            init?(_ name: String) { rawName = name }
        }
        var name: Name
        var value: String
        init(name: Name, value: String) { (self.name, self.value) = (name, value) }
    }

    struct HTTPFields: Sendable, Sequence {
        private var fields: [HTTPField] = []
        init() {}
        mutating func append(_ field: HTTPField) { fields.append(field) }
        func makeIterator() -> IndexingIterator<[HTTPField]> { fields.makeIterator() }
    }

    struct HTTPRequest: Sendable {
        struct Method: Sendable {
            let rawValue: String
            init?(_ method: String) { rawValue = method }
        }
        var method: Method
        var scheme: String?
        var authority: String?
        var path: String?
        var headerFields: HTTPFields
    }

    struct HTTPResponse: Sendable {
        struct Status: Sendable {
            let code: Int
            init(code: Int, reasonPhrase: String = "") { self.code = code }
        }
        var status: Status
        var headerFields: HTTPFields
        init(status: Status, headerFields: HTTPFields = HTTPFields()) {
            (self.status, self.headerFields) = (status, headerFields)
        }
    }
}

enum OpenAPIRuntime {
    final class HTTPBody: AsyncSequence, Sendable {
        typealias ByteChunk = ArraySlice<UInt8>
        typealias Element = ByteChunk

        enum IterationBehavior: Sendable { case single, multiple }
        enum Length: Sendable, Equatable {
            case unknown
            case known(Int64)
        }

        struct Iterator: AsyncIteratorProtocol {
            let produce: () async throws -> ByteChunk?
            mutating func next() async throws -> ByteChunk? { try await produce() }
        }

        let iterationBehavior: IterationBehavior
        let length: Length
        private let make: @Sendable () -> Iterator

        init<Bytes: AsyncSequence & Sendable>(
            _ sequence: Bytes, length: Length, iterationBehavior: IterationBehavior
        ) where Bytes.Element == ByteChunk {
            (self.length, self.iterationBehavior) = (length, iterationBehavior)
            make = {
                var iterator = sequence.makeAsyncIterator()
                return Iterator { try await iterator.next() }
            }
        }

        func makeAsyncIterator() -> Iterator { make() }
    }

    protocol ClientTransport: Sendable {
        func send(
            _ request: HTTPTypes.HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String
        ) async throws -> (HTTPTypes.HTTPResponse, HTTPBody?)
    }
}
