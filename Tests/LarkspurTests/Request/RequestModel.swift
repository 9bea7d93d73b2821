import LarkspurTesting

@testable import Larkspur

/// A world of one request without a thread: every party that acts on the state is a walker that takes one step at a
/// time, and a seeded generator says who is next. The state is the real one; only the parties are played.
final class RequestModel {
    private enum Pipeline { case absent, prepared, hopWaiting, hopEnded, serializing, running(Int), backingOff, over }
    private enum Worker { case absent, between, running(Int) }

    private(set) var state: RequestState
    private(set) var answers: [Int: Int] = [:]
    private(set) var order: [Int] = []
    private(set) var faults: [String] = []
    private(set) var attached = 0
    private(set) var isCancelled = false

    private var random: SeededRandom
    private let face: DataRequest
    private var pipeline = Pipeline.absent
    private var unwinder = Worker.absent
    private var lateWorker = Worker.absent

    private var callsHandlers = false
    private var hopIsCancelled = false
    private var taskNumber: UInt64 = 0
    private var calls = HandlerLog()
    /// How many things the user may still do.
    private var wishes: Int

    /// What every hop waits on: nobody does in a played world, so it is one that was resumed already.
    private let continuation: HopProgress.Continuation
    private let job: SerializerJob
    private let response: AnyResponse
    private let url: RequestURL

    init(seed: UInt64, face: DataRequest, url: RequestURL, continuation: HopProgress.Continuation) {
        self.continuation = continuation
        job = SerializerJob(DataResponseSerializer(), requestID: face.id)
        response = job.fail(CompletedExchange(), .requestCancelled)
        self.url = url
        random = SeededRandom(seed: seed)
        wishes = Int.random(in: 3...12, using: &random)
        self.face = face
        state = RequestState(settings: RequestSettings(), session: nil)
    }

    /// Plays until nobody has anything left to do, then ends the session, and plays what follows from that.
    func run() async {
        while await step() {}
        if state.phase == .idle { cancel(.sessionEnded) }
        while await step() {}
        (answers, order) = calls.read
    }

    private func step() async -> Bool {
        var steps: [() -> Void] = []
        if wishes > 0 { steps.append(wish) }
        switch pipeline {
        case .prepared, .hopEnded, .serializing, .running, .backingOff: steps.append(stepPipeline)
        case .hopWaiting: steps.append(stepTransport)
        case .absent, .over: break
        }
        if case .absent = unwinder {} else { steps.append(stepUnwinder) }
        if case .absent = lateWorker {} else { steps.append(stepLateWorker) }
        let callsNext = callsHandlers && random.once(in: steps.count + 1)
        if callsNext {
            await callHandlers()
            return true
        }
        guard let chosen = steps.randomElement(using: &random) else { return callsHandlers }
        chosen()
        return true
    }

    // MARK: The user

    private func wish() {
        wishes -= 1
        switch Int.random(in: 0..<8, using: &random) {
        case 0...3: attach()
        case 4: if state.start(face) == .run { begin() }
        case 5: _ = state.setPace(random.once(in: 2) ? .flowing : .suspended)
        case 6: withdraw()
        default: cancel(random.once(in: 2) ? .requestCancelled : RequestError(.timedOut, "the time is over"))
        }
    }

    private func attach() {
        let number = attached
        attached += 1
        let calls = calls
        let slot = SerializerSlot(job: job) { _ in calls.note(number) }
        let (_, action) = state.attach(slot, of: face, startsAutomatically: !random.once(in: 3))
        switch action {
        case .none, .keep: break
        case .run: begin()
        case .workLate: lateWorker = .between
        case .shortWork: faults.append("the model has no short way")
        }
    }

    /// A slot with a closure cannot be withdrawn; this one has none, so nobody must ever answer it.
    private func withdraw() {
        let (index, action) = state.attach(SerializerSlot(job: job), of: face, startsAutomatically: true)
        if case .run = action { begin() }
        if case .workLate = action { lateWorker = .between }
        state.queue[index].withdraw(with: job.fail(state.cancelledExchange, .requestCancelled))?()
    }

    private func cancel(_ reason: RequestError) {
        switch state.cancel(reason, face) {
        case .none: break
        case .takeOver:
            isCancelled = true
            unwinder = .between
        case .cancelHop(let task):
            isCancelled = true
            hopIsCancelled = task != nil
        case .shortWork: faults.append("the model has no short way")
        }
    }

