import Larkspur
import LarkspurTesting

@testable import LarkspurCore

/// A world of one request without a driver: every party that acts on the request takes one step at a time, and a seeded
/// generator says which party is next. The request's state and its machine are the real ones; the user, the transport,
/// the awaiters and the threads that call the machine are played.
final class RequestModel {
    private enum Worker { case absent, between, running(Int) }

    private enum Machine {
        case absent
        case ready(RequestPipeline.Next)
        /// A hop is with the transport.
        case waiting(PlayedTask, RequestPipeline.HopLoop)
        /// The hop has ended, and was left to an awaiter.
        case left(RequestPipeline.HopLoop)
        case over
    }

    /// The situations that requests met, so that a test can check that the mix covers them.
    enum Event: CaseIterable {
        case cancel, awaiterTakesUp, otherTakesUp, endWithoutTask, endInTask, asynchronousWork, redirect, retry,
            lateWork
    }

    let request: DataRequest
    private(set) var faults: [String] = []
    private(set) var met: Set<Event> = []

    private let core: RequestCore
    private let pipeline: RequestPipeline
    private let continuation: HopProgress.OutcomeContinuation
    private var random: SeededRandom
    private var machine = Machine.absent
    private var unwinder = Worker.absent
    private var lateWorker = Worker.absent
    private var callsHandlers = false
    /// The awaiters that are to go on with a hop, but have not begun.
    private var takers: [PlayedAwaiter] = []
    /// Whether a thread other than an awaiter's is to go on with the hop.
    private var isTakenUpApart = false
    private var awaiters: [PlayedAwaiter] = []
    private let closures = HandlerLog()
    private let awaited = HandlerLog()
    private var attached: [Int] = []
    private var pages = 0
    /// How many things the user may still do.
    private var wishes: Int

    /// - Parameter continuation: What hops wait on. It was resumed before, and is never resumed here.
    init(seed: UInt64, request: DataRequest, session: Session, continuation: HopProgress.OutcomeContinuation) {
        self.request = request
        self.continuation = continuation
        core = request.handle.core
        pipeline = RequestPipeline(core: core, session: session, isStepwise: true)
        random = SeededRandom(seed: seed)
        wishes = random.once(in: 3) ? 1 : Int.random(in: 3...12, using: &random)
    }

    /// Plays until no party has anything left to do, then ends the session, and plays what follows from that.
    func run() async {
        while await step() {}
        if core.read({ $0.phase == .idle }) { cancel(.sessionEnded) }
        while await step() {}
        let phase = core.read { $0.phase }
        guard phase == .finished else { return faults.append("left in \(phase)") }
        for awaiter in awaiters { await awaiter.isAnswered }
        let order = closures.read.1
        if order != attached { faults.append("answered \(order) of \(attached)") }
        if awaited.read.0.contains(where: { $0.value != 1 }) { faults.append("awaiters answered: \(awaited.read.0)") }
    }

    private func step() async -> Bool {
        var steps: [() async -> Void] = []
        if wishes > 0 { steps.append(wish) }
        switch machine {
        case .ready(let next): steps.append { await self.stepMachine(next) }
        case .waiting(let task, let loop): steps.append { self.stepTransport(task, loop) }
        case .absent, .left, .over: break
        }
        if !takers.isEmpty { steps.append { self.takeUp(by: self.takers.removeFirst()) } }
        if isTakenUpApart { steps.append { self.takeUp(by: nil) } }
        if case .absent = unwinder {} else { steps.append(stepUnwinder) }
        if case .absent = lateWorker {} else { steps.append(stepLateWorker) }
        if callsHandlers { steps.append(callHandlers) }
        guard let chosen = steps.randomElement(using: &random) else { return false }
        await chosen()
        return true
    }

    // MARK: The user

