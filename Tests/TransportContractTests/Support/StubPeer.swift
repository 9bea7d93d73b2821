import Larkspur
import LarkspurTesting

/// Plays scripts through `StubTransport`.
final class StubPeer: ContractPeer {
    static let buffer = 16

    private struct Page: Sendable {
        var script: [PeerStep]
        var requests: [ReceivedRequest] = []
    }

    private let pages: Protected<[String: Page]>
    let transport: any Transport

    init() {
        let pages = Protected<[String: Page]>([:])
        let clock = GateClock()
        self.pages = pages
        transport = StubTransport(clock: clock) { request in
            let received = ReceivedRequest(request)
            let script = pages.withLock { pages -> [PeerStep] in
                pages[request.url.text]?.requests.append(received)
                return pages[request.url.text]?.script ?? []
            }
            return StubAnswer(script.flatMap { Self.steps(for: $0, clock) })
        }
    }

    func url(playing script: [PeerStep]) throws -> RequestURL {
        try pages.withLock { pages in
            let url = try RequestURL("http://peer.test/\(pages.count)?q=a%20b")
            pages[url.text] = Page(script: script)
            return url
        }
    }

    func requests(at url: RequestURL) -> [ReceivedRequest] {
        pages.withLock { $0[url.text]?.requests ?? [] }
    }

    private static func steps(for step: PeerStep, _ clock: GateClock) -> [StubAnswer.Step] {
        switch step {
        case .interim(let status, let fields): [.head(ResponseHead(status: status, fields: fields))]
        case .head(let head): [.head(responseHead(head))]
        case .bytes(let bytes): pieces(of: bytes).map { .body(Data($0)) }
        case .trailers(let fields): [.trailers(HTTPHeaders(fields))]
        case .wait(let gate): [.wait(clock.duration(for: gate))]
        case .stall: [.stall]
        case .close: []  // the stub closes the connection when its script ends early
        case .reset: [.fail(TransportError(.connectionLost, "the peer reset the connection"))]
        case .needBodyAgain: [.rewind]
        }
    }

    private static func responseHead(_ head: PeerHead) -> ResponseHead {
        let length = head.length.map { Array("Content-Length: \($0)\r\n".utf8) } ?? []
        return ResponseHead(status: head.status, rawFields: head.rawFields + length)
    }

    private static func pieces(of bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        stride(from: 0, to: bytes.count, by: buffer).map { bytes[$0..<min($0 + buffer, bytes.count)] }
    }
}

extension ReceivedRequest {
    /// Creates a record of the request as the stub received it, without a wire.
    fileprivate init(_ request: TransportRequest) {
        method = request.method
        target = String(request.url.text.dropFirst("http://peer.test".count))
        fields = request.fields
        switch request.body {
        case .none: body = []
        case .data(let data): body = Array(data)
        case .file(let path, _, _): body = FileManager.default.contents(atPath: path).map(Array.init) ?? []
        case .stream(let source):
            let stream = source.open()
            body = ReceivedRequest.drain(stream)
            if source.trailerNames != nil { trailers = stream.trailers }
        }
    }

    private static func drain(_ stream: any TransportBodyStream) -> [UInt8] {
        var body: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: StubPeer.buffer)
        stream.begin {}
        reading: while true {
            switch buffer.withUnsafeMutableBytes({ stream.read(into: $0) }) {
            case .bytes(let count): body += buffer[..<count]
            case .pending, .end, .failed: break reading
            }
        }
        stream.end()
        return body
    }
}
