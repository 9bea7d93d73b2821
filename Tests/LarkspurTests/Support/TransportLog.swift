import Larkspur
import LarkspurTesting

/// What a stub transport was asked to send, in order: proves what goes over the wire, and that something does not.
final class TransportLog: Sendable {
    private let box = Protected<[TransportRequest]>([])

    var requests: [TransportRequest] { box.withLock { $0 } }
    var count: Int { requests.count }

    /// A stub that notes each request and answers it; the closure is also told which one it is, from 1.
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

    /// A session over such a stub.
    func session(
        _ configuration: SessionConfiguration = .bare, interceptor: (any RequestInterceptor)? = nil,
        answering answer: @escaping @Sendable (TransportRequest, Int) -> StubAnswer = { _, _ in .text("ok") }
    ) -> Session {
        Session(
            configuration: configuration, transport: transport(answering: answer), interceptor: interceptor)
    }
}

extension SessionConfiguration {
    /// Adds no fields of its own, so that a test sees the request's alone.
    static let bare = SessionConfiguration { $0.headers = [:] }
}

/// Lines noted in order from anywhere.
final class Journal: Sendable {
    private let box = Protected<[String]>([])

    var lines: [String] { box.withLock { $0 } }

    func note(_ line: String) {
        box.withLock { $0.append(line) }
    }

    /// Notes the line and says how many there are now.
    @discardableResult
    func count(_ line: String = "") -> Int {
        box.withLock { lines in
            lines.append(line)
            return lines.count
        }
    }
}

extension HeaderField {
    /// The field as it goes over the wire, secret or not.
    var line: String { "\(name): \(value)" }
}

extension TransportRequest {
    /// The first value of a field, whatever the case of its name.
    subscript(field: String) -> String? { HTTPHeaders(fields)[field] }

    /// The body's text; nil if it is neither data nor none.
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

final class EmptyBodyStream: TransportBodyStream {
    func begin(wake: @escaping @Sendable () -> Void) {}
    func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead { .end }
    func end() {}
}

/// An error of somebody else's.
struct ForeignError: Error, Equatable, CustomStringConvertible {
    var description = "a foreign error"
}
