import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("What a cache promises to requests, handlers and users", .limited)
struct CacheObedienceTests {
    // MARK: Only from the cache

    private func response(
        _ session: Session, _ target: any RequestTarget, _ policy: CachePolicy
    ) async -> DataResponse<String> {
        let request = await session.request(target)
        request.cachePolicy(policy)
        return await request.serializingString().response
    }

    @Test("No request is sent that may only be answered from the cache, also if the cache takes no part in it")
    func onlyCached() async throws {
        let url = try RequestURL("http://h/")
        let stage = CacheStage { _, _ in .fresh("sent") }
        let body = TransportBody.data(Data("x".utf8))
        let requests: [(HTTPMethod, HTTPHeaders, TransportBody)] = [
            (.post, [:], .none), (.put, [:], body), (.options, [:], .none),
            (.get, ["If-None-Match": "\"a\""], .none), (.get, ["Cache-Control": "no-store"], .none),
        ]
        for (method, headers, body) in requests {
            let target = OutgoingRequest(method: method, url: url, headers: headers, body: body)
            let offline = await response(stage.session, target, .onlyCached)
            #expect(offline.error?.code == .notCached, "\(method) \(headers)")
            var asking = target
            asking.headers.add(name: "Cache-Control", value: "only-if-cached")
            let refused = await response(stage.session, asking, .protocol)
            #expect(refused.head?.status == 504 && refused.cache == .miss, "\(method) \(headers)")
            #expect(stage.log.count == 0)
        }
        let bypassed = await stage.get("http://h/", ["Cache-Control": "only-if-cached"], policy: .bypass)
        #expect(bypassed.value == "sent" && bypassed.cache == .bypassed, "the cache takes no part in it")
    }

