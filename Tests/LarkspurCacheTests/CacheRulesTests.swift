import LarkspurCache
import TestSupport
import Testing

@Suite("The rules of a private cache", .limited)
struct CacheRulesTests {
    /// 2026-01-01T00:00:00Z and texts of times near it.
    private static let now = 1_767_225_600.0
    private static let today = "Thu, 01 Jan 2026 00:00:00 GMT"
    private static let tomorrow = "Fri, 02 Jan 2026 00:00:00 GMT"
    private static let yesterday = "Wed, 31 Dec 2025 00:00:00 GMT"

    private let rules = CacheRules(HTTPCache.Options())
    private var shared: CacheRules {
        var options = HTTPCache.Options()
        options.isShared = true
        return CacheRules(options)
    }

    private func head(_ status: Int = 200, _ fields: [(String, String)] = []) -> ResponseHead {
        ResponseHead(
            status: status,
            fields: (fields + [("Transfer-Encoding", "chunked")]).map { HTTPHeader(name: $0.0, value: $0.1) })
    }

    private func stored(
        _ fields: [(String, String)], status: Int = 200, requested: Double = now, received: Double = now
    ) -> StoredHead {
        StoredHead(
            url: "http://h/", partition: "", selection: Selection(names: [], values: []), head: head(status, fields),
            requested: requested, received: received)
    }

    private func request(_ method: String = "GET", _ fields: [(String, String)] = []) throws -> TransportRequest {
        TransportRequest(
            method: method, url: try RequestURL("http://h/"),
            fields: fields.map { HTTPHeader(name: $0.0, value: $0.1) })
    }

    // MARK: Storing

    @Test(
        "A response is stored if its directives, its status and its request allow it",
        arguments: [
            (200, "", true), (200, "no-store", false), (200, "No-StOrE, max-age=9", false), (200, "no-cache", true),
            (200, "private", true), (200, "must-understand, no-store, max-age=9", true), (299, "", false),
            (299, "max-age=9", true), (299, "must-understand, max-age=9", false), (404, "", true), (403, "", false),
            (403, "max-age=9", true), (500, "", false), (503, "public", true), (206, "max-age=9", false),
            (304, "max-age=9", false), (302, "", false), (302, "max-age=9", true), (301, "", true), (201, "", false),
            (204, "", true), (200, "s-maxage=9", true), (403, "s-maxage=9", false),
        ] as [(Int, String, Bool)])
    func storing(status: Int, control: String, isStored: Bool) throws {
        let head = head(status, control.isEmpty ? [] : [("Cache-Control", control)])
        #expect(rules.mayStore(head, to: try request(), CacheControl()) == isStored)
        #expect(rules.mayStore(head, to: try request("HEAD"), CacheControl()) == false)
        #expect(rules.mayStore(head, to: try request("POST"), CacheControl()) == false)
        #expect(rules.mayStore(head, to: try request(), CacheControl(["no-store"])) == false)
    }

