import Larkspur

/// A state machine that turns the steps of a response into bytes, one step after the other.
struct MockPlayer {
    enum Action {
        /// Continue with the next step; the output may have new bytes.
        case proceed
        case wait(Duration)
        case pause(@Sendable () async throws -> Void)
        case drip(bytes: Int, every: Duration)
        case webSocket(MockWebSocket, @Sendable (MockWebSocket) async throws -> Void)
        case stall
        case close
        case reset
        /// The response is complete.
        case end(keepsConnection: Bool)
    }

    private enum BodyForm { case plain, chunked, none }

    private var steps: ArraySlice<MockResponse.Step>
    private let isHeadRequest: Bool
    private var keepsConnection: Bool
    private var form = BodyForm.plain
    private var trailers = HTTPHeaders()
    /// The result of the last call of a `.pieces` step's closure: a piece, or nil at their end.
    private let pulled = Protected<Data??>(nil)
    /// The number of bytes that the current generated step has produced.
    private var generated: UInt64 = 0

    init(_ response: MockResponse, method: String, keepsConnection: Bool) {
        steps = response.declaringLength().steps[...]
        isHeadRequest = method == "HEAD"
        self.keepsConnection = keepsConnection
    }

    /// Performs the next step of the response, appends the step's bytes to the output and returns the action that
    /// follows.
    mutating func next(_ output: inout [UInt8]) -> Action {
        guard let step = steps.first else { return end(&output) }
        if case .generated(_, let make) = step, form != .none, let bytes = make(generated), !bytes.isEmpty {
            generated += UInt64(bytes.count)
            write(bytes, &output)
            return .proceed
        }
        if case .pieces(let pull) = step {
            switch pulled.withLock({ $0.take() }) {
            case nil:
                return .pause { [pulled] in
                    let piece = try await pull(); pulled.withLock { $0 = .some(piece) }
                }
            case .some(let piece?):
                write(piece, &output)
                return .proceed
            case .some(nil): break
            }
        }
        steps.removeFirst()
        switch step {
        case .interim(let status, let headers): writeHead(ResponseHead(status: status, fields: Array(headers)), &output)
        case .head(let head, let framing): begin(head, framing, &output)
        case .body(let bytes): write(bytes, &output)
        case .generated: generated = 0
        case .pieces: break
        case .trailers(let fields): trailers = fields
        case .raw(let bytes): output += bytes
        case .wait(let duration): return .wait(duration)
        case .pause(let closure): return .pause(closure)
        case .drip(let bytes, let interval): return .drip(bytes: max(bytes, 1), every: interval)
        case .webSocket(let socket, let handler): return .webSocket(socket, handler)
        case .stall: return .stall
        case .close: return .close
        case .reset: return .reset
        }
        return .proceed
    }

    private mutating func begin(_ head: ResponseHead, _ framing: MockResponse.Framing, _ output: inout [UInt8]) {
        var framingField = ""
        form = .plain
        switch framing {
        case .automatic: if head["Transfer-Encoding"]?.lowercased() == "chunked" { form = .chunked }
        case .length(let length): framingField = "Content-Length: \(length)\r\n"
        case .chunked:
            framingField = "Transfer-Encoding: chunked\r\n"
            form = .chunked
        case .untilClose: keepsConnection = false
        }
        if isHeadRequest || head.status == 101 || head.status == 204 || head.status == 304 { form = .none }
        if HTTPHeaders(head.fields).connectionOptions.contains("close") { keepsConnection = false }
        writeHead(head, framingField: framingField, &output)
    }

    private func writeHead(_ head: ResponseHead, framingField: String = "", _ output: inout [UInt8]) {
        output += "\(head.version) \(head.status) \(StatusText.phrase(head.status))\r\n".utf8
        output += head.rawFields
        output += framingField.utf8
        output += "\r\n".utf8
    }

    private func write(_ bytes: Data, _ output: inout [UInt8]) {
        switch form {
        case .none: break
        case .plain: output += bytes
        case .chunked where bytes.isEmpty: break  // an empty chunk would end the body
        case .chunked:
            output += "\(String(bytes.count, radix: 16))\r\n".utf8
            output += bytes
            output += "\r\n".utf8
        }
    }

    private mutating func end(_ output: inout [UInt8]) -> Action {
        if form == .chunked {
            output += "0\r\n".utf8
            for field in trailers { output += "\(field.name): \(field.value)\r\n".utf8 }
            output += "\r\n".utf8
            form = .none
            return .proceed
        }
        return .end(keepsConnection: keepsConnection)
    }
}