    // MARK: The pipeline

    private func begin() {
        state.beginAttempt()
        pipeline = .prepared
    }

    /// Does what the verdict says; true to go on.
    private func obey(_ verdict: RequestPhase.Verdict) -> Bool {
        switch verdict {
        case .proceed: return true
        case .unwind:
            pipeline = .over
            unwinder = .between
        case .abandon: pipeline = .over
        case .ignore, .run, .takeOver, .cancelHop, .illegal:
            faults.append("the pipeline was told \(verdict)")
            pipeline = .over
        }
        return false
    }

    private func stepPipeline() {
        switch pipeline {
        case .prepared:
            if random.once(in: 6) {
                if obey(state.step(.settle)) { pipeline = .serializing }
            } else {
                beginHop()
            }
        case .hopEnded:
            guard obey(state.step(.settle)) else { return }
            pipeline = random.once(in: 4) ? .prepared : .serializing
            if case .prepared = pipeline { beginHop() }
        case .serializing: serializeNext()
        case .running(let slot):
            _ = state.hold(response, in: slot, during: .settling)
            pipeline = .serializing
            if random.once(in: 5) { retry() }
        case .backingOff: prepareAgain()
        case .absent, .hopWaiting, .over: break
        }
    }

    private func beginHop() {
        taskNumber += 1
        let task = PlayedTask(id: TransportTaskID(taskNumber))
        let request = OutgoingRequest(url: url)
        let verdict = state.beginHop(HopProgress(task, request, .memory(Data()), .pipeline(continuation)))
        if obey(verdict) {
            hopIsCancelled = false
            pipeline = .hopWaiting
            _ = state.nextPaceStep(after: nil)
        }
    }

    private func serializeNext() {
        switch state.nextWork(finishingBy: .finish, with: CompletedExchange()) {
        case .serialize(let slot, _): pipeline = .running(slot)
        case .finished(let finish):
            pipeline = .over
            deliver(finish)
        case .abandon: pipeline = .over
        }
    }

    private func retry() {
        if random.once(in: 2) {
            if obey(state.step(.backOff)) { pipeline = .backingOff }
        } else {
            prepareAgain()
        }
    }

    private func prepareAgain() {
        guard obey(state.step(.prepare)) else { return }
        _ = state.queue.discardHeld()
        begin()
    }

    private func deliver(_ finish: RequestState.Finish) {
        finish.deliveries.forEach { $0() }
        if finish.callsHandlers { callsHandlers = true }
    }

    // MARK: The transport

    private func stepTransport() {
        let id = TransportTaskID(taskNumber)
        if hopIsCancelled { return complete(.cancelled) }
        switch Int.random(in: 0..<5, using: &random) {
        case 0: _ = state.receive(.head(ResponseHead(status: 200)), for: id)
        case 1: _ = state.receive(.body(Data([1])), for: id)
        case 2: _ = state.receive(.body(Data([1])), for: TransportTaskID(0))  // of a hop long gone
        default: complete(random.once(in: 3) ? TransportError(.connectionLost) : nil)
        }
    }

    private func complete(_ error: TransportError?) {
        guard case .complete = state.receive(.completed(error), for: TransportTaskID(taskNumber)) else {
            return faults.append("the end of a hop was not taken")
        }
        pipeline = .hopEnded
    }

    // MARK: Those who finish, and those who come late

    private func stepUnwinder() {
        if case .running(let slot) = unwinder {
            _ = state.hold(response, in: slot, during: .unwinding)
            unwinder = .between
        }
        switch state.nextWork(finishingBy: .finishUnwinding, with: state.cancelledExchange) {
        case .serialize(let slot, _): unwinder = .running(slot)
        case .finished(let finish):
            unwinder = .absent
            deliver(finish)
        case .abandon:
            faults.append("the one who unwinds was told to give up")
            unwinder = .absent
        }
    }

    private func stepLateWorker() {
        if case .running(let slot) = lateWorker {
            _ = state.hold(response, in: slot, during: .finished)
            state.queue.deliverHeld().forEach { $0() }
        }
        if let next = state.queue.nextLate() {
            lateWorker = .running(next.slot)
        } else {
            lateWorker = .absent
            if state.queue.beginHandlers() { callsHandlers = true }
        }
    }

    private func callHandlers() async {
        if let next = state.queue.nextHandlers() {
            for call in next { await call.handler(call.response) }
        } else {
            callsHandlers = false
        }
    }
}
