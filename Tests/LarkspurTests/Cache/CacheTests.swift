import CTestWidth
import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("A session with a cache", .limited)
struct CacheTests {
    @Test("A fresh response comes from the cache, with its age; a stale one comes from the server")
    func freshness() async {
        let stage = CacheStage { _, number in .fresh("\(number)") }
        let first = await stage.get()
        #expect(first.value == "1" && first.cache == .miss && first.head?["Age"] == nil)
        stage.wait(59)
        let second = await stage.get("http://h/#fragment")
        #expect(second.value == "1" && second.cache == .hit(age: .seconds(59)) && second.head?["Age"] == "59")
        #expect(second.metrics?.responseBodyBytes == 1 && second.metrics?.total != nil)
        stage.wait(1)
        #expect(await stage.get().value == "2")
        #expect(await stage.get("http://h/?a").value == "3")
        #expect(stage.log.count == 3)
        #expect(stage.cache.statistics.hits == 1 && stage.cache.statistics.misses == 3)
    }

    @Test("A stale response is validated; the 304's fields replace the old ones, and its cookie goes through")
    func validation() async throws {
        let stage = CacheStage { request, number in
            guard request.fields.contains(HTTPHeader(name: "If-None-Match", value: "\"a\"")) else {
                return .fresh("body", ["ETag": "\"a\"", "X": "1", "Y": "1", "Content-Length": "4"])
            }
            return .response(
                304,
                headers: [
                    "ETag": "\"a\"", "X": "2", "Cache-Control": "max-age=90", "Content-Length": "0",
                    "Set-Cookie": "c=\(number)",
                ])
        }
        #expect(await stage.get().value == "body")
        stage.wait(60)
        let confirmed = await stage.get()
        #expect(confirmed.value == "body" && confirmed.cache == .revalidated && confirmed.head?.status == 200)
        #expect(confirmed.head?["X"] == "2" && confirmed.head?["Y"] == "1" && confirmed.head?["Content-Length"] == "4")
        #expect(confirmed.head?["Set-Cookie"] == "c=2")
        #expect(stage.session.cookieJar?.all.map(\.value) == ["2"])
        stage.wait(89)
        let hit = await stage.get("http://h/", ["Cookie": ""], policy: .onlyCached)
        #expect(hit.error?.code == .notCached, "the response belongs to the cookies of its request")
        #expect(stage.log.count == 2)
    }

    @Test("A response that changed replaces the stored one, and a 304 about another response is not believed")
    func changed() async {
        let stage = CacheStage { request, number in
            let isConditional = request.fields.contains { $0.name == "If-None-Match" }
            if number == 3, isConditional { return .response(304, headers: ["ETag": "\"other\""]) }
            return .fresh("\(number)", ["ETag": "\"\(number)\""])
        }
        #expect(await stage.get().value == "1")
        stage.wait(60)
        #expect(await stage.get().value == "2")
        #expect(stage.log.requests[1].fields.contains(HTTPHeader(name: "If-None-Match", value: "\"1\"")))
        stage.wait(60)
        let third = await stage.get()
        #expect(third.value == "4" && third.cache == .miss && stage.log.count == 4)
        #expect(!stage.log.requests[3].fields.contains { $0.name == "If-None-Match" })
    }

    @Test("Variants are kept side by side, and equal fields in another form select the same variant")
    func variants() async {
        let stage = CacheStage { _, number in .fresh("\(number)", ["Vary": "Accept-Language, X"]) }
        #expect(await stage.get("http://h/", ["Accept-Language": "en, de"]).value == "1")
        #expect(await stage.get("http://h/", ["Accept-Language": "fr"]).value == "2")
        #expect(await stage.get("http://h/", ["accept-language": "en,de"]).value == "1")
        #expect(await stage.get("http://h/", ["Accept-Language": "en,de", "X": ""]).value == "3")
        #expect(await stage.get("http://h/", ["Accept-Language": "fr"]).value == "2")
        #expect(await stage.get().value == "4")
    }

