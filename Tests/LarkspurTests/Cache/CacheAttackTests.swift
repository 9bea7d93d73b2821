import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// Responses and requests that could make a cache serve what it must not.
@Suite("A cache under responses and requests that could mislead it", .limited)
struct CacheAttackTests {
    private func has(_ request: TransportRequest?, _ name: String, _ value: String? = nil) -> Bool {
        request?.fields.contains { $0.name == name && (value == nil || $0.value == value) } == true
    }

    @Test("A response that varies with everything is not served again, also if only its validation says so")
    func varyingWithEverything() async {
        let stage = CacheStage { request, number in
            if request.url.target == "/*" { return .fresh("\(number)", ["Vary": "*"]) }
            return number == 3
                ? .response(304, headers: ["ETag": "\"a\"", "Vary": "A, *", "Cache-Control": "max-age=60"])
                : .fresh("\(number)", ["ETag": "\"a\""])
        }
        #expect(await stage.get("http://h/*").value == "1")
        #expect(await stage.get("http://h/").value == "2")
        #expect(await stage.get("http://h/", policy: .revalidate).value == "2")
        #expect(stage.cache.statistics.entryCount == 0)
        #expect(await stage.get("http://h/*").value == "4")
        #expect(await stage.get("http://h/").value == "5")
    }

    @Test("Spellings of one URL share a response; other schemes, ports, users, paths and queries do not")
    func spellings() async {
        let stage = CacheStage { _, number in .fresh("\(number)") }
        #expect(await stage.get("http://h/b").value == "1")
        for same in ["HTTP://H/b", "http://h:80/b", "http://h/a/../b", "http://h/./b", "http://h/b#c", "http://h/%62"] {
            #expect(await stage.get(same).value == "1", "\(same)")
        }
        let others = [
            "https://h/b", "http://h:8080/b", "http://h/B", "http://h/b/", "http://h/b?", "http://h/b?a", "http://h./b",
            "http://a:x@h/b", "http://b:x@h/b", "http://h/b%2F", "http://hh/b",
        ]
        var values: Set<String?> = ["1"]
        for other in others { values.insert(await stage.get(other).value) }
        #expect(values.count == others.count + 1)
        #expect(await stage.get("http://a:x@h/b").cache == .hit(age: .zero))
    }

    @Test("An unsafe request removes what it names at its own origin in any spelling, and nothing elsewhere")
    func foreignInvalidation() async {
        let stage = CacheStage { request, number in
            request.method == "GET"
                ? .fresh("\(number)")
                : .response(
                    201, headers: ["Location": "HTTP://H:80/x/../new#f", "Content-Location": "http://other/victim"])
        }
        for url in ["http://h/new", "http://other/victim", "http://h:8080/new"] { _ = await stage.get(url) }
        _ = await stage.session.request("http://h/list", method: .post).serializingData().response
        #expect(await stage.get("http://h/new").cache == .miss)
        #expect(await stage.get("http://other/victim").cache == .hit(age: .zero))
        #expect(await stage.get("http://h:8080/new").cache == .hit(age: .zero))
    }

    @Test("A newer response that is not stored makes the older one obsolete; a failure of the server does not")
    func superseded() async {
        let answers: [(Int, isKept: Bool)] = [(200, false), (404, false), (410, false), (503, true), (429, true)]
        for (status, isKept) in answers {
            let stage = CacheStage { _, number in
                number == 1
                    ? .fresh("old", ["ETag": "\"a\""]) : .response(status, headers: ["Cache-Control": "no-store"])
            }
            _ = await stage.get()
            stage.wait(60)
            #expect(await stage.get().head?.status == status)
            #expect((await stage.get(policy: .onlyCached).value == "old") == isKept, "\(status)")
        }
    }

