import LarkspurCache
import TestSupport
import Testing

@Suite("Requests that must not share an exchange", .limited)
struct UnsharedResponseTests {
    @Test(
        "If the response is for one request alone, all others are sent at once",
        arguments: [
            "no-store", "max-age=0", "no-cache", "private, no-cache=\"Set-Cookie\", max-age=0", "",
        ])
    func alone(control: String) throws {
        let stage = SharingStage()
        let readers = try stage.readers(10)
        #expect(stage.base.tasks.count == 1)
        try stage.task().head(200, [("Cache-Control", control)])
        #expect(stage.base.tasks.count == 10, "no request waits for the body")
        for task in stage.base.tasks.dropFirst() { task.head(200, [("Cache-Control", control)]) }
        for task in stage.base.tasks {
            task.body(10)
            task.end()
        }
        #expect(readers.allSatisfy { $0.ended(nil, 10) && $0.record.outcome == .miss })
        #expect(stage.base.tasks.count == 10)
    }

    @Test("A response that is not stored loses no bytes if its reader is slow and others have joined and left")
    func slowAlone() throws {
        let stage = SharingStage()
        let slow = try stage.reader(allowed: 10)
        slow.resume()
        _ = try stage.readers(3)
        let task = try stage.task()
        slow.suspend()
        task.head(200, [("Cache-Control", "no-store")])
        slow.resume()
        for _ in 0..<4 { task.body(10) }
        #expect(slow.record.body.count <= 20 && slow.record.faults.isEmpty)
        slow.allow(upTo: .max)
        for _ in 0..<4 { task.body(10) }
        task.end()
        #expect(slow.ended(nil, Int(task.state.delivered)) && task.state.delivered > 20)
    }

    @Test("A request with other fields that the response varies with is sent by itself")
    func varying() throws {
        let stage = SharingStage()
        let english = try stage.readers(3, [("Accept-Language", "en")])
        let german = try stage.readers(2, [("Accept-Language", "de")])
        #expect(stage.base.tasks.count == 1)
        try stage.task().head(200, fresh + [("Vary", "Accept-Language")])
        #expect(stage.base.tasks.count == 3)
        #expect(try stage.task(1).request.fields.map(\.value) == ["de"])
        for task in stage.base.tasks {
            if !task.state.hasHead { task.head(200, fresh + [("Vary", "Accept-Language")]) }
            task.body(10)
            task.end()
        }
        #expect((english + german).allSatisfy { $0.ended(nil, 10) })
        #expect(english[1].record.outcome == .hit(age: .zero) && german[1].record.outcome == .miss)
        #expect(stage.store.usage.entries == 2)
    }

    @Test("Another party, another policy, another method or a condition never joins")
    func strangers() throws {
        let stage = SharingStage()
        _ = try stage.readers(1)
        var others = try [
            stage.reader([("Authorization", "Bearer b")]), stage.reader([("X-API-Key", "b")]),
            stage.reader([("If-None-Match", "\"a\"")]), stage.reader([("Range", "bytes=0-1")]),
            stage.reader([("Cache-Control", "no-store")]), stage.reader([("Cache-Control", "no-cache")]),
            stage.reader(method: "HEAD"), stage.reader(change: { $0.version = .http1 }),
            stage.reader(change: { $0.asksForTrust = true }), stage.reader(change: { $0.timeouts.idle = .seconds(1) }),
        ]
        for policy in [CachePolicy.reload, .revalidate, .bypass] {
            others.append(try stage.reader(change: { $0.cache?.policy = policy }))
        }
        others.append(try stage.reader(change: { $0.cache?.isRepeated = true }))
        others.append(try stage.reader(change: { $0.cache?.trust = "pins" }))
        for (index, other) in others.enumerated() {
            other.resume()
            #expect(stage.base.tasks.count == index + 2)
        }
        let equal = try stage.reader(change: { $0.timeouts.total = .seconds(1) })
        equal.resume()
        #expect(stage.base.tasks.count == others.count + 1, "the rest of a request's time is its own")
    }

    @Test("A GET after an unsafe request does not join a GET from before it, and the next ones join the newer GET")
    func overtaken() throws {
        let stage = SharingStage()
        let old = try stage.readers(2)
        let put = try stage.reader(method: "PUT")
        put.resume()
        try stage.task(1).head(204)
        try stage.task(1).end()
        let new = try stage.readers(2)
        #expect(stage.base.tasks.count == 3)
        try stage.task(2).head(200, fresh)
        try stage.task(2).end()
        #expect(new.allSatisfy { $0.ended(nil, 0) })
        try stage.task(0).head(200, fresh)
        try stage.task(0).body(10)
        try stage.task(0).end()
        #expect(old[0].ended(nil, 10) && !old[1].hasEnded, "the old response is not stored, so it is not shared")
        try stage.task(3).head(200, fresh)
        try stage.task(3).end()
        #expect(old[1].ended(nil, 0) && stage.base.tasks.count == 4)
    }

    @Test("Without coalescing, each GET is sent")
    func turnedOff() throws {
        var options = HTTPCache.Options()
        options.coalescesMisses = false
        let stage = SharingStage(options)
        _ = try stage.readers(3)
        #expect(stage.base.tasks.count == 3)
    }