    @Test("An unsafe request makes the stored responses of its URL invalid in all partitions")
    func invalidation() async {
        let stage = CacheStage { request, number in
            request.method == "GET" ? .fresh("\(number)") : .response(request.url.target == "/f" ? 500 : 204)
        }
        for url in ["http://h/a", "http://h/f"] {
            #expect(await stage.get(url, ["Authorization": "x"]).cache == .miss)
            let posted = await stage.session.request(url, method: .post).serializingData().response
            #expect(posted.cache == .bypassed)
        }
        #expect(await stage.get("http://h/a", ["Authorization": "x"]).cache == .miss)
        #expect(await stage.get("http://h/f", ["Authorization": "x"]).cache != .miss, "the request failed")
    }

    @Test("A response to a request from before an unsafe one is not stored, because it may be the old one")
    func overtaken() async throws {
        let transport = HeldTransport()
        let cache = HTTPCache.inMemory()
        let session = Session(configuration: SessionConfiguration { $0.cache = cache }, transport: transport)
        var hops = transport.hops
        let slow = Task { await session.request("http://h/").serializingString().response }
        _ = await hops.next()
        let put = Task { await session.request("http://h/", method: .put).serializingData().response }
        _ = await hops.next()
        transport.answer(200, body: "done")
        _ = await put.value
        transport.answer(
            200, headers: ["Cache-Control": "max-age=60", "Transfer-Encoding": "chunked"], body: "old")
        #expect(await slow.value.value == "old")
        #expect(cache.statistics.entryCount == 0)
    }

