import CTestWidth
import LarkspurCache
import TestSupport
import Testing

/// A random schedule of up to eight readers and of the tasks that the base makes for them.
private struct Schedule {
    let stage: SharingStage
    var dice: Dice
    var readers: [CheckedReader] = []
    /// The readers that were cancelled.
    var cancelled: Set<Int> = []
    var baseFails = false
    let mayVanish: Bool

    init(seed: Int) {
        dice = Dice(seed)
        mayVanish = dice.roll(4) == 0
        stage = mayVanish ? SharingStage(limit: 2_500, entry: 1_200) : SharingStage()
    }

    mutating func run() throws {
        for _ in 0..<(20 + dice.roll(60)) { try step() }
        try drain()
    }

    private mutating func step() throws {
        switch dice.roll(10) {
        case 0, 1: if readers.count < 8 { try addReader() }
        case 2, 3, 4: if let index = anyReader() { control(index, dice.roll(40)) }
        default: playBase()
        }
    }

    private mutating func anyReader() -> Int? { readers.isEmpty ? nil : dice.roll(readers.count) }

    private mutating func addReader() throws {
        let allowed = [UInt64.max, .max, 0, 30][dice.roll(4)]
        var instructions = CacheInstructions()
        if dice.roll(6) == 0 { instructions.draft = CacheDraftBox() }
        if dice.roll(12) == 0 { instructions.policy = .reload }
        let language = [("Accept-Language", dice.roll(4) == 0 ? "de" : "en")]
        // Sometimes the reader controls its task from inside an event.
        let (inside, seed) = (dice.roll(3) == 0, dice.roll(1_000_000))
        let random = Protected(Dice(seed))
        let reader = try stage.reader(
            language, allowed: allowed, instructions: instructions,
            hook: { reader in
                guard inside else { return }
                switch random.withLock({ $0.roll(12) }) {
                case 0: reader.suspend()
                case 1: reader.resume()
                case 2, 3: reader.allow(upTo: reader.record.allowed.addingReportingOverflow(20).partialValue)
                default: break
                }
            })
        readers.append(reader)
        if dice.roll(5) > 0 { reader.resume() }
    }

    private mutating func control(_ index: Int, _ choice: Int) {
        let reader = readers[index]
        switch choice {
        case 0..<12: reader.resume()
        case 12..<22: reader.suspend()
        case 22..<37: reader.allow(upTo: UInt64(reader.record.body.count + dice.roll(60)))
        default:
            cancelled.insert(index)
            reader.cancel()
        }
    }

    private mutating func playBase() {
        let open = stage.base.tasks.filter { !$0.hasEnded && $0.state.isResumed }
        guard !open.isEmpty else { return }
        play(open[dice.roll(open.count)], mayFail: true)
    }

    private mutating func play(_ task: ScriptedTask, mayFail: Bool) {
        guard task.state.hasHead else {
            if task.state.isWaiting {
                if mayFail, dice.roll(8) == 0 {
                    baseFails = true
                    return task.end(TransportError(.truncated))
                }
                return task.wait(false)
            }
            if mayFail, dice.roll(3) == 0 { return task.wait(true) }
            let control = ["max-age=60", "max-age=60", "max-age=60", "no-store"][dice.roll(4)]
            return task.head(
                200, [("Cache-Control", control)] + (dice.roll(3) == 0 ? [("Vary", "Accept-Language")] : []))
        }
        if task.state.delivered >= 200 { return task.end() }
        if mayFail, dice.roll(60) == 0 {
            baseFails = true
            return task.end(TransportError(.truncated))
        }
        // The buffers end exactly at the length of the body.
        task.body(min(1 + dice.roll(40), Int(200 - task.state.delivered)))
    }

    /// Lets everything end.
    private mutating func drain() throws {
        for _ in 0..<1_000 {
            for reader in readers where !reader.hasEnded {
                reader.resume()
                reader.allow(upTo: .max)
            }
            for task in stage.base.tasks where !task.hasEnded && task.state.isResumed { play(task, mayFail: false) }
            if readers.allSatisfy(\.hasEnded) { return }
        }
    }

    /// The violations of the contract, as texts.
    var faults: [String] {
        var faults: [String] = []
        for (index, reader) in readers.enumerated() {
            let record = reader.record
            faults += record.faults.map { "reader \(index): \($0)" }
            if record.ends != 1 { faults.append("reader \(index): \(record.ends) ends") }
            if record.body != ScriptedTask.bytes(0, record.body.count) { faults.append("reader \(index): wrong bytes") }
            switch record.error?.code {
            case nil: if record.body.count != 200 { faults.append("reader \(index): \(record.body.count) bytes") }
            case .cancelled?: if !cancelled.contains(index) { faults.append("reader \(index): not cancelled") }
            case .truncated?: if !baseFails { faults.append("reader \(index): no failure of the base") }
            case .connectionLost?: if !mayVanish { faults.append("reader \(index): bytes have vanished") }
            case let code?: faults.append("reader \(index): \(code)")
            }
        }
        if let open = stage.base.tasks.firstIndex(where: { !$0.hasEnded }) {
            faults.append("task \(open) has not ended")
        }
        return faults
    }
}

@Suite("Random schedules of readers that share exchanges", .limited)
struct SharingScheduleTests {
    @Test("T1 to T18 hold for each reader in any order of joins, cancels, pauses, allowances and events of the base")
    func schedules() throws {
        var shared = 0
        let count = Int(test_rounds(1_000, 10_000))
        for seed in 1...count {
            var schedule = Schedule(seed: seed)
            try schedule.run()
            let faults = schedule.faults
            if !faults.isEmpty {
                Issue.record("seed \(seed): \(faults)")
                return
            }
            shared += schedule.readers.count > schedule.stage.base.tasks.count ? 1 : 0
        }
        #expect(shared > count / 10, "the schedules share exchanges")
    }

    @Test("Threads that join, control and leave at the same time break no rule")
    func threads() async throws {
        for round in 0..<Int(test_rounds(60, 600)) {
            let stage = SharingStage()
            let readers = try (0..<8).map { _ in try stage.reader() }
            let isDone = Protected(false)
            await withTaskGroup(of: Void.self) { group in
                for (index, reader) in readers.enumerated() {
                    group.addTask {
                        var dice = Dice(round * 100 + index)
                        reader.resume()
                        for _ in 0..<20 {
                            if dice.roll(4) == 0 { reader.suspendLoosely() } else { reader.resume() }
                            await Task.yield()
                        }
                        if dice.roll(3) == 0 { reader.cancel() }
                        reader.resume()
                        await poll { reader.hasEnded }
                    }
                }
                group.addTask {
                    await poll {
                        for _ in 0..<20 {
                            for task in stage.base.tasks where !task.hasEnded && task.state.isResumed {
                                if !task.state.hasHead { task.head(200, fresh) }
                                if task.state.delivered < 500 { task.body(10) } else { task.end() }
                            }
                            await Task.yield()
                        }
                        return isDone.withLock { $0 }
                    }
                }
                for _ in readers { await group.next() }
                isDone.withLock { $0 = true }
            }
            for reader in readers {
                let record = reader.record
                #expect(record.faults.isEmpty && record.ends == 1, "round \(round): \(record.faults)")
                #expect(record.body == ScriptedTask.bytes(0, record.body.count))
                #expect(record.error?.code == .cancelled || record.error == nil && record.body.count == 500)
            }
        }
    }
}
