import Larkspur
import LarkspurInsight

/// The hops that a cassette records while another transport sends them.
final class CassetteRecording: Sendable {
    private struct State {
        /// The highest number of a hop. Numbers may be missing.
        var lastNumber = 0
        /// The hops that have ended, with their numbers by the order in which they began.
        var hops: [(number: Int, hop: ObservedHop)] = []
    }

    let file: URL?
    /// Whether the file is replaced even if nothing was recorded.
    let replacesFile: Bool
    private let transport: any Transport
    private let bodyLimit: Int
    private let redaction: Redaction
    private let state = Protected(State())

    init(_ transport: any Transport, file: URL?, replacesFile: Bool, bodyLimit: Int, redaction: Redaction) {
        (self.transport, self.file, self.replacesFile) = (transport, file, replacesFile)
        (self.bodyLimit, self.redaction) = (max(0, bodyLimit), redaction)
    }

    /// Whether no hop has ended.
    var isEmpty: Bool { state.withLock { $0.hops.isEmpty } }

    /// The entries of the hops that have ended. They are made here, because finding secrets in large bodies would hold
    /// up the transport's thread.
    var entries: [HARArchive.Entry] {
        state.withLock { $0.hops }.sorted { $0.number < $1.number }.map {
            HARArchive.Entry($0.hop, bodyLimit: bodyLimit, redacting: redaction)
        }
    }

    func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask {
        let hop = RecordedHop(request, delegate, bodyLimit: bodyLimit) { [self] in add($0, $1) }
        var request = request
        hop.copyBody(of: &request)
        // The transport's task keeps the hop until its end, and this one must not keep it longer.
        return RecordedTask(transport.task(for: request, id: id, delegate: hop)) { [self, weak hop] in
            hop?.begin { number() }
        }
    }

    /// Returns a number that is higher than those of all hops that have begun.
    private func number() -> Int {
        state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
    }

    private func add(_ number: Int, _ hop: ObservedHop) { state.withLock { $0.hops.append((number, hop)) } }
}

/// The task of a recorded hop. The hop begins with the first `resume()`.
private final class RecordedTask: TransportTask {
    private let base: any TransportTask
    private let begin: @Sendable () -> Void

    init(_ base: any TransportTask, begin: @escaping @Sendable () -> Void) { (self.base, self.begin) = (base, begin) }

    var id: TransportTaskID { base.id }

    func resume() {
        begin()
        base.resume()
    }

    func suspend() { base.suspend() }
    func cancel() { base.cancel() }
    func allow(upTo position: UInt64) { base.allow(upTo: position) }
}

/// A delegate that keeps a hop's parts, and passes all events and questions on.
private final class RecordedHop: TransportDelegate {
    private struct State {
        /// The position in the order in which hops began; 0 before the hop begins.
        var number = 0
        var hop: ObservedHop
        var socket: RecordedSocket?
        /// The number of kept bytes of messages.
        private var content = 0

        init(_ hop: ObservedHop) { self.hop = hop }

        /// Adds the messages that end in these bytes of a WebSocket.
        mutating func take(_ bytes: Data, isSent: Bool, limit: Int) {
            for message in socket?.messages(in: bytes, isSent: isSent) ?? [] {
                let isText = if case .text = message { true } else { false }
                let bytes =
                    switch message {
                    case .text(let text): Data(text.utf8)
                    case .data(let data): data
                    }
                guard hop.messages.count < RecordedHop.messageLimit else { return }
                let kept = content + bytes.count <= limit
                if kept { content += bytes.count }
                hop.messages.append(
                    HARArchive.Message(
                        isSent: isSent, isText: isText, time: Date(), bytes: kept ? bytes : nil, size: bytes.count))
            }
        }
    }

    /// The maximum number of messages of a WebSocket, as in the archives of recorders.
    private static let messageLimit = 10_000

    private let request: TransportRequest
    private let delegate: any TransportDelegate
    private let bodyLimit: Int
    private let state: Protected<State>
    private let complete: @Sendable (Int, ObservedHop) -> Void

    init(
        _ request: TransportRequest, _ delegate: any TransportDelegate, bodyLimit: Int,
        complete: @escaping @Sendable (Int, ObservedHop) -> Void
    ) {
        (self.request, self.delegate, self.bodyLimit, self.complete) = (request, delegate, bodyLimit, complete)
        var outgoing = OutgoingRequest(
            method: HTTPMethod(rawValue: request.method), url: request.url, headers: HTTPHeaders(request.fields),
            body: request.body)
        // The response may have the secrets that the request marks, for example in the target of a redirect.
        outgoing.options.confidentialQueryItems = request.url.secretItems
        state = Protected(State(ObservedHop(outgoing)))
    }

