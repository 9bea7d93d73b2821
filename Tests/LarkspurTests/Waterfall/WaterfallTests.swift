import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurInsight

@Suite("The page of a waterfall", .limited)
struct WaterfallTests {
    private static let hostile = "</script><script>alert(1)</script><!--&\u{2028}\u{2029}\u{0}\"\\"

    private static func entry(_ url: String = "http://h/", status: Int = 200, at second: Double = 0)
        -> HARArchive.Entry
    {
        HARArchive.Entry(
            startedAt: Date(timeIntervalSince1970: second), request: .init(url: url), response: .init(status: status))
    }

    /// The content of an element with data.
    private static func data(_ id: String, in page: String) throws -> String {
        let start = try #require(page.range(of: "<script type=\"application/json\" id=\"\(id)\">"))
        let end = try #require(page.range(of: "</script>", range: start.upperBound..<page.endIndex))
        return String(page[start.upperBound..<end.lowerBound])
    }

    private static func rows(_ waterfall: Waterfall) throws -> [JSON] {
        try JSON(data: Data(data("rows", in: waterfall.html).utf8)).array ?? []
    }

    private static func details(_ waterfall: Waterfall) throws -> [JSON] {
        try data("details", in: waterfall.html).split(separator: "\n").map { try JSON(data: Data($0.utf8)) }
    }

    @Test("The policy allows the script and the style of the page alone")
    func hashes() {
        for (text, expected) in [
            (WaterfallPage.style, WaterfallPage.styleHash), (WaterfallPage.script, WaterfallPage.scriptHash),
        ] {
            var hash = StreamingHash(.sha256)
            Array(text.utf8).withUnsafeBytes { hash.update($0) }
            #expect("sha256-\(Data(hash.finalize()).base64EncodedString())" == expected)
        }
        let page = Waterfall(HARArchive()).html
        #expect(page.contains("default-src 'none'; style-src '\(WaterfallPage.styleHash)'"))
        #expect(page.contains("<script>\(WaterfallPage.script)</script>"))
    }

