import LarkspurCache
import Testing

/// A transport whose tasks do only what the test lets them do, on the test's own thread.
final class ScriptedTransport: Transport {
    private let box = Protected<[ScriptedTask]>([])
    /// Called when a task is about to be resumed for the first time.
    let willResume = Protected<(@Sendable () -> Void)?>(nil)

    /// The tasks in the order in which they were made.
    var tasks: [ScriptedTask] { box.withLock { $0 } }

    func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask {
        let task = ScriptedTask(request, id, delegate) { [willResume] in willResume.withLock { $0.take() }?() }
        box.withLock { $0.append(task) }
        return task
    }

    func invalidate() { for task in tasks { task.end(TransportError(.invalidated)) } }
}

/// A task that keeps the contract strictly: it delivers nothing while it is suspended or its allowance is used up.
final class ScriptedTask: TransportTask {
    struct State {
        var delegate: (any TransportDelegate)?
        var isResumed = false
        var isSuspended = true
        var allowed: UInt64
        var delivered: UInt64 = 0
        var hasHead = false
        var isWaiting = false
        var isDelivering = false
        var error: TransportError??
    }

    let request: TransportRequest
    let id: TransportTaskID
    private let willResume: @Sendable () -> Void
    private let box: Protected<State>

    init(
        _ request: TransportRequest, _ id: TransportTaskID, _ delegate: any TransportDelegate,
        willResume: @escaping @Sendable () -> Void
    ) {
        (self.request, self.id, self.willResume) = (request, id, willResume)
        box = Protected(State(delegate: delegate, allowed: request.initialAllowance))
    }

    var state: State { box.withLock { $0 } }
    var isRunning: Bool { box.withLock { $0.delegate != nil && $0.isResumed && !$0.isSuspended } }
    var hasEnded: Bool { box.withLock { $0.delegate == nil } }
    var mayDeliver: Bool { box.withLock { $0.isResumed && !$0.isSuspended && $0.delivered < $0.allowed } }

    func resume() {
        willResume()
        box.withLock { ($0.isResumed, $0.isSuspended) = (true, false) }
    }
    func suspend() { box.withLock { $0.isSuspended = true } }
    func cancel() { end(.cancelled) }
    func allow(upTo position: UInt64) { box.withLock { $0.allowed = max($0.allowed, position) } }

    /// Begins or ends to wait for an admission.
    func wait(_ isWaiting: Bool) {
        box.withLock { $0.isWaiting = isWaiting }
        deliver(.admission(isWaiting ? .waits : .admitted(after: .seconds(1))))
    }

    /// Delivers the head of a chunked response.
    func head(_ status: Int = 200, _ fields: [(String, String)] = []) {
        let fields = fields + [("Transfer-Encoding", "chunked")]
        box.withLock { $0.hasHead = true }
        deliver(.head(ResponseHead(status: status, fields: fields.map { HTTPHeader(name: $0.0, value: $0.1) })))
    }

    /// Delivers the next bytes of the body, if the pace allows it.
    func body(_ count: Int) {
        guard mayDeliver else { return }
        let start = box.withLock { state in
            defer { state.delivered += UInt64(count) }
            return state.delivered
        }
        deliver(.body(Self.bytes(start, count)))
    }

    func ask(_ question: TransportQuestion) { box.withLock { $0.delegate }?.answer(question, for: id) }

    func end(_ error: TransportError? = nil) {
        box.withLock { if $0.error == nil { $0.error = .some(error) } }
        finish()
    }

    /// Returns bytes that depend on their position.
    static func bytes(_ start: UInt64, _ count: Int) -> Data {
        Data(pattern[Int(start)..<Int(start) + count])
    }

    /// An array: the leak finder takes the storage of a constant `Data` for a leak.
    private static let pattern = (0..<10_000).map { UInt8(truncatingIfNeeded: UInt64($0) &* 7 / 3) }

    private func deliver(_ event: TransportEvent) {
        let delegate = box.withLock { state -> (any TransportDelegate)? in
            guard state.error == nil, !state.isDelivering else { return nil }
            state.isDelivering = true
            return state.delegate
        }
        guard let delegate else { return }
        delegate.received(event, for: id)
        box.withLock { $0.isDelivering = false }
        finish()
    }

    /// Delivers the end, unless an event is being delivered, which the end has to follow.
    private func finish() {
        let (delegate, isResumed, error) = box.withLock { state -> ((any TransportDelegate)?, Bool, TransportError?) in
            guard let error = state.error, !state.isDelivering else { return (nil, false, nil) }
            return (state.delegate.take(), state.isResumed, error)
        }
        guard let delegate else { return }
        if isResumed { delegate.received(.metrics(TransportMetrics()), for: id) }
        delegate.received(.completed(error), for: id)
    }
}