    private func wish() {
        wishes -= 1
        // A request that only one awaiter wants anything of.
        if wishes == 0, attached.isEmpty, awaiters.isEmpty { return attachAwaiter() }
        switch Int.random(in: 0..<11, using: &random) {
        case 0...1: attachClosure()
        case 2...4: attachAwaiter()
        case 5: if core.box.withLock({ $0.start() }) == .run { begin() }
        case 6: _ = core.box.withLock { $0.setPace(random.once(in: 2) ? .flowing : .suspended) }
        case 7: withdraw()
        case 8: request.validate()
        case 9 where random.once(in: 2): request.validate { _ in }
        case 9: request.onRequestCreation { _ in }
        default: cancel(random.once(in: 2) ? .requestCancelled : RequestError(.timedOut, "the time is over"))
        }
    }

    private func attach(_ slot: consuming SerializerSlot) -> Int {
        let startsAutomatically = !random.once(in: 3)
        let (index, action) = core.box.withLock { [slot] in
            let (index, action) = $0.attach(slot, startsAutomatically: startsAutomatically)
            return (index, action)
        }
        switch action {
        case .none, .keep: break
        case .run: begin()
        case .workLate:
            lateWorker = .between
            met.insert(.lateWork)
        case .takeUpHop: isTakenUpApart = true
        }
        return index
    }

    private var job: SerializerJob {
        random.once(in: 4)
            ? SerializerJob(DataResponseSerializer(), requestID: request.id)
            : SerializerJob(prompt: DataResponseSerializer(), requestID: request.id)
    }

    private func attachClosure() {
        let number = attached.count
        attached.append(number)
        let closures = closures
        _ = attach(SerializerSlot(job: job) { _ in closures.note(number) })
    }

    private func attachAwaiter() {
        let slot = attach(SerializerSlot(job: job))
        let number = core.box.withLock { $0.nextWaiterNumber() }
        let awaiter = PlayedAwaiter(slot: slot, number: number, log: awaited)
        awaiters.append(awaiter)
        ask(awaiter)
    }

    /// The awaiter asks for its response, and waits if there is none.
    private func ask(_ awaiter: PlayedAwaiter) {
        switch core.box.withLock({ $0.answer((awaiter.number, awaiter.continuation), in: awaiter.slot) }) {
        case nil: break
        case .ready: awaiter.continuation.resume(returning: .ready)
        case .takeUpHop: takers.append(awaiter)
        case .cancelled: faults.append("an awaiter that was not cancelled was told so")
        }
    }

    /// A slot without a closure, which is answered before its time.
    private func withdraw() {
        let job = job
        let slot = attach(SerializerSlot(job: job))
        let response = job.fail(CompletedExchange(), .requestCancelled)
        core.box.withLock { $0.queue[slot].withdraw(with: response) }?()
    }

    private func cancel(_ reason: RequestError) {
        switch core.box.withLock({ $0.cancel(reason) }) {
        case .none: return
        case .takeOver(_, let task, _):
            task?.cancel()
            unwinder = .between
        case .cancelHop(let task): task?.cancel()
        case .takeUpHop: isTakenUpApart = true
        }
        met.insert(.cancel)
    }

    // MARK: The machine

    private func begin() {
        let session = pipeline.session
        core.box.withLock { if $0.session == nil { $0.keep(session) } }
        machine = .ready(.now(.begin))
    }

    private func stepMachine(_ next: RequestPipeline.Next) async {
        do throws(RequestCore.Exit) {
            switch next {
            case .now(let step):
                machine = .ready(try pipeline.next(step))
                if core.read({ $0.attemptCount > 1 }) { met.insert(.retry) }
            case .later(let work):
                met.insert(.asynchronousWork)
                machine = .ready(try await work())
            case .wait(let request, _, let loop):
                if request.url.path != "/" { met.insert(.redirect) }
                try beginHop(request, loop)
            case .listen: faults.append("a request without a receiver listens to a body")
            case .done: machine = .over
            }
        } catch {
            machine = .over
            if case .unwind = error { unwinder = .between }
        }
    }

    private func beginHop(_ request: OutgoingRequest, _ loop: RequestPipeline.HopLoop) throws(RequestCore.Exit) {
        let waiter = random.once(in: 2) ? HopProgress.Waiter.deliveringThread : .pipeline(continuation)
        try core.obey(core.beginHop(request, for: pipeline.session, waiter))
        guard let task = core.read({ $0.hop?.task as? PlayedTask }) else { return faults.append("no hop was begun") }
        machine = .waiting(task, loop)
    }

