import LarkspurCache
import TestSupport
import Testing

/// Tables by the sections of RFC 9111, for cases in which a cache easily serves too much or too little.
@Suite("Conformance of a private cache, by the sections of RFC 9111", .limited)
struct CacheConformanceTests {
    /// 2026-01-01T00:00:00Z and texts of times near it.
    private static let now = 1_767_225_600.0
    private static let today = "Thu, 01 Jan 2026 00:00:00 GMT"
    private static let yesterday = "Wed, 31 Dec 2025 00:00:00 GMT"

    private let rules = CacheRules(HTTPCache.Options())
    private let key = CacheKey(url: "http://h/", partition: "")

    private func head(_ status: Int = 200, _ fields: [(String, String)] = []) -> ResponseHead {
        ResponseHead(
            status: status,
            fields: (fields + [("Transfer-Encoding", "chunked")]).map { HTTPHeader(name: $0.0, value: $0.1) })
    }

    private func request(_ fields: [(String, String)] = []) throws -> TransportRequest {
        TransportRequest(
            method: "GET", url: try RequestURL("http://h/"),
            fields: fields.map { HTTPHeader(name: $0.0, value: $0.1) })
    }

    private func stored(
        _ fields: [(String, String)], status: Int = 200, to request: [(String, String)] = []
    ) throws -> StoredHead {
        StoredHead(
            of: head(status, fields), to: try self.request(request), key, requested: Self.now, received: Self.now)
    }

    private func fields(_ list: [(String, String)]) -> [HTTPHeader] {
        list.map { HTTPHeader(name: $0.0, value: $0.1) }
    }

    // MARK: Section 3, storing

    @Test("3: A Content-Range in a complete response has no meaning, so the response is stored")
    func contentRangeOfComplete() throws {
        let head = head(200, [("Content-Range", "bytes 0-1/2"), ("Cache-Control", "max-age=60")])
        #expect(rules.mayStore(head, to: try request(), CacheControl()))
    }

    @Test("3.1: Fields that steer the cache are stored, even if the response wrongly names them as not to be stored")
    func steeringFields() throws {
        let names = ["Cache-Control", "Vary", "Date", "Expires", "Pragma"]
        for naming in [
            ("Connection", names.joined(separator: ", ")),
            ("Cache-Control", "no-cache=\"\(names.joined(separator: ","))\""),
        ] {
            let fields = [
                ("Cache-Control", "no-cache"), ("Vary", "A"), ("Date", "d"), ("Expires", "e"), ("Pragma", "p"),
            ]
            let stored = try stored(fields + [naming])
            #expect(names.allSatisfy { stored.head[$0] != nil }, "\(naming)")
            #expect(stored.control.noCache)
        }
        let plain = try stored([("Connection", "a"), ("A", "1"), ("B", "2"), ("Cache-Control", "no-cache=\"b\"")])
        #expect(plain.head["A"] == nil && plain.head["B"] == nil)
    }

    @Test("3.1: A shared cache does not store the fields that private names; a private cache does")
    func privateFields() throws {
        let head = head(200, [("Cache-Control", "max-age=60, private=\"A\""), ("A", "1"), ("B", "2")])
        for (isShared, value) in [(false, "1"), (true, nil)] as [(Bool, String?)] {
            let stored = StoredHead(
                of: head, to: try request(), key, requested: Self.now, received: Self.now, isShared: isShared)
            #expect(stored.head["A"] == value && stored.head["B"] == "2")
            let new = self.head(304, [("Cache-Control", "private=\"A, B\""), ("A", "3"), ("B", "4")])
            let updated = stored.updated(
                by: new, to: try request(), requested: Self.now, received: Self.now, isShared: isShared)
            #expect(updated.head["A"] == (isShared ? nil : "3") && updated.head["B"] == (isShared ? nil : "4"))
        }
    }

    // MARK: Section 4.1, selecting

    @Test("4.1: Values that mean the same by the definition of their field select the same variant")
    func normalisedSelection() throws {
        let table: [(vary: String, stored: String, asked: String, isSame: Bool)] = [
            ("Accept-Language", "en, de", "EN,De", true), ("Accept-Encoding", "gzip, br", "GZIP,BR", true),
            ("Accept-Charset", "UTF-8", "utf-8", true), ("Accept-Language", "en, de", "de, en", false),
            ("Accept-Language", "en", "en, de", false), ("Foo", "a", "A", false), ("Foo", "1, 2", "1,2", true),
        ]
        for (vary, stored, asked, isSame) in table {
            let selection = Selection(
                of: head(200, [("Vary", vary)]), CacheControl(), in: fields([(vary, stored)]))
            #expect(selection.matches(fields([(vary, asked)])) == isSame, "\(vary): \(stored) and \(asked)")
        }
    }