    @Test("The script of the page uses text alone, and no source of code or network")
    func script() {
        for name in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "fetch("] {
            #expect(!WaterfallPage.script.contains(name))
        }
    }

    /// The places of an archive that hold text of a server or of a file.
    static let places: [(String, @Sendable (inout HARArchive.Entry, String) -> Void)] = [
        ("url", { $0.request.url = $1 }), ("method", { $0.request.method = $1 }),
        ("request field", { $0.request.headers = HTTPHeaders([HTTPHeader(name: "a", value: $1)]) }),
        ("request field name", { $0.request.headers = HTTPHeaders([HTTPHeader(name: $1, value: "a")]) }),
        ("request body", { $0.request.body = .init(Data($1.utf8), mimeType: "text/plain") }),
        ("request type", { $0.request.body = .init(Data("a".utf8), mimeType: $1) }),
        ("status text", { $0.response.statusText = $1 }), ("version", { $0.response.version = $1 }),
        ("response field", { $0.response.headers = HTTPHeaders([HTTPHeader(name: "a", value: $1)]) }),
        ("response field name", { $0.response.headers = HTTPHeaders([HTTPHeader(name: $1, value: "a")]) }),
        ("response body", { $0.response.body.bytes = Data($1.utf8) }),
        ("response type", { $0.response.body.mimeType = $1 }), ("comment", { $0.response.body.comment = $1 }),
        ("redirect", { $0.response.redirectURL = $1 }), ("address", { $0.serverAddress = $1 }),
        ("trailer", { $0.response.trailers = HTTPHeaders([HTTPHeader(name: "a", value: $1)]) }),
        ("request", { $0.requestID = $1 }), ("cache", { $0.cacheOutcome = $1 }),
        ("resource", { $0.resourceType = $1 }), ("error", { $0.error = $1 }),
        (
            "message",
            {
                let message = HARArchive.Message(isSent: false, isText: true, time: Date(), bytes: Data($1.utf8))
                $0.messages = [message]
            }
        ),
    ]

    @Test("Hostile text cannot end the element that holds it", arguments: places.indices)
    func hostile(place: Int) throws {
        let plain = Waterfall(HARArchive(entries: [Self.entry()])).html.components(separatedBy: "<").count
        var entry = Self.entry()
        Self.places[place].1(&entry, Self.hostile)
        let waterfall = Waterfall(HARArchive(entries: [entry]))
        let page = waterfall.html
        #expect(page.components(separatedBy: "<").count == plain, "\(Self.places[place].0)")
        #expect(!page.contains("\u{2028}") && !page.contains("\u{2029}") && !page.utf8.contains(0))
        #expect(try Self.rows(waterfall).count == 1)
        #expect(try Self.details(waterfall).count == 1)
    }

    @Test("A hostile title is shown as text")
    func title() throws {
        let page = Waterfall(HARArchive(), title: "</title>\(Self.hostile)").html
        #expect(page.contains("<title>&lt;/title&gt;&lt;/script&gt;"))
        #expect(try JSON(data: Data(Self.data("head", in: page).utf8))["title"].string == "</title>\(Self.hostile)")
    }

    @Test("An archive without entries has a page without rows")
    func empty() throws {
        let waterfall = Waterfall(HARArchive())
        #expect(try Self.rows(waterfall).isEmpty && Self.details(waterfall).isEmpty)
    }

    @Test("Rows are in the order of their start, and only the first ones are shown")
    func limit() throws {
        var waterfall = Waterfall(HARArchive(entries: [3, 1, 2].map { Self.entry("http://h/\($0)", at: Double($0)) }))
        #expect(try Self.rows(waterfall).map { $0["url"] } == ["http://h/1", "http://h/2", "http://h/3"])
        #expect(try Self.rows(waterfall).map { $0["start"] } == [0, 1_000, 2_000])
        waterfall.rowLimit = 2
        #expect(try Self.rows(waterfall).map { $0["url"] } == ["http://h/1", "http://h/2"])
        #expect(try JSON(data: Data(Self.data("head", in: waterfall.html).utf8))["total"] == 3)
    }

    @Test("Text is cut at a whole character, and other bytes are shown in hexadecimal digits")
    func bodies() throws {
        func shown(_ bytes: Data, limit: Int = 4) throws -> JSON {
            var entry = Self.entry()
            entry.response.body = .init(bytes)
            var waterfall = Waterfall(HARArchive(entries: [entry]))
            waterfall.bodyLimit = limit
            return try #require(try Self.details(waterfall).first)["responseBody"]
        }
        let cut = try shown(Data("abcäz".utf8))
        #expect(cut["text"] == "abc" && cut["recorded"] == 6)
        #expect(try shown(Data("abä".utf8))["text"] == "abä")
        #expect(try shown(Data([0xFF, 0, 1]))["hex"] == "ff0001")
        #expect(try shown(Data("abc".utf8), limit: 0)["text"] == "")
    }

    @Test("TLS is a part of the connect phase in the archive, and a phase of its own on the page")
    func phases() {
        var timings = HARArchive.Timings()
        (timings.connect, timings.tls, timings.wait) = (.milliseconds(50), .milliseconds(30), .microseconds(1_500))
        #expect(WaterfallData.phases(of: timings) == [-1, -1, 20, 30, -1, 1.5, -1])
        timings.tls = .milliseconds(80)
        #expect(WaterfallData.phases(of: timings) == [-1, -1, 0, 50, -1, 1.5, -1])
    }

    @Test("Numbers that JSON does not have are finite", arguments: [Double.nan, .infinity, -.infinity, -0.25, 1e300])
    func numbers(number: Double) throws {
        var json = WaterfallJSON()
        json.number(number)
        let value = try #require(try JSON(data: Data(json.bytes)).double)
        #expect(number == -0.25 ? value == -0.25 : value.isFinite)
    }

    @Test("Hops are joined by the name of their request, or by the target of a redirect")
    func groups() throws {
        var named = [Self.entry(at: 1), Self.entry(at: 2), Self.entry(at: 3)]
        (named[0].requestID, named[1].requestID, named[2].requestID) = ("#1", "#2", "#1")
        #expect(try Self.rows(Waterfall(HARArchive(entries: named))).map { $0["request"] } == [0, 1, 0])

        var browser = [Self.entry("http://h/a/b", status: 302, at: 1), Self.entry("http://h/x", at: 2)]
        browser[0].response.redirectURL = "../c#part"
        browser.append(Self.entry("http://h/c", at: 3))
        #expect(try Self.rows(Waterfall(HARArchive(entries: browser))).map { $0["request"] } == [0, 1, 0])
    }

    @Test("A page that cannot be written is an error")
    func unwritable() throws {
        let folder = try TemporaryFolder()
        let error = #expect(throws: RequestError.self) {
            try Waterfall(HARArchive()).write(to: folder["missing/page.html"])
        }
        #expect(error?.code == .fileUnwritable)
    }

    @Test("A recorder keeps the last hops, redacted, and marks those in flight")
    func recorder() async throws {
        let recorder = WaterfallRecorder(entryLimit: 2)
        let session = Session(
            transport: StubTransport { request in
                request.url.path == "/old" ? .redirect(to: "/new?token=s3cret") : .text("the answer")
            }, eventMonitors: [recorder])
        for path in ["first", "old"] { _ = try await session.request("http://h/\(path)").serializingString().value }
        let rows = try Self.rows(await recorder.waterfall())
        #expect(rows.map { $0["status"] } == [302, 200])
        #expect(rows[0]["request"] == rows[1]["request"] && rows[1]["hop"] == 2)
        #expect(rows[1]["url"].string?.contains("s3cret") == false)

        let held = HeldTransport()
        let slow = Session(transport: held, eventMonitors: [recorder])
        let task = Task { try await slow.request("http://h/slow").serializingString().value }
        var hops = held.hops
        _ = await hops.next()
        let pending = try Self.rows(await recorder.waterfall()).last
        #expect(pending?["url"] == "http://h/slow" && pending?["pending"] == 1)
        held.answer()
        _ = try await task.value
        #expect(try Self.rows(await recorder.waterfall()).last?["pending"].isNull == true)
    }
}
