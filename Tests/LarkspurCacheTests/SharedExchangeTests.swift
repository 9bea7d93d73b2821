import LarkspurCache
import TestSupport
import Testing

@Suite("Equal requests that share one exchange", .limited)
struct SharedExchangeTests {
    @Test("A hundred equal GETs at once are one exchange; the others get its response as a hit")
    func hundred() throws {
        let stage = SharingStage()
        let readers = try stage.readers(100)
        #expect(stage.base.tasks.count == 1)
        let task = try stage.task()
        task.head(200, fresh + [("Set-Cookie", "a=1"), ("Content-Length", "30")])
        for _ in 0..<3 { task.body(10) }
        task.end()
        #expect(readers.allSatisfy { $0.ended(nil, 30) })
        #expect(readers[0].record.outcome == .miss && readers[0].record.head?["Set-Cookie"] == "a=1")
        for other in readers.dropFirst() {
            #expect(other.record.outcome == .hit(age: .zero) && other.record.head?["Age"] == "0")
            #expect(other.record.head?["Set-Cookie"] == nil, "the cookie is for the request that was sent")
        }
        #expect(stage.cache.statistics.misses == 1 && stage.cache.statistics.hits == 99)
        #expect(stage.store.usage.entries == 1)
        let later = try stage.readers(1)[0]
        #expect(later.ended(nil, 30) && stage.base.tasks.count == 1)
    }

    @Test("A GET that comes after the head, or after a part of the body, gets the whole response")
    func late() throws {
        let stage = SharingStage()
        let first = try stage.readers(1)[0]
        let task = try stage.task()
        task.head(200, fresh)
        let second = try stage.readers(1)[0]
        task.body(10)
        let third = try stage.readers(1)[0]
        #expect(third.record.body.count == 10)
        task.body(5)
        task.end()
        #expect([first, second, third].allSatisfy { $0.ended(nil, 15) } && stage.base.tasks.count == 1)
    }

    @Test("A reader that is suspended while the base's task is being resumed suspends that task")
    func suspendedDuringStart() throws {
        let stage = SharingStage()
        let reader = try stage.reader()
        stage.base.willResume.withLock { $0 = { reader.suspend() } }
        reader.resume()
        #expect(try stage.task().state.isSuspended)
        reader.resume()
        #expect(try !stage.task().state.isSuspended)
    }

    @Test("A suspended reader holds up neither the others nor the base, and reads its bytes later")
    func slow() throws {
        let stage = SharingStage()
        let readers = try stage.readers(3)
        let tight = try stage.reader(allowed: 0)
        tight.resume()
        let task = try stage.task()
        readers[0].suspend()
        task.head(200, fresh)
        for _ in 0..<20 { task.body(10) }
        #expect(task.state.delivered == 200)
        task.end()
        #expect(readers[1].ended(nil, 200) && readers[2].ended(nil, 200))
        #expect(readers[0].record.head == nil && readers[0].record.body.isEmpty)
        #expect(tight.record.head != nil && tight.record.body.isEmpty)
        #expect(stage.store.usage.entries == 1, "the entry does not wait for a slow reader")
        readers[0].resume()
        #expect(readers[0].ended(nil, 200))
        tight.allow(upTo: .max)
        #expect(tight.ended(nil, 200))
    }

    @Test("The base is as fast as the fastest reader, and pauses if no reader wants more")
    func pace() throws {
        let stage = SharingStage()
        let first = try stage.reader(allowed: 10)
        first.resume()
        let task = try stage.task()
        #expect(task.state.allowed == 10)
        let second = try stage.reader(allowed: 40)
        second.resume()
        #expect(task.state.allowed == 40)
        task.head(200, fresh)
        for _ in 0..<9 { task.body(10) }
        #expect(task.state.delivered == 40 && first.record.body.count == 10 && second.record.body.count == 40)
        second.suspend()
        #expect(task.isRunning, "the first reader may want more")
        first.suspend()
        #expect(!task.isRunning)
        second.allow(upTo: .max)
        first.resume()
        task.body(10)
        #expect(!task.isRunning, "the only reader that is not suspended allows less than was received")
        first.allow(upTo: 60)
        #expect(task.isRunning)
        task.body(10)
        task.body(10)
        second.resume()
        first.allow(upTo: .max)
        task.end()
        #expect(first.ended(nil, 70) && second.ended(nil, 70))
    }

    @Test(
        "If the request that was sent is cancelled, the others get the response, and it is stored",
        arguments: [0, 1, 2])
    func leaderCancelled(stepsBefore: Int) throws {
        let stage = SharingStage()
        let readers = try stage.readers(3)
        let task = try stage.task()
        if stepsBefore > 0 { task.head(200, fresh) }
        if stepsBefore > 1 { task.body(10) }
        readers[0].cancel()
        #expect(readers[0].ended(.cancelled, stepsBefore > 1 ? 10 : 0) && !task.hasEnded)
        if stepsBefore == 0 { task.head(200, fresh) }
        if stepsBefore < 2 { task.body(10) }
        task.body(10)
        task.end()
        #expect(readers[1].ended(nil, 20) && readers[2].ended(nil, 20) && stage.store.usage.entries == 1)
    }