    @Test("4.1: A response that varies with everything matches no request, also if only a validation said so")
    func varyingWithEverything() throws {
        #expect(!Selection(of: head(200, [("Vary", "*")]), CacheControl(), in: []).matches([]))
        let old = try stored([("ETag", "\"a\""), ("Cache-Control", "max-age=60")])
        let new = head(304, [("ETag", "\"a\""), ("Vary", "*")])
        let updated = old.updated(by: new, to: try request(), requested: Self.now, received: Self.now)
        #expect(!updated.selection.matches([]))
        #expect(!rules.mayKeep(updated, after: new, CacheControl()))
    }

    @Test("4.1: A validation can add fields by which the response is selected, and never removes any")
    func selectionAfterValidation() throws {
        let asked = [("A", "1"), ("B", "2")]
        let old = try stored([("Vary", "A")], to: asked)
        let updated = old.updated(
            by: head(304, [("Vary", "B")]), to: try request(asked), requested: Self.now, received: Self.now)
        #expect(updated.selection.matches(fields(asked)))
        #expect(!updated.selection.matches(fields([("A", "1"), ("B", "3")])))
        #expect(!updated.selection.matches(fields([("A", "3"), ("B", "2")])))
    }

    // MARK: Section 4.2, freshness

    @Test("4.2: The names in a date are read in upper and lower case; other deviations make it invalid")
    func dates() throws {
        let table: [(String, isValid: Bool)] = [
            ("Thu, 18 Aug 2050 02:01:18 GMT", true), ("THU, 18 Aug 2050 02:01:18 GMT", true),
            ("Thu, 18 AUG 2050 02:01:18 GMT", true), ("thu, 18 aug 2050 02:01:18 gMT", true),
            ("THURSDAY, 18-AUG-50 02:01:18 gmt", true), ("THU AUG 18 02:01:18 2050", true),
            ("Thu, 18 Aug 2050 02:01:18 UTC", false), ("Thu, 18 Aug 2050 02:01:18", false),
            ("Thu, 18 Aug 50 02:01:18 GMT", false), ("Thu 18 Aug 2050 02:01:18 GMT", false),
            ("Thu, 18  Aug  2050 02:01:18 GMT", false), ("Thu, 18-Aug-2050 02:01:18 GMT", false),
            ("Thu, 18 Aug 2050 02.01.18 GMT", false), ("Thu, 18 Aug 2050 2:01:18 GMT", false), ("-1", false),
            ("18 Aug 2050 02:01:18 GMT", false), ("Thu, 18 Aug 2050 02:01:18 GMT GMT", false),
        ]
        for (text, isValid) in table {
            let stored = try stored([("Expires", text), ("Date", Self.today)])
            #expect(rules.lifetime(of: stored) == (isValid ? 2_544_400_878 - Self.now : 0), "\(text)")
        }
        let lowercase = try stored([("Date", Self.yesterday.lowercased())])
        #expect(lowercase.initialAge == 86_400)
    }

