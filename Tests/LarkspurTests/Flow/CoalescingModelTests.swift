import Dispatch
import Foundation
import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurFlow

/// Random requests against a plain model of exchanges and their readers. The base's tasks do nothing by themselves, so
/// that each step ends before the next one begins.
@Suite("Coalescing: a model", .limited)
struct CoalescingModelTests {
    @Test("Random arrivals, cancels, pauses and failures: each request gets what the model says, and no more is sent")
    func model() throws {
        for seed in 0..<UInt64(rounds(400, nightly: 10_000)) {
            var run = try CoalescingRun(seed: seed)
            for step in 0..<60 {
                try run.step()
                if let problem = run.problem() {
                    Issue.record("seed \(seed), step \(step): \(problem)")
                    return
                }
            }
            run.finish()
            if let problem = run.problem() ?? run.unfinished() {
                Issue.record("seed \(seed), end: \(problem)")
                return
            }
        }
    }

    @Test("From many threads: each request gets the response to its own URL, its server's failure or its own cancel")
    func threads() async {
        let log = TransportLog()
        let session = log.session(SessionConfiguration { $0.coalescing = .identicalReads }) { request, _ in
            request.url.path == "/2" ? .failure(.connectionLost) : .text(String(request.url.path))
        }
        let wrong = await withTaskGroup(of: String?.self) { group in
            for seed in 0..<UInt64(rounds(600, nightly: 10_000)) {
                group.addTask {
                    var random = SeededRandom(seed: seed)
                    let (path, cancels) = ("/\(Int.random(in: 0..<4, using: &random))", random.once(in: 4))
                    let request = await session.request("http://h" + path)
                    let task = request.serializingString()
                    if cancels { request.cancel() }
                    let response = await task.response
                    if cancels, response.error?.isCancelled == true { return nil }
                    if path == "/2" { return response.error?.code == .connectionLost ? nil : "\(seed): \(response)" }
                    return response.value == path ? nil : "\(seed): \(response)"
                }
            }
            return await group.reduce(into: [String]()) { all, one in if let one { all.append(one) } }
        }
        #expect(wrong == [])
    }

    @Test("Requests that begin at once share one exchange")
    func atOnce() throws {
        var request = TransportRequest(url: try RequestURL("http://h/"))
        request.flow = FlowInstructions(kind: .data, session: FlowOwner(), timeLeft: nil)
        for _ in 0..<rounds(500, nightly: 5_000) {
            let base = QuietTransport()
            let transport = CoalescingTransport(base, .identicalReads)
            let tasks = (1...2).map { transport.task(for: request, id: TransportTaskID($0), delegate: LineReader()) }
            DispatchQueue.concurrentPerform(iterations: 2) { tasks[$0].resume() }
            #expect(base.hops.count == 1)
            #expect(transport.joined == 2)
        }
    }

    @Test("A body comes no further than a reader that is not suspended allows")
    func ahead() throws {
        var request = TransportRequest(url: try RequestURL("http://h/"), initialAllowance: 0)
        request.flow = FlowInstructions(kind: .data, session: FlowOwner(), timeLeft: nil)
        let base = QuietTransport()
        let transport = CoalescingTransport(base, .identicalReads)
        let tasks = (1...2).map { transport.task(for: request, id: TransportTaskID($0), delegate: LineReader()) }
        for task in tasks { task.resume() }
        tasks[0].allow(upTo: 1_000)
        tasks[0].suspend()
        let hop = try #require(base.hops.first)
        for event in [TransportEvent.head(ResponseHead(status: 200)), .body(Data(count: 10))] { hop.deliver(event) }
        #expect(hop.state.isSuspended)
        tasks[1].allow(upTo: 10)
        #expect(!hop.state.isSuspended)
    }
}

/// A coalescing transport and its model.
private struct CoalescingRun {
    /// The parts in which requests must agree to share an exchange.
    private struct Key: Hashable {
        let path: Int
        let accept: Int
    }

    private struct Exchange {
        let key: Key
        let priority: RequestPriority
        var log: [TransportEvent] = []
        var members: Set<Int> = []
        var allowed: UInt64
        var received = 0
        var isShared = false
        /// Whether more has come than the readers that are not suspended allow.
        var isAhead = false
        var isClosed = false
        var isCancelled = false
        var hasEnded = false

        var error: TransportError? {
            if case .completed(let error)? = log.last { error } else { nil }
        }
    }

