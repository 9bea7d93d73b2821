import Dispatch
import Foundation
import Larkspur
import LarkspurInsight
import LarkspurTesting
import Measuring

// instructions request|hit|metrics|recorder|decode|json COUNT FILE
// Work whose number of instructions repeats, for `.ci/steps/instructions`. Two runs with different counts give the cost of one
// repetition. The function `main` is synchronous: valgrind does not survive the end of the main thread, with which an
// asynchronous `main` begins.

let arguments = CommandLine.arguments
guard arguments.count == 4, let count = Int(arguments[2]),
    let document = FileManager.default.contents(atPath: arguments[3])
else {
    print("usage: instructions request|hit|metrics|recorder|decode|json COUNT FILE")
    exit(2)
}

func run(_ subject: String, _ count: Int, _ document: Data) async throws {
    let head = ResponseHead(
        status: 200,
        fields: [
            HeaderField(name: "Content-Type", value: "application/json"),
            HeaderField(name: "Content-Length", value: "\(document.count)"),
            HeaderField(name: "Cache-Control", value: subject == "hit" ? "max-age=600" : "no-store"),
        ])
    let answer = StubAnswer([.head(head), .body(document)])
    let archive = FileManager.default.temporaryDirectory.appendingPathComponent("instructions-\(getpid()).har")
    let recorder = subject == "recorder" ? HARRecorder(to: archive) : nil
    let session = Session(
        configuration: SessionConfiguration {
            if subject == "hit" { $0.cache = .inMemory(limit: 16 << 20) }
            if subject == "metrics" { $0.eventMonitors = [PrometheusMonitor()] }
            if let recorder { $0.eventMonitors = [recorder] }
        }, transport: StubTransport { _ in answer })
    for _ in 0..<count {
        let request = await session.request("http://127.0.0.1:8080/document")
        switch subject {
        case "request", "hit", "metrics", "recorder": _ = try await request.serializingData().value
        case "decode": _ = try await request.serializingDecodable(Page.self).value
        case "json": _ = try await request.serializingJSON().value
        default: throw CancellationError()
        }
    }
    if let recorder {
        try await recorder.finish()
        try FileManager.default.removeItem(at: archive)
    }
}

let end = DispatchSemaphore(value: 0)
let subject = arguments[1]
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
