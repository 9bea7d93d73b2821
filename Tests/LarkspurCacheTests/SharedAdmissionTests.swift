import LarkspurCache
import TestSupport
import Testing

@Suite("Shared exchanges that wait for an admission", .limited)
struct SharedAdmissionTests {
    @Test("A request that joins while the exchange waits, waits with it")
    func joined() throws {
        let stage = SharingStage()
        let first = try stage.readers(1)[0]
        let task = try stage.task()
        task.wait(true)
        let second = try stage.readers(1)[0]
        #expect(first.record.waits == [true] && second.record.waits == [true])
        task.wait(false)
        let third = try stage.readers(1)[0]
        task.head(200, fresh)
        task.body(10)
        task.end()
        #expect(first.record.waits == [true, false] && second.record.waits == [true, false])
        #expect(third.record.waits == [])
        #expect([first, second, third].allSatisfy { $0.ended(nil, 10) } && stage.base.tasks.count == 1)
    }

    @Test("A request that joins while the exchange is being admitted learns of both in order")
    func admittedMeanwhile() throws {
        let stage = SharingStage()
        let first = try stage.readers(1)[0]
        let task = try stage.task()
        task.wait(true)
        let second = try stage.reader(hook: { reader in
            if reader.record.waits == [true] { task.wait(false) }
        })
        second.resume()
        #expect(second.record.waits == [true, false])
        task.head(200, fresh)
        task.end()
        #expect(first.ended(nil, 0) && second.ended(nil, 0) && stage.base.tasks.count == 1)
    }

    @Test("A request that cannot join any more does not stay in the state of waiting", arguments: [false, true])
    func endedMeanwhile(isSeated: Bool) throws {
        let stage = SharingStage()
        let first = try stage.readers(1)[0]
        let task = try stage.task()
        task.wait(true)
        let second = try stage.reader(hook: { reader in
            if !isSeated, reader.record.waits == [true] { task.end(.cancelled) }
        })
        second.resume()
        if isSeated { task.end(.cancelled) }
        #expect(first.ended(.cancelled, 0))
        #expect(second.record.waits == [true, false])
        let next = try stage.task(1)
        next.head(200, fresh)
        next.body(10)
        next.end()
        #expect(second.ended(nil, 10))
    }

    @Test("A request that is cancelled while it learns that it waits ends after that", arguments: [false, true])
    func cancelledInside(isSeated: Bool) throws {
        let stage = SharingStage()
        let first = try stage.readers(1)[0]
        let task = try stage.task()
        if !isSeated { task.wait(true) }
        let second = try stage.reader(hook: { reader in
            if reader.record.waits == [true] { reader.cancel() }
        })
        second.resume()
        if isSeated { task.wait(true) }
        #expect(second.ended(.cancelled, 0))
        task.wait(false)
        task.head(200, fresh)
        task.end()
        #expect(first.ended(nil, 0))
    }

    @Test("A request that is cancelled while it learns that it is sent alone sends nothing and ends")
    func cancelledBeforeItGoesOn() throws {
        let stage = SharingStage()
        let first = try stage.readers(1)[0]
        let task = try stage.task()
        task.wait(true)
        let second = try stage.reader(hook: { reader in
            if reader.record.waits == [true, false] { reader.cancel() }
        })
        second.resume()
        task.end(.cancelled)
        #expect(first.ended(.cancelled, 0))
        #expect(second.ended(.cancelled, 0) && stage.base.tasks.count == 1)
    }
}