    @Test("If the stored bytes vanish, a reader that has nothing sends its own request, and another one fails")
    func vanished() throws {
        let stage = SharingStage(limit: 4_096, entry: 2_048)
        let fast = try stage.readers(1)[0]
        let (tight, suspended) = try (stage.reader(allowed: 100), stage.readers(1)[0])
        tight.resume()
        suspended.suspend()
        let task = try stage.task()
        task.head(200, fresh)
        for _ in 0..<40 { task.body(100) }
        let late = try stage.readers(1)[0]
        #expect(stage.base.tasks.count == 2, "the late reader sends its own request")
        tight.allow(upTo: .max)
        let error = tight.record.error
        #expect(tight.ended(.connectionLost, 100) && error?.phase == .receiving)
        suspended.resume()
        #expect(stage.base.tasks.count == 3)
        for task in stage.base.tasks {
            if !task.state.hasHead { task.head(200, fresh) }
            task.end()
        }
        #expect(fast.ended(nil, 4_000) && late.ended(nil, 0) && suspended.ended(nil, 0))
    }

    @Test(
        "A reader is asked about the server's certificates, another one if it has left; a refusal is the owner's alone")
    func trust() throws {
        let stage = SharingStage()
        let peer = PeerTrust(host: "h", port: 443, certificates: [])
        let asked = Protected<[Int]>([])
        let readers = try (0..<3).map { number in
            try stage.reader(
                reply: { question in
                    asked.withLock { $0.append(number) }
                    if number > 0, case .serverTrust(_, let reply) = question { reply(.trusted) }
                }, change: { $0.asksForTrust = true })
        }
        for reader in readers { reader.resume() }
        let first = TransportReply<TrustDecision>()
        try stage.task().ask(.serverTrust(peer, first))
        #expect(first.value == .trusted && asked.withLock { $0 } == [0, 1])
        readers[0].cancel()
        readers[1].cancel()
        let second = TransportReply<TrustDecision>()
        try stage.task().ask(.serverTrust(peer, second))
        #expect(second.value == .trusted && asked.withLock { $0 } == [0, 1, 2])
        let waiting = try stage.reader(change: { $0.asksForTrust = true })
        waiting.resume()
        #expect(stage.base.tasks.count == 1)
        let third = TransportReply<TrustDecision>()
        readers[2].cancel()
        try stage.task().ask(.serverTrust(peer, third))
        #expect(third.value == nil)
        try stage.task().end(TransportError(.untrusted))
        #expect(stage.base.tasks.count == 2 && !waiting.hasEnded, "each request must be asked itself")
        try stage.task(1).end(TransportError(.untrusted))
        #expect(waiting.ended(.untrusted, 0))
        let trusting = try (0..<2).map { _ in
            try stage.reader(
                reply: { question in
                    if case .serverTrust(_, let reply) = question { reply(.trusted) }
                }, change: { $0.asksForTrust = true })
        }
        for reader in trusting { reader.resume() }
        try stage.task(2).ask(.serverTrust(peer, TransportReply<TrustDecision>()))
        try stage.task(2).end(TransportError(.connectionLost))
        #expect(trusting.allSatisfy { $0.ended(.connectionLost, 0) } && stage.base.tasks.count == 3)
    }

    @Test("A validation is shared: the others get the confirmed response if it is fresh, or one in place of a failure")
    func validation() throws {
        let stage = SharingStage()
        _ = try stage.readers(1)
        let fields = [("ETag", "\"a\""), ("Cache-Control", "max-age=60, stale-if-error=600")]
        try stage.task().head(200, fields)
        try stage.task().body(10)
        try stage.task().end()
        stage.time.withLock { $0 += 100 }
        let readers = try stage.readers(3)
        #expect(stage.base.tasks.count == 2)
        try stage.task(1).head(304, fields)
        try stage.task(1).end()
        #expect(readers.allSatisfy { $0.ended(nil, 10) } && readers[0].record.outcome == .revalidated)
        #expect(readers[1].record.outcome == .hit(age: .zero))
        stage.time.withLock { $0 += 100 }
        let offline = try stage.readers(3)
        try stage.task(2).end(TransportError(.unreachable))
        #expect(offline.allSatisfy { $0.ended(nil, 10) && $0.record.outcome == .stale(because: .failed(.unreachable)) })
        let failing = try stage.readers(3)
        try stage.task(3).head(503)
        #expect(failing.allSatisfy { $0.ended(nil, 10) && $0.record.outcome == .stale(because: .status(503)) })
        let changed = try stage.readers(3)
        try stage.task(4).head(304, [("ETag", "\"b\"")])
        try stage.task(4).end()
        #expect(stage.base.tasks.count == 8, "the response is another one, so each request is sent")
        for task in stage.base.tasks.dropFirst(5) {
            task.head(200)
            task.end()
        }
        #expect(changed.allSatisfy { $0.ended(nil, 0) })
    }

    @Test("A draft that its request never takes keeps nothing alive")
    func forgottenDraft() throws {
        func forget() throws -> WeakBox {
            let (stage, box) = (SharingStage(), CacheDraftBox())
            var instructions = CacheInstructions()
            instructions.draft = box
            let reader = try stage.reader(instructions: instructions)
            reader.resume()
            let task = try stage.task()
            task.head(200, fresh)
            task.body(10)
            task.end()
            #expect(reader.ended(nil, 10))
            return WeakBox(box: box)
        }
        #expect(try forget().box == nil)
    }
}

private struct WeakBox {
    weak var box: CacheDraftBox?
}