    @Test("The response is not stored if a handler has to decide and its request has ended")
    func leaderWithHandler() throws {
        let stage = SharingStage()
        var instructions = CacheInstructions()
        instructions.draft = CacheDraftBox()
        let leader = try stage.reader(instructions: instructions)
        leader.resume()
        let follower = try stage.readers(1)[0]
        let task = try stage.task()
        task.head(200, fresh)
        leader.cancel()
        task.body(10)
        task.end()
        #expect(follower.ended(nil, 10) && instructions.draft?.take() == nil && stage.store.usage.entries == 0)
    }

    @Test("A slow reader gets all bytes, also if a handler drops or changes the stored response")
    func handlers() throws {
        for isDropped in [true, false] {
            let stage = SharingStage()
            var instructions = CacheInstructions()
            instructions.draft = CacheDraftBox()
            let leader = try stage.reader(instructions: instructions)
            leader.resume()
            let slow = try stage.reader(allowed: 5)
            slow.resume()
            let task = try stage.task()
            task.head(200, fresh)
            for _ in 0..<4 { task.body(5) }
            task.end()
            let draft = try #require(instructions.draft?.take())
            if isDropped { draft.drop() } else { draft.commit(head: nil, body: Data("other".utf8)) }
            slow.allow(upTo: .max)
            #expect(slow.ended(nil, 20))
            #expect(stage.store.usage.entries == (isDropped ? 0 : 1))
        }
    }

    @Test("The exchange ends when the last reader has left, and its bytes are no longer reserved")
    func allCancelled() throws {
        let stage = SharingStage(limit: 10_000, entry: 8_000)
        let readers = try stage.readers(5)
        let task = try stage.task()
        task.head(200, fresh + [("Content-Length", "7000")])
        task.body(10)
        for reader in readers.dropLast() { reader.cancel() }
        #expect(!task.hasEnded)
        readers.last?.cancel()
        #expect(task.hasEnded && readers.allSatisfy { $0.ended(.cancelled, 10) })
        let next = try stage.readers(1)[0]
        let second = try stage.task(1)
        second.head(200, fresh + [("Content-Length", "7000")])
        second.body(7_000)
        second.end()
        #expect(next.ended(nil, 7_000) && stage.store.usage.entries == 1)
    }

    @Test("An error goes to all readers, whatever they have received")
    func failure() throws {
        for withHead in [false, true] {
            let stage = SharingStage()
            let readers = try stage.readers(4)
            let task = try stage.task()
            readers[3].suspend()
            if withHead {
                task.head(200, fresh)
                task.body(10)
            }
            task.end(TransportError(.connectionLost))
            #expect(readers.prefix(3).allSatisfy { $0.ended(.connectionLost, withHead ? 10 : 0) })
            #expect(readers[3].ended(.connectionLost, 0))
            #expect(stage.store.usage.entries == 0 && stage.base.tasks.count == 1)
        }
    }

    @Test("invalidate() ends the readers of an exchange, and slow ones after its end")
    func invalidated() throws {
        let stage = SharingStage()
        let early = try stage.readers(2)
        stage.transport.invalidate()
        #expect(early.allSatisfy { $0.ended(.invalidated, 0) })
        let other = SharingStage()
        let readers = try other.readers(2)
        readers[1].suspend()
        let task = try other.task()
        task.head(200, fresh)
        task.body(10)
        task.end()
        other.transport.invalidate()
        #expect(readers[0].ended(nil, 10) && readers[1].ended(.invalidated, 0))
    }

    @Test("A late response to a HEAD does not change a newer entry", arguments: [false, true])
    func lateHead(afterUnsafe: Bool) throws {
        let stage = SharingStage()
        let head = try stage.reader(method: "HEAD")
        head.resume()
        if afterUnsafe {
            let put = try stage.reader(method: "PUT")
            put.resume()
            try stage.task(1).head(204)
            try stage.task(1).end()
        } else {
            stage.time.withLock { $0 += 1 }
        }
        let get = try stage.readers(1)[0]
        let task = try #require(stage.base.tasks.last)
        task.head(200, fresh + [("Version", "new")])
        task.body(10)
        task.end()
        try stage.task(0).head(200, [("Cache-Control", "max-age=6000"), ("Version", "old")])
        try stage.task(0).end()
        #expect(get.ended(nil, 10) && head.ended(nil, 0))
        stage.time.withLock { $0 += 10 }
        let later = try stage.readers(1)[0]
        #expect(later.ended(nil, 10) && later.record.head?["Version"] == "new")
        #expect(later.record.head?["Cache-Control"] == "max-age=60")
    }
}