    @Test("What varies with everything is not stored", arguments: ["*", "*, *", ", *", "*, Foo", "Foo, *", "Foo,*"])
    func varyingWithEverything(vary: String) throws {
        #expect(
            !rules.mayStore(head(200, [("Vary", vary), ("Cache-Control", "max-age=9")]), to: try request(), .init()))
    }

    @Test("A body that ends with the connection is not stored, because a part of it could look like the whole")
    func bodiesWithoutLength() throws {
        let table: [(String, [(String, String)], Bool)] = [
            ("HTTP/1.1", [], false), ("HTTP/1.1", [("Connection", "close")], false),
            ("HTTP/1.1", [("Content-Length", "x")], false), ("HTTP/1.1", [("Connection", "keep-alive")], false),
            ("HTTP/1.1", [("Content-Length", "2")], true), ("HTTP/1.1", [("Transfer-Encoding", "chunked")], true),
            ("HTTP/1.1", [("Connection", "close"), ("Content-Length", "2")], true),
            ("HTTP/1.1", [("Connection", "Close"), ("Transfer-Encoding", "chunked")], true), ("HTTP/1.0", [], false),
            ("HTTP/1.0", [("Content-Length", "2")], true), ("HTTP/2", [], true), ("HTTP/3", [], true),
            ("HTTP", [], true), ("HTTP", [("Connection", "keep-alive, Close")], false),
            ("HTTP", [("Connection", "close"), ("Content-Length", "2")], true),
        ]
        for (version, fields, isStored) in table {
            let head = ResponseHead(
                status: 200, version: version, fields: fields.map { HTTPHeader(name: $0.0, value: $0.1) })
            #expect(rules.mayStore(head, to: try request(), CacheControl()) == isStored, "\(version) \(fields)")
        }
        #expect(rules.mayStore(ResponseHead(status: 204), to: try request(), CacheControl()), "it has no body")
    }

    @Test("A shared cache stores nothing private, and with Authorization only what the response allows")
    func sharedStoring() throws {
        let signed = try request("GET", [("authorization", "Bearer t")])
        let table: [(String, plain: Bool, signed: Bool)] = [
            ("private, max-age=9", false, false), ("max-age=9", true, false), ("public, max-age=9", true, true),
            ("s-maxage=9", true, true), ("must-revalidate, max-age=9", true, true),
        ]
        for (control, plain, isSigned) in table {
            let head = head(200, [("Cache-Control", control)])
            #expect(shared.mayStore(head, to: try request(), CacheControl()) == plain, "\(control)")
            #expect(shared.mayStore(head, to: signed, CacheControl()) == isSigned, "\(control)")
            #expect(rules.mayStore(head, to: signed, CacheControl()), "\(control)")
        }
    }

    // MARK: Freshness

    @Test("The lifetime is that of max-age, else that of Expires, else a tenth of the time since the last change")
    func lifetimes() {
        let table: [([(String, String)], Double)] = [
            ([], 0), ([("Cache-Control", "max-age=60"), ("Expires", Self.tomorrow), ("Date", Self.today)], 60),
            ([("Expires", Self.tomorrow), ("Date", Self.today)], 86_400),
            ([("Expires", Self.tomorrow)], 86_400), ([("Expires", Self.yesterday), ("Date", Self.today)], 0),
            ([("Expires", "0"), ("Date", Self.today)], 0), ([("Expires", "")], 0),
            ([("Expires", Self.tomorrow), ("Expires", Self.today)], 0),
            ([("Cache-Control", "max-age=0"), ("Expires", Self.tomorrow)], 0),
            ([("Cache-Control", "s-maxage=60")], 0), ([("Cache-Control", "s-maxage=60, max-age=1")], 1),
            ([("Last-Modified", Self.yesterday), ("Date", Self.today)], 8_640),
            ([("Last-Modified", Self.yesterday)], 8_640), ([("Last-Modified", Self.tomorrow)], 0),
            ([("Last-Modified", Self.yesterday), ("Pragma", "no-cache")], 0),
        ]
        for (fields, lifetime) in table {
            #expect(rules.lifetime(of: stored(fields)) == lifetime, "\(fields)")
        }
        #expect(shared.lifetime(of: stored([("Cache-Control", "s-maxage=60, max-age=1")])) == 60)
        let modified = [("Last-Modified", Self.yesterday), ("Date", Self.today)]
        #expect(rules.lifetime(of: stored(modified, status: 302)) == 0)
        #expect(rules.lifetime(of: stored(modified + [("Cache-Control", "public")], status: 302)) == 8_640)
    }

    @Test("The age is the largest that the response, its date and the time on the way tell")
    func ages() {
        let table: [([(String, String)], Double)] = [
            ([], 2), ([("Age", "30")], 32), ([("Date", "Wed, 31 Dec 2025 23:59:00 GMT")], 60),
            ([("Age", "90"), ("Date", "Wed, 31 Dec 2025 23:59:00 GMT")], 92), ([("Date", Self.tomorrow)], 2),
            ([("Age", "0, 30")], 2), ([("Age", "30"), ("Age", "0")], 32), ([("Age", "x")], 2), ([("Age", "-9")], 2),
            ([("Age", "99999999999999999999")], 2_147_483_650),
        ]
        for (fields, age) in table {
            #expect(stored(fields, requested: Self.now - 2).initialAge == age, "\(fields)")
        }
        #expect(stored([("Age", "30")]).age(at: Self.now + 5) == 35)
        #expect(stored([("Age", "30")]).age(at: Self.now - 5) == 30)
    }

    // MARK: Serving

    private func decision(
        _ control: String, age: Double, _ wishes: String = "", _ policy: CachePolicy = .protocol,
        isRepeated: Bool = false, rules: CacheRules? = nil
    ) -> CacheRules.Decision {
        var instructions = CacheInstructions()
        (instructions.policy, instructions.isRepeated) = (policy, isRepeated)
        let stored = stored([("Cache-Control", control)])
        return (rules ?? self.rules).decide(
            stored, wishes.isEmpty ? CacheControl() : CacheControl([wishes]), instructions, at: Self.now + age)
    }

    private func hit(_ age: Double) -> CacheRules.Decision { .serve(.hit(age: .seconds(age)), age: age) }
    private func stale(_ age: Double, _ reason: CacheOutcome.StaleReason = .allowed) -> CacheRules.Decision {
        .serve(.stale(because: reason), age: age)
    }

    @Test("A fresh response is served, and a stale one is asked about")
    func freshness() {
        #expect(decision("max-age=60", age: 59) == hit(59))
        #expect(decision("max-age=60", age: 60) == .ask)
        #expect(decision("max-age=60, no-cache", age: 1) == .ask)
        #expect(decision("max-age=60, must-revalidate", age: 1) == hit(1))
        #expect(decision("max-age=60", age: 1, isRepeated: true) == .ask)
        #expect(decision("max-age=60", age: -60) == .ask, "the clock was set back")
        #expect(rules.decide(nil, CacheControl(), CacheInstructions(), at: 0) == .ask)
    }

    @Test("The directives of the request")
    func wishes() {
        #expect(decision("max-age=60", age: 5, "max-age=4") == .ask)
        #expect(decision("max-age=60", age: 5, "max-age=5") == hit(5))
        #expect(decision("max-age=60", age: 5, "no-cache") == .ask)
        #expect(decision("max-age=60", age: 5, "min-fresh=55") == hit(5))
        #expect(decision("max-age=60", age: 5, "min-fresh=56") == .ask)
        #expect(decision("max-age=60, stale-while-revalidate=60", age: 70, "min-fresh=5") == .ask)
        #expect(decision("max-age=60", age: 70, "min-fresh=5", .preferCached(maxStale: .seconds(60))) == .ask)
        #expect(decision("max-age=60", age: 70, "min-fresh=5, max-stale=60") == .ask)
        #expect(decision("max-age=60", age: 70, "max-stale=10") == stale(70))
        #expect(decision("max-age=60", age: 71, "max-stale=10") == .ask)
        #expect(decision("max-age=60", age: 9_000, "max-stale") == stale(9_000))
        #expect(decision("max-age=60, must-revalidate", age: 70, "max-stale") == .ask)
        #expect(decision("max-age=60, proxy-revalidate", age: 70, "max-stale") == stale(70))
        #expect(decision("max-age=60, proxy-revalidate", age: 70, "max-stale", rules: shared) == .ask)
        #expect(decision("s-maxage=60", age: 70, "max-stale", rules: shared) == .ask)
        #expect(decision("max-age=60", age: 5, "only-if-cached") == hit(5))
        #expect(decision("max-age=60", age: 70, "only-if-cached") == .refuse)
        #expect(decision("max-age=60", age: 70, "only-if-cached, max-stale") == stale(70))
        #expect(rules.decide(nil, CacheControl(["only-if-cached"]), CacheInstructions(), at: 0) == .refuse)
    }

    @Test("The policies")
    func policies() {
        #expect(decision("max-age=60", age: 70, policy: .preferCached(maxStale: .seconds(10))) == stale(70))
        #expect(decision("max-age=60", age: 71, policy: .preferCached(maxStale: .seconds(10))) == .ask)
        #expect(
            decision("max-age=60, must-revalidate", age: 70, policy: .preferCached(maxStale: .seconds(10))) == .ask)
        #expect(decision("max-age=60", age: 5, policy: .preferCached(maxStale: .zero)) == hit(5))
        #expect(decision("max-age=60", age: 5, policy: .revalidate) == .ask)
        #expect(decision("max-age=60", age: 5, policy: .reload) == .ask)
        #expect(decision("max-age=60", age: 5, policy: .onlyCached) == hit(5))
        #expect(decision("max-age=60", age: 5_000, policy: .onlyCached) == stale(5_000))
        #expect(decision("max-age=60, must-revalidate", age: 70, policy: .onlyCached) == .refuse)
        #expect(decision("max-age=60, no-cache", age: 5, policy: .onlyCached) == .refuse)
    }

    private func decision(_ control: String, age: Double, policy: CachePolicy) -> CacheRules.Decision {
        decision(control, age: age, "", policy)
    }

    @Test("A response may be stale while it is validated in the background")
    func staleWhileRevalidate() {
        let control = "max-age=60, stale-while-revalidate=10"
        #expect(decision(control, age: 70) == stale(70, .revalidating))
        #expect(decision(control, age: 71) == .ask)
        #expect(decision(control, age: 70, "no-cache") == .ask)
        #expect(decision(control, age: 70, "only-if-cached") == .refuse)
        #expect(decision(control + ", must-revalidate", age: 70) == .ask)
        #expect(decision(control, age: 70, isRepeated: true) == .ask)
        var options = HTTPCache.Options()
        options.staleWhileRevalidate = .seconds(10)
        #expect(decision("max-age=60", age: 70, rules: CacheRules(options)) == stale(70, .revalidating))
        #expect(
            decision("max-age=60, stale-while-revalidate=0", age: 70, rules: CacheRules(options)) == .ask,
            "the response's own time comes first")
    }

    @Test("A response may replace a failure for a time that itself, the request or the cache names")
    func staleIfError() {
        var options = HTTPCache.Options()
        options.staleIfError = .seconds(10)
        func replaces(_ control: String, _ age: Double, _ wishes: String = "", _ rules: CacheRules? = nil) -> Bool {
            (rules ?? self.rules).mayReplaceFailure(
                stored([("Cache-Control", control)]), wishes.isEmpty ? CacheControl() : CacheControl([wishes]),
                CacheInstructions(), at: Self.now + age)
        }
        #expect(!replaces("max-age=60", 61))
        #expect(replaces("max-age=60, stale-if-error=10", 70))
        #expect(!replaces("max-age=60, stale-if-error=10", 71))
        #expect(!replaces("max-age=60, stale-if-error=10, must-revalidate", 70))
        #expect(!replaces("max-age=60, stale-if-error=10, no-cache", 70))
        #expect(replaces("max-age=60", 70, "stale-if-error=10"))
        #expect(replaces("max-age=60", 70, "", CacheRules(options)))
        #expect(!replaces("max-age=60, stale-if-error=0", 70, "", CacheRules(options)))
        #expect([500, 502, 503, 504].allSatisfy(CacheRules.isFailure) && !CacheRules.isFailure(501))
        #expect(CacheRules.isFailure(.connectionRefused) && !CacheRules.isFailure(.untrusted))
        #expect(!CacheRules.isFailure(.cancelled) && !CacheRules.isFailure(.pinMismatch))
    }

    // MARK: Validation and invalidation

    @Test("A 304 with another strong tag is about another response")
    func validation() {
        let old = stored([("ETag", "\"a\""), ("Last-Modified", Self.yesterday)])
        #expect(CacheRules.conditions(for: old).map(\.value) == ["\"a\"", Self.yesterday])
        #expect(CacheRules.conditions(for: stored([])).isEmpty)
        #expect(CacheRules.validates(head(304, []), old))
        #expect(CacheRules.validates(head(304, [("ETag", "\"a\"")]), old))
        #expect(!CacheRules.validates(head(304, [("ETag", "\"b\"")]), old))
        #expect(CacheRules.validates(head(304, [("ETag", "\"a\"")]), stored([("ETag", "W/\"a\"")])))
    }

    @Test("An unsafe request that succeeds makes its URL, Location and Content-Location of the same origin invalid")
    func invalidation() throws {
        let answer = [("Location", "/new"), ("Content-Location", "http://other/x")]
        func urls(_ method: String, _ status: Int) throws -> [String] {
            CacheRules.invalidated(by: head(status, answer), to: try request(method)).map(\.text)
        }
        for method in ["POST", "PUT", "DELETE", "PATCH", "M-SEARCH"] {
            #expect(try urls(method, 201) == ["http://h/", "http://h/new"])
            #expect(try urls(method, 303) == ["http://h/", "http://h/new"])
            #expect(try urls(method, 500) == [] && urls(method, 404) == [])
        }
        for method in ["GET", "HEAD", "OPTIONS", "TRACE"] { #expect(try urls(method, 200) == []) }
    }
}
