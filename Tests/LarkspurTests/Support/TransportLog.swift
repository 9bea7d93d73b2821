import Larkspur
import LarkspurTesting

/// The requests to a stub transport, in order: they show which requests are sent, and which are not.
final class TransportLog: Sendable {
    private let box = Protected<[TransportRequest]>([])

    var requests: [TransportRequest] { box.withLock { $0 } }
    var count: Int { requests.count }

    /// Returns a stub that records each request and answers it. The closure also gets the number of the request, from
    /// 1.
    func transport(
        answering answer: @escaping @Sendable (TransportRequest, Int) -> StubAnswer = { _, _ in .text("ok") }
    ) -> StubTransport {
        StubTransport { request in
            let number = self.box.withLock { requests in
                requests.append(request)
                return requests.count
            }
            return answer(request, number)
        }
    }

    /// Returns a session with such a stub.
    func session(
        _ configuration: SessionConfiguration = .bare, interceptor: (any RequestInterceptor)? = nil,
        answering answer: @escaping @Sendable (TransportRequest, Int) -> StubAnswer = { _, _ in .text("ok") }
    ) -> Session {
        Session(
            configuration: configuration, transport: transport(answering: answer), interceptor: interceptor)
    }
}

extension SessionConfiguration {
    /// A configuration without default fields, so that a test sees only the fields of the request.
    static let bare = SessionConfiguration { $0.headers = [:] }
}

/// Lines in the order in which they were added, from any thread.
final class Journal: Sendable {
    private let box = Protected<[String]>([])

    var lines: [String] { box.withLock { $0 } }

    func note(_ line: String) {
        box.withLock { $0.append(line) }
    }

    /// Adds the line and returns the number of lines.
    @discardableResult
    func count(_ line: String = "") -> Int {
        box.withLock { lines in
            lines.append(line)
            return lines.count
        }
    }
}

extension HTTPHeader {
    /// Returns the field as it is sent, secret or not.
    var line: String { "\(name): \(value)" }
}

extension TransportRequest {
    /// Returns the first value of a field, whose name is compared without case.
    subscript(field: String) -> String? { HTTPHeaders(fields)[field] }

    /// The text of the body; nil for a file or a stream.
    var text: String? {
        switch body {
        case .none: ""
        case .data(let data): String(decoding: data, as: UTF8.self)
        case .file, .stream: nil
        }
    }
}

extension TransportBody {
    /// A body that can be sent only once. It must never be opened twice.
    static var onceOnly: TransportBody {
        .stream(TransportBodySource(length: 4, isReplayable: false) { EmptyBodyStream() })
    }
}

extension RequestContent {
    /// The body as content.
    static var onceOnly: RequestContent { .body(.onceOnly) }
}

final class EmptyBodyStream: TransportBodyStream {
    func begin(wake: @escaping @Sendable () -> Void) {}
    func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead { .end }
    func end() {}
}

/// An error of user code.
struct ForeignError: Error, Equatable, CustomStringConvertible {
    var description = "a foreign error"
}