    @Test("A WebSocket is not opened for a session whose requests may only be answered from the cache")
    func onlyCachedSocket() async {
        let stage = CacheStage { _, _ in .fresh("sent") }
        let offline = stage.session.extending { $0.options.cachePolicy = .onlyCached }
        let socket = await offline.webSocket("ws://h/")
        let error = await #expect(throws: RequestError.self) {
            for try await _ in socket.messages {}
        }
        #expect(error?.code == .notCached && stage.log.count == 0)
    }

    // MARK: Handlers

    @Test("With a handler, a stale response is validated in the foreground, so that the handler decides")
    func handlerAndBackground() async {
        let stage = CacheStage {
            $0.cachedResponseHandler = .modify { response in
                response.head = ResponseHead(
                    status: response.head.status, fields: response.head.fields.filter { $0.name != "Secret" })
            }
        } answer: { _, number in
            .fresh("\(number)", ["Cache-Control": "max-age=60, stale-while-revalidate=600", "Secret": "s"])
        }
        #expect(await stage.get().value == "1")
        stage.wait(61)
        let second = await stage.get()
        #expect(second.value == "2" && second.cache == .miss && stage.log.count == 2)
        let stored = await stage.get()
        #expect(stored.value == "2" && stored.cache == .hit(age: .zero) && stored.head?["Secret"] == nil)
    }

    @Test("A handler's changes count: Vary selects, no-store stores nothing, and what the server said stays")
    func changedHeads() async {
        func stage(_ more: HTTPHeaders, _ fields: [HTTPHeader]) -> CacheStage {
            CacheStage {
                $0.cachedResponseHandler = .modify { response in
                    response.head = ResponseHead(
                        status: 200, fields: [HTTPHeader(name: "Cache-Control", value: "max-age=60")] + fields)
                }
            } answer: { _, number in
                .fresh("\(number)", more)
            }
        }
        let added = stage([:], [HTTPHeader(name: "Vary", value: "Accept-Language")])
        #expect(await added.get("http://h/", ["Accept-Language": "en"]).value == "1")
        #expect(await added.get("http://h/", ["Accept-Language": "de"]).value == "2")
        #expect(await added.get("http://h/", ["Accept-Language": "en"]).value == "1")
        let lost = stage(["Vary": "Accept-Language", "Set-Cookie": "a=b"], [])
        #expect(await lost.get("http://h/", ["Accept-Language": "en", "Cookie": "a"]).value == "1")
        #expect(await lost.get("http://h/", ["Accept-Language": "de", "Cookie": "a"]).value == "2")
        #expect(await lost.get("http://h/", ["Accept-Language": "en", "Cookie": "c"]).value == "3")
        for field in [HTTPHeader(name: "Cache-Control", value: "no-store"), HTTPHeader(name: "Vary", value: "*")] {
            let refused = stage([:], [field])
            #expect(await refused.get().value == "1")
            #expect(refused.cache.statistics.entryCount == 0, "\(field.name)")
        }
    }

    @Test("A handler's body has its own length, no digest of the other body and no strong tag")
    func changedBodies() async {
        let stage = CacheStage {
            $0.cachedResponseHandler = .modify { $0.body = Data("changed".utf8) }
        } answer: { request, number in
            request.fields.contains { $0.name == "Range" }
                ? .response(206, headers: ["Content-Range": "bytes 0-0/4", "ETag": "\"a\""], chunks: [Data("b".utf8)])
                : request.fields.contains(HTTPHeader(name: "If-None-Match", value: "W/\"a\""))
                    ? .response(304, headers: ["ETag": "\"a\"", "Cache-Control": "max-age=60"])
                    : .fresh(
                        "body",
                        ["ETag": "\"a\"", "Content-Length": "4", "Content-Digest": "sha-256=:x:", "Kept": "1"])
        }
        #expect(await stage.get().value == "body")
        let expected: [CacheOutcome] = [.hit(age: .zero), .revalidated]
        for outcome in expected {
            let stored = await stage.get()
            #expect(stored.value == "changed" && stored.cache == outcome)
            #expect(stored.head?.values(for: "Content-Length") == ["7"] && stored.head?["Content-Digest"] == nil)
            #expect(stored.head?["ETag"] == "W/\"a\"" && stored.head?["Kept"] == "1")
            let part = await stage.get("http://h/", ["Range": "bytes=0-0", "If-Range": "\"a\""])
            #expect(part.value == "b", "parts of two bodies must not be joined")
            stage.wait(60)
        }
    }

    // MARK: Newer responses

    @Test("After a newer response that is not stored, no policy serves the older one")
    func reloaded() async {
        for (status, isKept) in [(200, false), (404, false), (503, true)] {
            let stage = CacheStage { _, number in
                number == 1
                    ? .fresh("old", ["Cache-Control": "max-age=3600"])
                    : .response(status, headers: ["Cache-Control": "no-store"], chunks: [Data("new".utf8)])
            }
            #expect(await stage.get().value == "old")
            #expect(await stage.get(policy: .reload).value == "new")
            #expect(await stage.get().value == (isKept ? "old" : "new"), "\(status)")
        }
    }

    @Test("After a newer response that outgrows the store, no policy serves the older one")
    func outgrown() async {
        for policy in [CachePolicy.reload, .revalidate, .protocol] {
            let large = Data(repeating: 7, count: 200_000)
            let stage = CacheStage { _, number in
                number == 1
                    ? .fresh("old", ["ETag": "\"a\""])
                    : .response(
                        headers: ["Cache-Control": "max-age=60", "Transfer-Encoding": "chunked"],
                        chunks: Array(repeating: large, count: 6))
            }
            #expect(await stage.get().value == "old")
            if policy == .protocol { stage.wait(60) }
            #expect(await stage.get(policy: policy).value?.utf8.count == 1_200_000)
            #expect(await stage.get(policy: .onlyCached).error?.code == .notCached, "\(policy)")
        }
    }

    @Test("A reload on disk removes the older response before the next request looks for it")
    func reloadedOnDisk() async throws {
        let folder = try TemporaryFolder()
        let session = TransportLog().session(SessionConfiguration { $0.cache = .onDisk(at: folder.url) }) { _, number in
            number == 1 ? .fresh("old") : .response(headers: ["Cache-Control": "no-store"], chunks: [Data("new".utf8)])
        }
        for (policy, expected) in [
            (.protocol, "old"), (.protocol, "old"), (.reload, "new"), (.protocol, "new"),
        ] as [(CachePolicy, String)] {
            let value = await response(session, "http://h/", policy).value
            #expect(value == expected, "\(policy)")
        }
    }

    // MARK: Lists

    @Test("Entries are read as the loop goes on, and not all of them in advance", arguments: [false, true])
    func entries(onDisk: Bool) async throws {
        let folder = try TemporaryFolder()
        let cache = onDisk ? HTTPCache.onDisk(at: folder.url) : .inMemory()
        let session = TransportLog().session(SessionConfiguration { $0.cache = cache }) { _, _ in .fresh("text") }
        for number in 0..<60 { _ = await session.request("http://h/\(number)").serializingData().response }
        var all: Set<String> = []
        for try await entry in cache.entries { all.insert(entry.url.text) }
        #expect(all.count == 60)
        guard onDisk else { return }
        var iterator = cache.entries.makeAsyncIterator()
        #expect(try await iterator.next() != nil)
        try await cache.remove { _ in true }
        await (cache.store as? DiskStore)?.settle()
        var late = 0
        while try await iterator.next() != nil { late += 1 }
        #expect(late < 5, "at most one subfolder was read in advance")
    }
}