    @Test("4.2.3: Of several ages the first one counts, and an age that is not a number of seconds is ignored")
    func ages() throws {
        let table: [([(String, String)], Double)] = [
            ([("Age", "0, 7200")], 0), ([("Age", "7200, 0")], 7200), ([("Age", "0"), ("Age", "7200")], 0),
            ([("Age", "7200"), ("Age", "0")], 7200), ([("Age", "x, 7200")], 0), ([("Age", "7200.0")], 0),
            ([("Age", "7200;a=1")], 0), ([("Age", "")], 0), ([("Age", " 30 ")], 30), ([("Age", "+30")], 0),
            ([("Age", "2147483649")], 2_147_483_648),
        ]
        for (fields, age) in table { #expect(try stored(fields).initialAge == age, "\(fields)") }
    }

    // MARK: Section 4.2.4 and RFC 5861, serving stale responses

    @Test("RFC 5861, 4: Without stale-if-error no stored response replaces a failure, however fresh it is")
    func freshIsNoReplacement() throws {
        var options = HTTPCache.Options()
        options.staleIfError = .seconds(10)
        let fresh = try stored([("Cache-Control", "max-age=60")])
        for age in [0.0, 59, 59.5, 60, 61] {
            #expect(!rules.mayReplaceFailure(fresh, CacheControl(), CacheInstructions(), at: Self.now + age), "\(age)")
        }
        #expect(CacheRules(options).mayReplaceFailure(fresh, CacheControl(), CacheInstructions(), at: Self.now + 30))
    }

    @Test("RFC 8246: A fresh immutable response is not validated, unless a fresh answer is asked for explicitly")
    func immutable() throws {
        func decision(_ age: Double, _ wishes: String = "", isRepeated: Bool = false) throws -> CacheRules.Decision {
            var instructions = CacheInstructions()
            (instructions.policy, instructions.isRepeated) = (.revalidate, isRepeated)
            let stored = try stored([("Cache-Control", "max-age=60, Immutable")])
            return rules.decide(
                stored, wishes.isEmpty ? CacheControl() : CacheControl([wishes]), instructions, at: Self.now + age)
        }
        #expect(try decision(59) == .serve(.hit(age: .seconds(59)), age: 59))
        #expect(try decision(60) == .ask)
        #expect(try decision(5, "no-cache") == .ask)
        #expect(try decision(5, isRepeated: true) == .ask)
    }

    // MARK: Section 4.3, validation

    @Test("4.3.4: A 304 confirms the stored response only if its validators are those of the stored response")
    func confirming() throws {
        let tag = ("ETag", "\"a\""), weak = ("ETag", "W/\"a\""), date = ("Last-Modified", Self.yesterday)
        let table: [(new: [(String, String)], old: [(String, String)], Bool)] = [
            ([], [tag, date], true), ([tag], [tag], true), ([tag], [weak], true), ([weak], [tag], true),
            ([weak], [weak], true), ([("ETag", "\"b\"")], [tag, date], false), ([("ETag", "W/\"b\"")], [weak], false),
            ([tag], [date], false), ([tag, date], [date], true), ([date], [date], true),
            ([("Last-Modified", Self.today)], [date], false),
            ([tag, ("Last-Modified", Self.today)], [tag, date], true),
        ]
        for (new, old, isConfirmed) in table {
            #expect(CacheRules.validates(head(304, new), try stored(old)) == isConfirmed, "\(new) for \(old)")
        }
    }

    @Test("4.3.4 and 4.3.5: A response that must no longer be stored is removed, instead of updated")
    func keeping() throws {
        var options = HTTPCache.Options()
        options.isShared = true
        let table: [(control: String, kept: Bool, keptShared: Bool)] = [
            ("", true, true), ("no-store", false, false), ("no-store, must-understand", true, true),
            ("private", true, false), ("no-cache", true, true), ("max-age=0; no-store", false, false),
        ]
        let old = try stored([("Cache-Control", "max-age=60")])
        for (control, kept, keptShared) in table {
            let new = head(304, control.isEmpty ? [] : [("Cache-Control", control)])
            let updated = old.updated(by: new, to: try request(), requested: Self.now, received: Self.now)
            #expect(rules.mayKeep(updated, after: new, CacheControl()) == kept, "\(control)")
            #expect(CacheRules(options).mayKeep(updated, after: new, CacheControl()) == keptShared, "\(control)")
            #expect(!rules.mayKeep(updated, after: new, CacheControl(["no-store"])))
        }
    }

    @Test("4.3.5: The response to a HEAD updates only a stored response with the same status")
    func headOfAnotherStatus() throws {
        let stored = try stored([("Cache-Control", "max-age=60")], status: 404)
        #expect(!CacheRules.describes(head(200, [("Cache-Control", "max-age=600")]), stored))
    }

    // MARK: Section 5, fields

    @Test("5: Fields for other caches, such as CDN-Cache-Control, have no meaning here")
    func targetedFields() throws {
        for name in ["CDN-Cache-Control", "Surrogate-Control", "X-Cache-Control"] {
            #expect(rules.lifetime(of: try stored([(name, "max-age=60")])) == 0)
            let both = try stored([(name, "max-age=1, no-cache"), ("Cache-Control", "max-age=60")])
            #expect(rules.lifetime(of: both) == 60 && !both.control.noCache)
            let forbidden = head(200, [(name, "max-age=60"), ("Cache-Control", "no-store")])
            #expect(!rules.mayStore(forbidden, to: try request(), CacheControl()))
        }
    }

    @Test(
        "5.2: A strict directive counts also if the text around it is malformed",
        arguments: [
            "max-age=60; no-store", "max-age=60;no-store", "public no-store", "no-store;", "public;no-store, max-age=9",
            "max-age=60 no-store", "no-store no-cache", "max-age=\"60\" no-store", "ext=a no-store", "no-store =x",
        ])
    func malformedSeparators(value: String) {
        #expect(CacheControl([value]).noStore)
        let others = CacheControl([
            value.replacing("no-cache", with: "x").replacing("no-store", with: "No-Cache"),
            "a; must-revalidate; private",
        ])
        #expect(others.noCache && others.mustRevalidate && others.isPrivate && !others.noStore)
    }

    @Test("5.2: A quoted text and a well-formed extension are no directives")
    func noDirectives() {
        for value in ["ext=\"no-store; no-store\"", "no-store-ish", "ext=no-store", "x-no-store", "a=\"b, no-store\""] {
            #expect(CacheControl([value]) == CacheControl([]), "\(value)")
        }
    }
}