    private struct Request {
        let key: Key
        let priority: RequestPriority
        let reader: LineReader
        let task: any TransportTask
        var allowed: UInt64
        var exchange: Int?
        var position = 0
        var delivered = 0
        var isResumed = false
        var isSuspended = true
        var hasMetrics = false
        var endError: TransportError?
        var isOver = false
        var lines: [String] = []
    }

    private var random: SeededRandom
    private let base = QuietTransport()
    private let transport: CoalescingTransport
    private let owner = FlowOwner()
    private var requests: [Request] = []
    private var exchanges: [Exchange] = []
    private var listed: [Key: Int] = [:]

    init(seed: UInt64) throws {
        random = SeededRandom(seed: seed)
        transport = CoalescingTransport(base, .identicalReads)
    }

    // MARK: Steps

    mutating func step() throws {
        let request = requests.indices.randomElement(using: &random)
        switch (Int.random(in: 0..<12, using: &random), request) {
        case (0..<3, _), (_, nil): try arrive()
        case (3, let number?): cancel(number)
        case (4, let number?): suspend(number)
        case (5, let number?): resume(number)
        case (6, let number?): allow(number, upTo: UInt64(Int.random(in: 0...400_000, using: &random)))
        default: serve()
        }
    }

    /// Lets all requests read, ends all exchanges, and cancels the requests that were never resumed.
    mutating func finish() {
        for number in requests.indices {
            if requests[number].isResumed { resume(number) } else { cancel(number) }
            allow(number, upTo: .max)
        }
        for number in exchanges.indices where !exchanges[number].hasEnded { end(number, nil) }
    }

    private mutating func arrive() throws {
        let key = Key(path: Int.random(in: 0..<2, using: &random), accept: random.once(in: 4) ? 1 : 0)
        var request = TransportRequest(
            url: try RequestURL("http://h/\(key.path)"),
            fields: [
                HTTPHeader(name: "Accept", value: "\(key.accept)"),
                HTTPHeader(name: "traceparent", value: "\(requests.count)"),
            ],
            initialAllowance: random.once(in: 3) ? 0 : .max)
        request.flow = FlowInstructions(kind: .data, session: owner, timeLeft: nil)
        request.priority = random.once(in: 6) ? .high : .normal
        let reader = LineReader()
        let task = transport.task(for: request, id: TransportTaskID(UInt64(requests.count + 1)), delegate: reader)
        requests.append(
            Request(
                key: key, priority: request.priority, reader: reader, task: task, allowed: request.initialAllowance))
        // Some requests wait, or are cancelled, before they are resumed.
        if !random.once(in: 8) { resume(requests.count - 1) }
    }

    private mutating func resume(_ number: Int) {
        requests[number].task.resume()
        requests[number].isSuspended = false
        if !requests[number].isOver, !requests[number].isResumed {
            requests[number].isResumed = true
            join(number)
        }
        catchUp(number)
        pump(number)
    }

    private mutating func join(_ number: Int) {
        let request = requests[number]
        var exchange = listed[request.key]
        if let open = exchange, exchanges[open].isClosed || request.priority > exchanges[open].priority {
            exchange = nil
        }
        if exchange == nil {
            exchange = exchanges.count
            exchanges.append(Exchange(key: request.key, priority: request.priority, allowed: request.allowed))
            listed[request.key] = exchange
        }
        guard let exchange else { return }
        requests[number].exchange = exchange
        if !exchanges[exchange].members.isEmpty { exchanges[exchange].isShared = true }
        exchanges[exchange].members.insert(number)
        exchanges[exchange].allowed = max(exchanges[exchange].allowed, request.allowed)
    }

    private mutating func suspend(_ number: Int) {
        requests[number].task.suspend()
        if requests[number].isResumed { requests[number].isSuspended = true }
        pump(number)
    }

    private mutating func allow(_ number: Int, upTo position: UInt64) {
        requests[number].task.allow(upTo: position)
        requests[number].allowed = max(requests[number].allowed, position)
        if !requests[number].isOver, let exchange = requests[number].exchange {
            exchanges[exchange].allowed = max(exchanges[exchange].allowed, position)
        }
        catchUp(number)
        pump(number)
    }

    /// The exchange is not ahead of its readers if this one is not suspended and allows all that has come.
    private mutating func catchUp(_ number: Int) {
        let request = requests[number]
        guard !request.isOver, let exchange = request.exchange, allowsAll(number, of: exchange) else { return }
        exchanges[exchange].isAhead = false
    }

    private func allowsAll(_ number: Int, of exchange: Int) -> Bool {
        !requests[number].isSuspended && requests[number].allowed >= exchanges[exchange].received
    }