    @Test("The policies of requests and of sessions")
    func policies() async {
        let stage = CacheStage { request, number in
            let isConditional = request.fields.contains { $0.name == "If-None-Match" }
            return isConditional ? .response(304) : .fresh("\(number)", ["ETag": "\"a\""])
        }
        let missing = await stage.get(policy: .onlyCached)
        #expect(missing.error?.code == .notCached && stage.log.count == 0)
        #expect(await stage.get(policy: .bypass).cache == .bypassed)
        #expect(await stage.get().value == "2")
        #expect(await stage.get(policy: .revalidate).cache == .revalidated)
        let reloaded = await stage.get(policy: .reload)
        #expect(reloaded.value == "4" && reloaded.cache == .miss)
        #expect(
            stage.log.requests.last?.fields.contains { $0.name == "Cache-Control" && $0.value == "no-cache" } == true)
        stage.wait(70)
        #expect(await stage.get(policy: .preferCached(maxStale: .seconds(10))).cache == .stale(because: .allowed))
        stage.wait(1)
        #expect(await stage.get(policy: .preferCached(maxStale: .seconds(10))).cache == .revalidated)
        stage.wait(6_000)
        let offline = await stage.get(policy: .onlyCached)
        #expect(offline.value == "4" && offline.cache == .stale(because: .allowed) && stage.log.count == 5)
        let child = stage.session.extending { $0.options.cachePolicy = .onlyCached }
        #expect(await child.request("http://h/").serializingString().response.value == "4")
        #expect(await child.request("http://other/").serializingString().response.error?.code == .notCached)
        #expect(await stage.get("http://h/", ["Cache-Control": "only-if-cached"]).head?.status == 504)
    }

    @Test("A stale response replaces a failure of the server or of the network if it says so")
    func staleIfError() async {
        let stage = CacheStage { request, number in
            switch number {
            case 1: .fresh("1", ["Cache-Control": "max-age=60, stale-if-error=60"])
            case 2: .response(503, chunks: [Data("down".utf8)])
            case 3: .failure(.connectionRefused)
            case 4: .failure(.untrusted)
            default: .response(503)
            }
        }
        _ = await stage.get()
        stage.wait(60)
        let refused = await stage.get()
        #expect(refused.value == "1" && refused.cache == .stale(because: .status(503)))
        let failed = await stage.get()
        #expect(failed.value == "1" && failed.cache == .stale(because: .failed(.connectionRefused)))
        #expect(await stage.get().error?.code == .untrusted, "a failure of trust is never hidden")
        stage.wait(61)
        #expect(await stage.get().head?.status == 503)
    }

    @Test("A response is served while one request validates it in the background")
    func staleWhileRevalidate() async {
        let stage = CacheStage { request, number in
            .fresh("\(number)", ["Cache-Control": "max-age=60, stale-while-revalidate=60"])
        }
        _ = await stage.get()
        stage.wait(61)
        let stale = await stage.get()
        #expect(stale.value == "1" && stale.cache == .stale(because: .revalidating))
        #expect(stage.log.count == 2, "the stub answers at once")
        #expect(await stage.get().value == "2")
        #expect(stage.log.count == 2)
    }

    @Test("A part of a stored response is served, and other ranges go to the server")
    func ranges() async {
        let stage = CacheStage { request, number in
            request.fields.contains { $0.name == "Range" }
                ? .response(206, headers: ["Content-Range": "bytes 0-0/9"], chunks: [Data("x".utf8)])
                : .fresh("0123456789", ["ETag": "\"a\""])
        }
        #expect(await stage.get("http://h/", ["Range": "bytes=0-0"]).value == "x")
        _ = await stage.get()
        let table = [("bytes=2-4", "234"), ("bytes=8-", "89"), ("bytes=-3", "789"), ("bytes=5-99", "56789")]
        for (range, text) in table {
            let part = await stage.get("http://h/", ["Range": range])
            #expect(part.value == text && part.head?.status == 206 && part.cache == .hit(age: .zero))
            #expect(part.head?.contentLength == UInt64(text.utf8.count))
        }
        #expect(await stage.get("http://h/", ["Range": "bytes=2-4"]).head?["Content-Range"] == "bytes 2-4/10")
        #expect(await stage.get("http://h/", ["Range": "bytes=2-4", "If-Range": "\"a\""]).value == "234")
        for range in ["bytes=1-2,4-5", "bytes=10-", "bytes=4-2", "items=0-1", "bytes=-0", "bytes=-"] {
            #expect(await stage.get("http://h/", ["Range": range]).value == "x", "\(range)")
        }
        #expect(await stage.get("http://h/", ["Range": "bytes=2-4", "If-Range": "\"b\""]).value == "x")
    }

    @Test("A HEAD is served from the response to a GET, and updates it or makes it invalid")
    func heads() async {
        let stage = CacheStage { request, number in
            guard request.method == "HEAD" else { return .fresh("body", ["ETag": "\"a\"", "X": "\(number)"]) }
            return .response(headers: [
                "ETag": number < 3 ? "\"a\"" : "\"b\"", "Cache-Control": "max-age=600", "X": "h",
            ])
        }
        func head() async -> DataResponse<Data> {
            await stage.session.request("http://h/", method: .head).serializingData().response
        }
        _ = await stage.get()
        let served = await head()
        #expect(served.cache == .hit(age: .zero) && served.head?["X"] == "1" && served.value?.isEmpty == true)
        stage.wait(60)
        #expect(await head().cache == .miss)
        stage.wait(500)
        let updated = await stage.get()
        #expect(updated.value == "body" && updated.head?["X"] == "h" && updated.cache == .hit(age: .seconds(500)))
        stage.wait(200)
        _ = await head()
        #expect(await stage.get().cache == .miss)
    }

    @Test("A retrier that refuses what the cache had gets an answer of the server")
    func retries() async {
        let stage = CacheStage(interceptor: RetryPolicy(limit: 1, statuses: [404], backoff: .init(scale: .zero))) {
            _, number in
            StubAnswer.response(
                404, headers: ["Cache-Control": "max-age=60", "Transfer-Encoding": "chunked"],
                chunks: [Data("\(number)".utf8)])
        }
        _ = await stage.session.request("http://h/").serializingString().response
        #expect(stage.log.count == 1)
        let refused = await stage.session.request("http://h/").validate().serializingString().response
        #expect(refused.attempts.count == 2 && refused.attempts.first?.hops.first?.cache == .hit(age: .zero))
        #expect(stage.log.count == 2)
        #expect(stage.log.requests.last?.fields.contains { $0.name == "Cache-Control" } == true)
    }

    @Test("A redirect is cached like any other response, hop by hop")
    func redirects() async {
        let stage = CacheStage { request, number in
            request.url.target == "/old"
                ? .response(301, headers: ["Location": "/new", "Cache-Control": "max-age=60", "Content-Length": "0"])
                : .fresh("new")
        }
        _ = await stage.get("http://h/old")
        let again = await stage.get("http://h/old")
        #expect(again.value == "new" && again.redirects.count == 1 && stage.log.count == 2)
        #expect(again.redirects.first?.cache == .hit(age: .zero))
    }

    @Test("The request's own conditions pass through, and its answer is not a stored one")
    func ownConditions() async {
        let stage = CacheStage { request, number in
            request.fields.contains { $0.name == "If-None-Match" } ? .response(304) : .fresh("\(number)")
        }
        _ = await stage.get()
        let own = await stage.get("http://h/", ["If-None-Match": "\"mine\""])
        #expect(own.head?.status == 304 && own.cache == .bypassed && stage.log.count == 2)
        #expect(stage.log.requests[1].fields.count { $0.name == "If-None-Match" } == 1)
    }

    @Test("A handler decides whether a response is stored, and in which form")
    func handlers() async {
        let stage = CacheStage { _, number in .fresh("\(number)", ["A": "1"]) }
        func get(_ handler: ResponseCacher) async -> DataResponse<String> {
            await stage.session.request("http://h/").cacheResponse(using: handler).serializingString().response
        }
        #expect(await get(.doNotCache).value == "1")
        #expect(await stage.get(policy: .onlyCached).error?.code == .notCached)
        let changed = await get(
            .modify { response in
                response.body = Data("changed".utf8)
                response.head = ResponseHead(
                    status: 200,
                    fields: [
                        HTTPHeader(name: "Cache-Control", value: "max-age=9"), HTTPHeader(name: "B", value: "2"),
                    ])
            })
        #expect(changed.value == "2")
        let hit = await stage.get()
        #expect(hit.value == "changed" && hit.head?["B"] == "2" && hit.head?["A"] == nil)
        stage.wait(10)
        #expect(await get(.cache).value == "3")
        #expect(await stage.get().value == "3")
    }

    @Test("A handler is also asked if a response gate sees the head first")
    func handlerBehindGate() async {
        let stage = CacheStage { _, _ in .fresh("1") }
        let request = await stage.session.request("http://h/").cacheResponse(
            using: .modify { $0.body = Data("2".utf8) })
        #expect(await request.onResponseHead { _ in .allow }.serializingString().response.value == "1")
        #expect(await stage.get(policy: .onlyCached).value == "2")
    }

    @Test("The cache shows its entries and removes what it is told to")
    func entries() async throws {
        let stage = CacheStage { _, number in .fresh("12345", ["Vary": "A"]) }
        for path in ["a", "b", "c"] { _ = await stage.get("http://h/\(path)") }
        var entries: [HTTPCache.Entry] = []
        for try await entry in stage.cache.entries { entries.append(entry) }
        #expect(Set(entries.map(\.url.text)) == ["http://h/a", "http://h/b", "http://h/c"])
        #expect(entries.allSatisfy { $0.size == 5 && $0.head.status == 200 && $0.varyingFields == ["a"] })
        #expect(entries.allSatisfy { $0.expires.timeIntervalSince($0.received) == 60 })
        stage.cache.remove("http://h/a")
        try await stage.cache.remove { $0.url.path == "/b" }
        #expect(await stage.get("http://h/a", policy: .onlyCached).error?.code == .notCached)
        #expect(await stage.get("http://h/b", policy: .onlyCached).error?.code == .notCached)
        #expect(await stage.get("http://h/c", policy: .onlyCached).value == "12345")
        stage.cache.removeAll()
        #expect(stage.cache.statistics.entryCount == 0 && stage.cache.statistics.size == 0)
    }

    @Test("A stream of a stored response keeps back pressure, and a cancelled one ends")
    func streams() async throws {
        let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 11) })
        let stage = CacheStage { _, _ in
            .response(headers: ["Cache-Control": "max-age=60", "Transfer-Encoding": "chunked"], chunks: [bytes])
        }
        for expected in [CacheOutcome.miss, .hit(age: .zero)] {
            let stream = await stage.session.streamRequest("http://h/")
            var received = Data()
            for try await chunk in stream.bytes { received += chunk }
            #expect(received == bytes)
            #expect(stream.attempts.last?.hops.last?.cache == expected)
        }
        let stream = await stage.session.streamRequest("http://h/")
        for try await _ in stream.bytes { break }
        stream.cancel()
        #expect(stage.log.count == 1)
    }

    @Test("An incomplete response is not stored")
    func incomplete() async {
        let stage = CacheStage { _, number in
            number == 1
                ? StubAnswer([
                    .head(ResponseHead(status: 200, fields: [HTTPHeader(name: "Cache-Control", value: "max-age=60")])),
                    .body(Data("half".utf8)), .fail(TransportError(.connectionLost)),
                ]) : .fresh("whole")
        }
        #expect(await stage.get().error?.code == .connectionLost)
        #expect(await stage.get().value == "whole")
    }
}