/// A receiver that checks the rules of the contract for its task.
final class CheckedReader: TransportDelegate {
    struct Record {
        var head: ResponseHead?
        var outcome: CacheOutcome?
        /// Whether the task waited, after each event of its admission.
        var waits: [Bool] = []
        var body = Data()
        var metrics = 0
        var ends = 0
        var error: TransportError?
        var faults: [String] = []
        var isReceiving = false
        var isResumed = false
        var isSuspended = false
        var allowed: UInt64
        /// The numbers of buffers since the task was suspended, and of those that began after the allowed position.
        var whileSuspended = 0
        var beyond = 0
    }

    private let box: Protected<Record>
    private let task = Protected<(any TransportTask)?>(nil)
    private let hook: @Sendable (CheckedReader) -> Void
    private let reply: @Sendable (TransportQuestion) -> Void

    init(
        allowed: UInt64 = .max, reply: @escaping @Sendable (TransportQuestion) -> Void = { _ in },
        hook: @escaping @Sendable (CheckedReader) -> Void = { _ in }
    ) {
        box = Protected(Record(allowed: allowed))
        (self.reply, self.hook) = (reply, hook)
    }

    var record: Record { box.withLock { $0 } }
    var hasEnded: Bool { record.ends > 0 }

    func control(_ task: any TransportTask) { self.task.withLock { $0 = task } }

    func resume() {
        box.withLock { ($0.isResumed, $0.isSuspended, $0.whileSuspended) = (true, false, 0) }
        task.withLock { $0 }?.resume()
    }

    func suspend() {
        task.withLock { $0 }?.suspend()
        box.withLock { if !$0.isSuspended { ($0.isSuspended, $0.whileSuspended) = (true, 0) } }
    }

    /// Suspends the task without a check of what it delivers then, because other threads may resume it.
    func suspendLoosely() { task.withLock { $0 }?.suspend() }

    func allow(upTo position: UInt64) {
        box.withLock { if position > $0.allowed { ($0.allowed, $0.beyond) = (position, 0) } }
        task.withLock { $0 }?.allow(upTo: position)
    }

    func cancel() { task.withLock { $0 }?.cancel() }

    func received(_ event: TransportEvent, for task: TransportTaskID) {
        box.withLock { record in
            if ThreadMarks.lockDepth > 1 { record.faults.append("R1: an event under a lock") }
            if record.isReceiving { record.faults.append("T5: two events at once") }
            record.isReceiving = true
            if record.ends > 0 { record.faults.append("T4: an event after the end") }
            switch event {
            case .cache(let outcome):
                if record.outcome != nil || record.head != nil { record.faults.append("T5: the outcome is late") }
                record.outcome = outcome
            case .information: if record.head != nil { record.faults.append("T5: an interim head after the head") }
            case .trailers: if record.head == nil { record.faults.append("T5: trailers without a head") }
            case .head(let head):
                if record.head != nil { record.faults.append("T6: two heads") }
                if record.outcome == nil { record.faults.append("T5: a head without an outcome") }
                record.head = head
            case .body(let bytes):
                if record.head == nil { record.faults.append("T5: a body without a head") }
                if bytes.isEmpty { record.faults.append("T9: an empty buffer") }
                if record.isSuspended { record.whileSuspended += 1 }
                if UInt64(record.body.count) >= record.allowed { record.beyond += 1 }
                if record.whileSuspended > 1 { record.faults.append("T15: a second buffer while suspended") }
                if record.beyond > 1 { record.faults.append("T16: a second buffer beyond the allowed position") }
                record.body += bytes
            case .metrics: record.metrics += 1
            case .completed(let error):
                record.ends += 1
                record.error = error
                if record.metrics != (record.isResumed ? 1 : 0) {
                    record.faults.append("T7: \(record.metrics) metrics")
                }
                if error == nil, record.head == nil { record.faults.append("T6: a success without a head") }
            case .admission(let part):
                if record.outcome != nil { record.faults.append("T5: a late event of the admission") }
                if (record.waits.last ?? false) == (part == .waits) { record.faults.append("T5: no change: \(part)") }
                record.waits.append(part == .waits)
            case .waitsForNetwork: if record.head != nil { record.faults.append("T5: a late wait for the network") }
            case .bodySent: record.faults.append("T11: a GET without a body has sent bytes")
            }
        }
        hook(self)
        box.withLock { $0.isReceiving = false }
        if case .completed = event { self.task.withLock { $0.take() }.map { withExtendedLifetime($0) {} } }
    }

    func answer(_ question: TransportQuestion, for task: TransportTaskID) { reply(question) }
}

/// Numbers that repeat for the same seed, so that a failing schedule can be repeated.
struct Dice: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: Int) { state = UInt64(truncatingIfNeeded: seed) &* 0x9E37_79B9_7F4A_7C15 &+ 0x2545_F491_4F6C_DD1D }

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state &* 0x2545_F491_4F6C_DD1D
    }

    mutating func roll(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self) }
}