    @Test("The response to a HEAD removes a stored response that must no longer be stored or has another status")
    func headsThatRemove() async {
        for (stored, control) in [(200, "no-store"), (404, "max-age=600")] {
            let stage = CacheStage { request, _ in
                request.method == "HEAD"
                    ? .response(200, headers: ["Cache-Control": control])
                    : .response(
                        stored, headers: ["Cache-Control": "max-age=60", "Transfer-Encoding": "chunked"],
                        chunks: [Data("old".utf8)])
            }
            _ = await stage.get()
            stage.wait(60)
            _ = await stage.session.request("http://h/", method: .head).serializingData().response
            #expect(stage.cache.statistics.entryCount == 0, "\(stored) and \(control)")
        }
    }

    @Test("A failure is passed on if nothing permits to hide it, also when the stored response is fresh")
    func failuresOfValidations() async {
        let stage = CacheStage { _, number in
            number == 1 ? .fresh("1", ["ETag": "\"a\""]) : number == 2 ? .response(503) : .failure(.connectionRefused)
        }
        _ = await stage.get()
        #expect(await stage.get(policy: .revalidate).head?.status == 503)
        #expect(await stage.get(policy: .revalidate).error?.code == .connectionRefused)
        #expect(await stage.get().value == "1")
    }

    @Test("A validation asks the caches on the way too, unless it is in the background or the request says otherwise")
    func directivesOfValidations() async {
        let stage = CacheStage { _, number in
            .fresh("\(number)", ["ETag": "\"a\"", "Cache-Control": "max-age=60, stale-while-revalidate=60"])
        }
        _ = await stage.get()
        _ = await stage.get(policy: .revalidate)
        #expect(
            has(stage.log.requests.last, "Cache-Control", "max-age=0") && has(stage.log.requests.last, "If-None-Match"))
        _ = await stage.get("http://h/", ["Cache-Control": "max-stale"], policy: .revalidate)
        #expect(stage.log.requests.last?.fields.filter { $0.name == "Cache-Control" }.map(\.value) == ["max-stale"])
        stage.wait(61)
        #expect(await stage.get().cache == .stale(because: .revalidating))
        #expect(stage.log.count == 4 && !has(stage.log.requests.last, "Cache-Control"))
        stage.wait(61)
        _ = await stage.get("http://h/", ["Range": "bytes=0-0"])
        #expect(stage.log.count == 5 && !has(stage.log.requests.last, "Range"), "a part would not renew the response")
        #expect(await stage.get().value == "5")
    }

    @Test("A fresh immutable response is not validated")
    func immutable() async {
        let stage = CacheStage { _, number in .fresh("\(number)", ["Cache-Control": "max-age=60, immutable"]) }
        _ = await stage.get()
        #expect(await stage.get(policy: .revalidate).cache == .hit(age: .zero))
        stage.wait(60)
        #expect(await stage.get(policy: .revalidate).value == "2")
        #expect(await stage.get(policy: .reload).value == "3")
    }

    @Test("A range has a meaning for one GET alone, and a part has one Content-Range")
    func ranges() async {
        let stage = CacheStage { request, number in
            .fresh(number == 1 ? "0123456789" : "whole", ["Content-Range": "bytes 7-9/10", "Content-Length": "10"])
        }
        _ = await stage.get()
        let part = await stage.get("http://h/", ["Range": "bytes=2-4"])
        #expect(part.value == "234" && part.head?.values(for: "Content-Range") == ["bytes 2-4/10"])
        #expect(part.head?.values(for: "Content-Length") == ["3"])
        let head = await stage.session.request("http://h/", method: .head, headers: ["Range": "bytes=2-4"])
            .serializingData().response
        #expect(head.head?.status == 200 && head.cache == .hit(age: .zero))
        let several = HTTPHeaders([
            HTTPHeader(name: "Range", value: "bytes=0-1"), HTTPHeader(name: "Range", value: "bytes=3-4"),
        ])
        #expect(await stage.get("http://h/", several).cache == .miss)
    }
}
