import LarkspurCache
import TestSupport
import Testing

@Suite("The directives of Cache-Control", .limited)
struct CacheControlTests {
    @Test(
        "Times are read, and what is no number, is too large or comes twice means the smaller time",
        arguments: [
            ("max-age=60", 60), ("Max-Age=60", 60), ("max-age=\"60\"", 60), ("max-age=0060", 60), ("max-age=0", 0),
            ("foobar, max-age=60", 60), ("max-age=60,no-transform", 60), ("max-age=99999999999", 2_147_483_648),
            ("max-age=99999999999999999999999", 2_147_483_648), ("max-age='60'", 0), ("max-age=-60", 0),
            ("max-age=a60", 0), ("max-age=60a", 0), ("max-age=60.0", 0), ("max-age =60", 0), ("max-age= 60", 0),
            ("max-age=", 0), ("max-age", 0), ("max-age=60, max-age=1", 1), ("max-age=1, max-age=60", 1),
            ("ext=\"max-age=1\", max-age=60", 60), ("max-age=60, ext=\"max-age=1\"", 60),
            ("ext=\"a\\\", max-age=1\", max-age=60", 60), ("max-age=\"60\"x", 0),
        ] as [(String, Double)])
    func times(value: String, seconds: Double) {
        #expect(CacheControl([value]).maxAge == seconds)
    }

    @Test("Several fields are one list")
    func severalFields() {
        let control = CacheControl(["public", "max-age=5", "", " , must-revalidate ,"])
        #expect(control.isPublic && control.mustRevalidate && control.maxAge == 5)
    }

    @Test("A directive with a list of fields is for these fields, and otherwise for the response")
    func fields() {
        #expect(CacheControl(["no-cache=\"Set-Cookie, A\""]).noCacheFields == ["set-cookie", "a"])
        #expect(CacheControl(["no-cache=\"Set-Cookie, A\""]).noCache == false)
        #expect(CacheControl(["private=\"a\""]).isPrivate == false)
        for value in ["no-cache", "no-cache=\"\"", "no-cache=a", "no-cache =\"a\"", "no-cache=\"a\"b"] {
            #expect(CacheControl([value]).noCache, "\(value)")
        }
    }

    @Test("An unclosed quote may hide anything, so nothing is stored")
    func unclosedQuote() {
        #expect(CacheControl(["max-age=60, ext=\"no-store"]).noStore)
        #expect(CacheControl(["ext=\"a\\"]).noStore)
        #expect(CacheControl(["ext=\"no-store\""]).noStore == false)
    }

    @Test("Of a request: max-stale without a time means any time, and a broken min-fresh is never met")
    func ofRequests() {
        #expect(CacheControl(["max-stale"]).maxStale == .infinity)
        #expect(CacheControl(["max-stale=5"]).maxStale == 5)
        #expect(CacheControl(["max-stale=x"]).maxStale == 0)
        #expect(CacheControl(["min-fresh=5, min-fresh=9"]).minFresh == 9)
        #expect(CacheControl(["min-fresh=x"]).minFresh == 2_147_483_648)
        #expect(CacheControl(["only-if-cached"]).onlyIfCached)
    }
}