    /// Begins the hop, unless it has begun.
    ///
    /// If several threads call this at the same time, each call returns after the hop has its number. Each caller then
    /// resumes the transport's task, and the hop may end at once; a hop without a number is not recorded.
    func begin(numbering number: () -> Int) {
        guard state.withLock({ $0.number == 0 }) else { return }
        let number = number()
        state.withLock { state in
            guard state.number == 0 else { return }
            state.number = number
            state.hop.startedAt = Date()
        }
    }

    /// Lets the body of the request be copied while the transport reads it.
    func copyBody(of request: inout TransportRequest) {
        let body = request.body
        switch body {
        case .none: break
        case .data(let bytes): state.withLock { $0.hop.requestBody = bytes.prefix(bodyLimit) }
        default:
            let source = TransportBodySource(
                length: body.length, isReplayable: body.isReplayable, trailerNames: body.trailerNames
            ) { self.copying(body.open()) }
            request.body = .stream(source)
        }
    }

    private func copying(_ stream: any TransportBodyStream) -> any TransportBodyStream {
        let limit = request.upgrades ? UInt64.max : UInt64(bodyLimit)
        return CopyingBodyStream(stream, limit: limit) { [self] offset, bytes in
            state.withLock { state in
                guard !request.upgrades else { return state.take(bytes, isSent: true, limit: bodyLimit) }
                if offset == 0 { state.hop.requestBody = Data() }
                state.hop.requestBody += bytes
            }
        }
    }

    func received(_ event: TransportEvent, for task: TransportTaskID) {
        let ended = state.withLock { state -> (Int, ObservedHop)? in
            switch event {
            case .head(let head):
                state.hop.head = head
                if head.status == 101 { state.socket = RecordedSocket(request, head) }
            case .body(let bytes):
                if state.hop.head?.status == 101 {
                    state.take(bytes, isSent: false, limit: bodyLimit)
                } else {
                    state.hop.responseBodySize += bytes.count
                    state.hop.responseBody += bytes.prefix(max(0, bodyLimit - state.hop.responseBody.count))
                }
            case .trailers(let fields): state.hop.trailers = fields
            case .metrics(let metrics): state.hop.metrics = metrics
            case .completed(let error):
                state.hop.error = error
                return (state.number, state.hop)
            default: break
            }
            return nil
        }
        if let (number, hop) = ended, number > 0 { complete(number, hop) }
        delegate.received(event, for: task)
    }

    func answer(_ question: TransportQuestion, for task: TransportTaskID) {
        guard case .bodyFromStart(let offset, let reply) = question else {
            return delegate.answer(question, for: task)
        }
        // The delegate knows nothing of the stream in which a file's bytes are copied.
        guard case .stream = request.body else { return reply(copying(request.body.open())) }
        let answer = TransportReply<any TransportBodyStream>()
        delegate.answer(.bodyFromStart(offset: offset, answer), for: task)
        if let stream = answer.value { reply(copying(stream)) }
    }
}

/// The parsers of both directions of a WebSocket.
private struct RecordedSocket {
    private var sent: WebSocketReader
    private var received: WebSocketReader

    /// Returns nil if the response does not accept the request.
    init?(_ request: TransportRequest, _ head: ResponseHead) {
        func value(_ name: String) -> String? {
            request.fields.first { $0.name.lowercased() == name }?.value
        }
        let protocols = value("sec-websocket-protocol")?.listed ?? []
        guard let key = value("sec-websocket-key"),
            let agreement = try? WebSocketHandshake.check(
                head, key: key, protocols: protocols, compression: .deflate)
        else { return nil }
        sent = WebSocketReader(role: .server, maximumMessageSize: .max, deflate: agreement.deflate)
        received = WebSocketReader(role: .client, maximumMessageSize: .max, deflate: agreement.deflate)
    }

    mutating func messages(in bytes: Data, isSent: Bool) -> [WebSocketMessage] {
        var messages: [WebSocketMessage] = []
        let add: (WebSocketReader.Event) -> Bool = { event in
            if case .message(let message, _) = event { messages.append(message) }
            return true
        }
        bytes.withUnsafeBytes { bytes in
            // After a violation the peers end the connection themselves.
            _ = isSent ? try? sent.read(bytes, add) : try? received.read(bytes, add)
        }
        return messages
    }
}
