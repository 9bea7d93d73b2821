import Larkspur
import LarkspurTesting

/// A server for resumable uploads of one kind. It stores the bytes of one file, and breaks connections at given
/// positions.
final class UploadServer: Sendable {
    struct State {
        fileprivate(set) var bytes: [UInt8] = []
        fileprivate(set) var length = 0
        fileprivate(set) var uploads = 0
        fileprivate(set) var isComplete = false
        /// The positions at which connections break, each once and in this order, in bytes of the file.
        fileprivate(set) var breaks: [Int]
        /// Responses that replace the server's own, by method.
        fileprivate var script: [String: [MockResponse]] = [:]
        /// The steps after a 104 with the URL of the next upload.
        fileprivate var announcement: [MockResponse.Step]?
    }

    let server: MockServer
    let isTus: Bool
    private let box: Protected<State>

    init(_ method: ResumableUploadProtocol, breakingAt breaks: [Int] = []) throws {
        server = try MockServer()
        isTus = method == .tus
        box = Protected(State(breaks: breaks))
        server.on("POST", "/files") { [weak self] in self?.create($0) ?? .stall }
    }

    var url: String { server.url + "/files" }
    var state: State { box.withLock { $0 } }
    var methods: [String] { server.requests.map(\.method) }

    /// Adds responses for the next requests of this method, which then have no other effect.
    func script(_ method: String, _ answers: MockResponse...) {
        box.withLock { $0.script[method, default: []] += answers }
    }

    /// Makes the next creation announce the upload by a 104, and then perform these steps.
    func announce(then steps: [MockResponse.Step] = [.close]) {
        box.withLock { $0.announcement = steps }
    }

    private func scripted(_ request: MockRequest) -> MockResponse? {
        box.withLock { state in
            guard let next = state.script[request.method]?.first else { return nil }
            state.script[request.method]?.removeFirst()
            return next
        }
    }

    private func create(_ request: MockRequest) -> MockResponse {
        if let answer = scripted(request) { return answer }
        guard let length = request.headers["Upload-Length"].flatMap({ Int($0) }), request.bodyCount == 0 else {
            return .text("", status: 400)
        }
        let path = box.withLock { state in
            (state.bytes, state.length) = ([], length)
            state.uploads += 1
            return "/files/\(state.uploads)"
        }
        serve(path)
        if let steps = box.withLock({ $0.announcement.take() }) {
            return MockResponse([.interim(104, ["Location": path])] + steps)
        }
        return .response(201, headers: ["Location": path])
    }

    private func serve(_ path: String) {
        server.on("HEAD", path) { [weak self] in self?.tell($0) ?? .stall }
        // The rest after the break is not read, so that the connection breaks within the body.
        let reading = box.withLock { state in
            state.breaks.first.map { MockBodyReading.upTo(UInt64(max(0, $0 - state.bytes.count))) } ?? .kept
        }
        server.on("PATCH", path, reading: reading) { [weak self] in self?.append($0) ?? .stall }
    }

    private func fields(_ state: State) -> HTTPHeaders {
        var fields: HTTPHeaders = ["Upload-Offset": "\(state.bytes.count)"]
        if !isTus { fields.add(name: "Upload-Complete", value: state.isComplete ? "?1" : "?0") }
        return fields
    }

    private func tell(_ request: MockRequest) -> MockResponse {
        if let answer = scripted(request) { return answer }
        let state = state
        return .response(
            200, headers: HTTPHeaders(fields(state) + [HTTPHeader(name: "Upload-Length", value: "\(state.length)")]))
    }

    private func append(_ request: MockRequest) -> MockResponse {
        if let answer = scripted(request) { return answer }
        let type = isTus ? "application/offset+octet-stream" : "application/partial-upload"
        guard request.headers["Content-Type"] == type,
            isTus ? request.headers["Tus-Resumable"] == "1.0.0" : request.headers["Upload-Draft-Interop-Version"] == "8"
        else { return .text("", status: 400) }
        let answer = box.withLock { state -> MockResponse in
            guard request.headers["Upload-Offset"] == "\(state.bytes.count)" else { return .text("", status: 409) }
            if let position = state.breaks.first, position <= state.bytes.count + Int(request.length) {
                state.breaks.removeFirst()
                state.bytes += request.body.prefix(max(0, position - state.bytes.count))
                return MockResponse([.reset])
            }
            state.bytes += request.body
            guard state.bytes.count == state.length, isTus || request.headers["Upload-Complete"] == "?1" else {
                return .response(204, headers: fields(state))
            }
            state.isComplete = true
            return isTus
                ? .response(204, headers: fields(state))
                : .response(200, headers: fields(state), chunks: [Data("stored".utf8)])
        }
        serve(request.path)
        return answer
    }
}

extension MockRequest {
    /// The declared length of the body, whether or not all of it was read.
    fileprivate var length: UInt64 { headers["Content-Length"].flatMap { UInt64($0) } ?? bodyCount }
}