    // MARK: The transport

    private func stepTransport(_ task: PlayedTask, _ loop: RequestPipeline.HopLoop) {
        if task.isCancelled.isRaised { return complete(task, loop, .cancelled) }
        switch Int.random(in: 0..<6, using: &random) {
        case 0: receive(.head(ResponseHead(status: 200)), task)
        case 1:
            let refusal = ResponseHead(status: 503)
            pages += 1
            let redirect = ResponseHead(status: 302, fields: [HTTPHeader(name: "Location", value: "/\(pages)")])
            receive(.head(random.once(in: 2) ? refusal : redirect), task)
        case 2: receive(.body(Data([1])), task)
        case 3: _ = core.box.withLock { $0.receive(.body(Data([1])), for: TransportTaskID(0)) }  // of another hop
        default: complete(task, loop, random.once(in: 3) ? TransportError(.connectionLost) : nil)
        }
    }

    private func receive(_ event: TransportEvent, _ task: PlayedTask) {
        switch core.box.withLock({ $0.receive(event, for: task.id) }) {
        case .none, .allowAll: break
        case .fill, .endHop, .reportUpload, .complete, .endBody, .resume, .leave:
            faults.append("the head or a byte of a body asked for an action")
        }
    }

    private func complete(_ task: PlayedTask, _ loop: RequestPipeline.HopLoop, _ error: TransportError?) {
        switch core.box.withLock({ $0.receive(.completed(error), for: task.id) }) {
        case .complete(_, let outcome, _):
            met.insert(.endInTask)
            machine = .ready(.now(.judge(outcome, loop)))
        case .resume(let outcome, _, _):
            met.insert(.endWithoutTask)
            machine = .ready(.now(.judge(outcome, loop)))
        case .leave:
            guard let awaiter = awaiters.first(where: { $0.slot == 0 }) else {
                return faults.append("a hop was left to an awaiter, and none waits")
            }
            machine = .left(loop)
            takers.append(awaiter)
            wishes += Int.random(in: 0...2, using: &random)
        case .none, .fill, .endHop, .reportUpload, .allowAll, .endBody: faults.append("the end of a hop was not taken")
        }
    }

    /// Goes on with a hop that was left to an awaiter.
    private func takeUp(by awaiter: PlayedAwaiter?) {
        let left = core.box.withLock { $0.takeUpHop() }
        if awaiter == nil { isTakenUpApart = false }
        if let (exchange, _, _) = left, case .left(let loop) = machine {
            met.insert(awaiter == nil ? .otherTakesUp : .awaiterTakesUp)
            machine = .ready(.now(.judge(.ended(exchange), loop)))
        }
        if let awaiter { ask(awaiter) }
    }

    // MARK: Ends, and late callers

    private func stepUnwinder() {
        let exchange = core.read { $0.cancelledExchange }
        if case .running(let slot) = unwinder {
            core.hold(job.fail(exchange, .requestCancelled), in: slot, during: .unwinding)
            unwinder = .between
        }
        switch core.nextWork(finishingBy: .finishUnwinding, with: exchange) {
        case .serialize(let slot, _, _): unwinder = .running(slot)
        case .finished(let calls):
            unwinder = .absent
            if calls { callsHandlers = true }
        case .abandon, .needsTask:
            faults.append("the one who unwinds was told to give up")
            unwinder = .absent
        }
    }

    private func stepLateWorker() {
        if case .running(let slot) = lateWorker {
            core.hold(job.fail(CompletedExchange(), .requestCancelled), in: slot, during: .finished)
            core.box.withLock { $0.queue.deliverHeld() }.forEach { $0() }
        }
        if let next = core.box.withLock({ $0.queue.nextLate() }) {
            lateWorker = .running(next.slot)
        } else {
            lateWorker = .absent
            if core.box.withLock({ $0.queue.beginHandlers() }) { callsHandlers = true }
        }
    }

    private func callHandlers() async {
        if let next = core.box.withLock({ $0.queue.nextHandlers() }) {
            for call in next { await call.handler(call.response) }
        } else {
            callsHandlers = false
        }
    }
}
