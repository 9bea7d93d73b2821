import Dispatch
import Foundation
import Larkspur
import LarkspurInsight
import LarkspurTesting
import Measuring

// instructions SUBJECT COUNT FILE
// Work whose number of instructions repeats, for `.ci/steps/instructions`. Two runs with different counts give the cost of one
// repetition. The function `main` is synchronous: valgrind does not survive the end of the main thread, with which an
// asynchronous `main` begins.

/// A kind of work to repeat.
enum Subject: String, CaseIterable {
    /// A GET of the file's bytes, with a session without settings.
    case request
    /// The same with one more part: an adapter, a retrier that is not asked, a validator of the status, a cookie in the
    /// request and the response, a monitor of a closure, metrics, and an archive of all exchanges.
    case adapter, retry, validated, cookies, monitor, metrics, recorder
    /// The same with a cache, which must not store the response, stores it, and has it.
    case miss, store, hit
    /// A POST of the file's bytes, a POST of an encoded value, and a GET whose body is read as it arrives.
    case upload, parameters, stream
    /// A GET of the file, decoded.
    case decode, json

    func configure(_ configuration: inout SessionConfiguration) {
        switch self {
        case .adapter:
            let adapter = Interceptor(adapt: { request, _ in request.headers["Authorization"] = "Bearer abc" })
            configuration.interceptors = [adapter]
        case .retry: configuration.interceptors = [RetryPolicy()]
        case .validated: configuration = .validated
        case .monitor: configuration.eventMonitors = [ClosureEventMonitor { _, _ in }]
        case .metrics: configuration.eventMonitors = [PrometheusMonitor()]
        case .miss, .store, .hit: configuration.cache = .inMemory(limit: 16 << 20)
        case .request, .cookies, .recorder, .upload, .parameters, .stream, .decode, .json: break
        }
    }

    func head(_ size: Int) -> ResponseHead {
        var fields = [
            HTTPHeader(name: "Content-Type", value: "application/json"),
            HTTPHeader(name: "Content-Length", value: "\(size)"),
            HTTPHeader(name: "Cache-Control", value: [.hit, .store].contains(self) ? "max-age=600" : "no-store"),
        ]
        if self == .cookies { fields.append(HTTPHeader(name: "Set-Cookie", value: "session=0123456789; Path=/")) }
        return ResponseHead(status: 200, fields: fields)
    }
}

let arguments = CommandLine.arguments
guard arguments.count == 4, let subject = Subject(rawValue: arguments[1]), let count = Int(arguments[2]),
    let document = FileManager.default.contents(atPath: arguments[3])
else {
    print("usage: instructions \(Subject.allCases.map(\.rawValue).joined(separator: "|")) COUNT FILE")
    exit(2)
}

func run(_ subject: Subject, _ count: Int, _ document: Data) async throws {
    let answer = StubAnswer([.head(subject.head(document.count)), .body(document)])
    let archive = FileManager.default.temporaryDirectory.appendingPathComponent("instructions-\(getpid()).har")
    let recorder = subject == .recorder ? HARRecorder(to: archive) : nil
    let session = Session(
        configuration: SessionConfiguration {
            subject.configure(&$0)
            if let recorder { $0.eventMonitors = [recorder] }
        }, transport: StubTransport { _ in answer })
    let url = "http://127.0.0.1:8080/document"
    let parameters: JSON = ["name": "Ada", "age": 36]
    for number in 0..<count {
        switch subject {
        case .upload: _ = try await session.upload(document, to: url).serializingData().value
        case .parameters:
            _ = try await session.request(url, method: .post, parameters: parameters).serializingData().value
        case .stream: for try await _ in await session.streamRequest(url).bytes {}
        case .store: _ = try await session.request(url + "?\(number)").serializingData().value
        case .decode: _ = try await session.request(url).serializingDecodable(Page.self).value
        case .json: _ = try await session.request(url).serializingJSON().value
        default: _ = try await session.request(url).serializingData().value
        }
    }
    if let recorder {
        try await recorder.finish()
        try FileManager.default.removeItem(at: archive)
    }
}

let end = DispatchSemaphore(value: 0)
// A task of the main actor would wait for this thread.
Task.detached {
    do {
        try await run(subject, count, document)
        end.signal()
    } catch {
        print("failed: \(error)")
        exit(1)
    }
}
end.wait()