    private mutating func cancel(_ number: Int) {
        requests[number].task.cancel()
        if requests[number].endError == nil { requests[number].endError = .cancelled }
        pump(number)
    }

    /// Lets an exchange go on by one event, or end.
    private mutating func serve() {
        let open = exchanges.indices.filter { !exchanges[$0].hasEnded }
        guard let number = open.randomElement(using: &random) else { return }
        if random.once(in: 8) { return end(number, TransportError(.connectionLost)) }
        guard !exchanges[number].log.isEmpty else { return deliver(.head(ResponseHead(status: 200)), number) }
        if random.once(in: 4) { return end(number, nil) }
        let size = random.once(in: 5) ? 200_000 : Int.random(in: 1...100, using: &random)
        deliver(.body(Data(count: size)), number)
    }

    private mutating func end(_ number: Int, _ error: TransportError?) {
        deliver(.metrics(TransportMetrics()), number)
        deliver(.completed(error), number)
    }

    private mutating func deliver(_ event: TransportEvent, _ number: Int) {
        exchanges[number].log.append(event)
        switch event {
        case .body(let bytes):
            exchanges[number].received += bytes.count
            if exchanges[number].isShared {
                exchanges[number].isAhead = !exchanges[number].members.contains { allowsAll($0, of: number) }
            }
            if exchanges[number].received > 256 << 10 { close(number) }
        case .completed:
            exchanges[number].hasEnded = true
            close(number)
        default: break
        }
        base.hops[number].deliver(event)
        for reader in exchanges[number].members.sorted() { pump(reader) }
    }

    private mutating func close(_ number: Int) {
        exchanges[number].isClosed = true
        if listed[exchanges[number].key] == number { listed[exchanges[number].key] = nil }
    }

    // MARK: The model of a request

    /// Delivers the events that the request may have by now.
    private mutating func pump(_ number: Int) {
        while !requests[number].isOver, let event = nextEvent(of: number) {
            requests[number].lines.append(event.line)
            switch event {
            case .body(let bytes): requests[number].delivered += bytes.count
            case .metrics: requests[number].hasMetrics = true
            case .completed: leave(number)
            default: break
            }
        }
    }

    private mutating func nextEvent(of number: Int) -> TransportEvent? {
        let request = requests[number]
        let exchange = request.exchange.map { exchanges[$0] }
        if request.endError == nil, !request.isSuspended {
            guard let exchange, request.position < exchange.log.count else { return nil }
            let event = exchange.log[request.position]
            if case .body = event, request.delivered >= request.allowed { return nil }
            requests[number].position += 1
            return event
        }
        // A cancel ends a request at once, and so does a failure while the request is suspended.
        guard let error = request.endError ?? exchange?.error else { return nil }
        return request.isResumed && !request.hasMetrics ? .metrics(TransportMetrics()) : .completed(error)
    }

    private mutating func leave(_ number: Int) {
        requests[number].isOver = true
        guard let exchange = requests[number].exchange else { return }
        exchanges[exchange].members.remove(number)
        guard exchanges[exchange].members.isEmpty, !exchanges[exchange].hasEnded else { return }
        exchanges[exchange].isCancelled = true
        exchanges[exchange].hasEnded = true
        close(exchange)
    }

    // MARK: Checks

    /// Returns the first difference between the transport and the model.
    func problem() -> String? {
        for (number, request) in requests.enumerated() where request.reader.lines != request.lines {
            return "request \(number) got \(request.reader.lines) in place of \(request.lines)"
        }
        let hops = base.hops
        guard hops.count == exchanges.count else { return "\(hops.count) hops in place of \(exchanges.count)" }
        for (number, (hop, exchange)) in zip(hops, exchanges).enumerated() {
            let state = hop.state
            if state.isCancelled != exchange.isCancelled { return "hop \(number): cancelled is \(state.isCancelled)" }
            if exchange.hasEnded { continue }
            if state.allowed != exchange.allowed {
                return "hop \(number) may deliver up to \(state.allowed) in place of \(exchange.allowed)"
            }
            let isSuspended = exchange.isAhead || exchange.members.allSatisfy { requests[$0].isSuspended }
            if state.isSuspended != isSuspended { return "hop \(number): suspended is \(state.isSuspended)" }
        }
        return nil
    }

    /// Returns a request that has not ended.
    func unfinished() -> String? {
        requests.firstIndex { !$0.isOver }.map { "request \($0) has not ended: \(requests[$0].lines)" }
    }
}
