import Foundation
import Larkspur
import LarkspurInsight
import TestSupport
import Testing

@testable import enum LarkspurInsight.HARDate

@Suite("Archives that are read and written", .limited)
struct HARArchiveTests {
    private static func archive(_ entry: String) throws -> HARArchive {
        try HARArchive(data: Data(#"{"log":{"entries":[\#(entry)]}}"#.utf8))
    }

    private static let small = #""startedDateTime":"2026-11-26T10:02:08Z","request":{"method":"GET","url":"http://h/"}"#

    @Test("An entry needs a date, a method and a URL, and no more")
    func minimal() throws {
        let entry = try #require(try Self.archive("{\(Self.small)}").entries.first)
        #expect(entry.startedAt == Date(timeIntervalSince1970: 1_795_687_328))
        #expect(entry.request.method == "GET" && entry.request.url == "http://h/" && entry.request.body == nil)
        #expect(entry.response.status == 0 && entry.response.body.bytes == nil && entry.time == .zero)
    }

    @Test("An archive of a browser is read")
    func browser() throws {
        let archive = try HARArchive(data: Data(Self.chrome.utf8))
        let entry = try #require(archive.entries.first)
        #expect(entry.time == .microseconds(161_800) && entry.serverAddress == "192.0.2.7")
        #expect(entry.resourceType == "fetch" && entry.request.version == "h2")
        #expect(entry.request.headers == ["accept": "*/*", "x-a": "1"])
        #expect(entry.request.cookies.map(\.name) == ["id"])
        #expect(entry.request.body?.bytes == Data("a=b%20c&d=%26".utf8))
        #expect(entry.request.body?.fields.map(\.value) == ["b c", "&"])
        #expect(entry.response.status == 201 && entry.response.statusText == "Created")
        #expect(entry.response.body.bytes == Data([0, 1, 2]) && entry.response.body.size == 3)
        #expect(entry.response.bodySize == nil && entry.response.redirectURL.isEmpty)
        let timings = entry.timings
        #expect(timings.blocked == .microseconds(1_500) && timings.dns == nil && timings.tls == .milliseconds(20))
        #expect(timings.connect == .milliseconds(45) && timings.receive == .microseconds(300))
        #expect(entry.messages.map(\.bytes) == [Data("hi".utf8), Data([255])])
        #expect(entry.messages.map(\.isSent) == [true, false] && entry.messages.map(\.isText) == [true, false])
    }

    @Test(
        "A damaged archive is an error that names the entry and the member",
        arguments: [
            ("", "not JSON"), ("[]", "log.entries"), (#"{"log":{"entries":{}}}"#, "log.entries"),
            (#"{"log":{"entries":[1]}}"#, "entry 0 of the archive: startedDateTime"),
            (
                #"{"log":{"entries":[{\#(small)},{"startedDateTime":"2026-11-26T10:02:08Z"}]}}"#,
                "entry 1 of the archive: request.method"
            ),
            (
                #"{"log":{"entries":[{\#(small),"response":{"content":{"text":"%","encoding":"base64"}}}]}}"#,
                "entry 0 of the archive: response.content.text is not in base64"
            ),
        ])
    func damaged(text: String, message: String) {
        #expect {
            try HARArchive(data: Data(text.utf8))
        } throws: { error in
            (error as? RequestError)?.code == .invalidArchive && "\(error)".contains(message)
        }
    }

    @Test("A missing file is an error with its path")
    func missing() {
        #expect {
            try HARArchive(contentsOf: URL(fileURLWithPath: "/nonexistent/a.har"))
        } throws: {
            ($0 as? RequestError)?.code == .fileUnreadable && "\($0)".contains("/nonexistent/a.har")
        }
    }

    @Test(
        "Values outside of their range are not known",
        arguments: ["-1", "1e300", "-1e300", "\"x\"", "null", "[]", "{}", "true", "123456789012345678901234567890"])
    func ranges(value: String) throws {
        let phases = ["blocked", "dns", "connect", "ssl", "send", "wait", "receive"].map { "\"\($0)\":\(value)" }
        let entry = try #require(
            try Self.archive(
                """
                {\(Self.small),"time":\(value),"timings":{\(phases.joined(separator: ","))},"_attempt":\(value),
                "response":{"status":\(value),"bodySize":\(value),"headers":\(value),"content":{"size":\(value)}},
                "_webSocketMessages":[{"time":\(value),"_size":\(value)}]}
                """
            ).entries.first)
        #expect(entry.timings == HARArchive.Timings() && entry.time == .zero)
        #expect(entry.response.status == 0 && entry.response.bodySize == nil && entry.response.body.size == nil)
        #expect(entry.messages.map(\.size) == [0])
    }

    @Test(
        "Dates have any fraction and any offset",
        arguments: [
            ("1970-01-01T00:00:00.000Z", 0.0), ("2026-11-26T10:02:08.250Z", 1_795_687_328.25),
            ("2026-11-26T12:02:08.25+02:00", 1_795_687_328.25), ("2026-11-26T04:32:08.25-0530", 1_795_687_328.25),
            ("2026-11-26 10:02:08.250000000", 1_795_687_328.25), ("2000-02-29T00:00Z", 951_782_400),
        ])
    func dates(text: String, time: Double) throws {
        let date = try #require(HARDate.date(from: text))
        #expect(abs(date.timeIntervalSince1970 - time) < 1e-6)
    }

    @Test(
        "Texts that are not dates",
        arguments: ["", "2026", "2026-13-01T00:00:00Z", "2026-11-26T10:02:08X", "x", "2026-11-26T10:02:08+1"])
    func noDates(text: String) {
        #expect(HARDate.date(from: text) == nil)
    }

    @Test("Dates are written as Foundation writes them")
    func writtenDates() {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        var random = SeededRandom(seed: 7)
        for _ in 0..<2_000 {
            let date = Date(timeIntervalSince1970: Double(random.next() % 253_402_300_799_000) / 1_000)
            let text = HARDate.text(of: date)
            #expect(HARDate.date(from: text).map { abs($0.timeIntervalSince(date)) < 0.001 } == true)
            #expect((try? style.parse(text)).map { abs($0.timeIntervalSince(date)) < 0.002 } == true)
        }
        for time in [-1e20, -1, 1e20, .infinity] {
            #expect(HARDate.date(from: HARDate.text(of: Date(timeIntervalSince1970: time))) != nil)
        }
    }

    @Test("What is written is read back, whatever the texts and bytes are")
    func roundTrip() throws {
        var random = SeededRandom(seed: 11)
        for _ in 0..<300 {
            let archive = HARArchive(entries: (0..<Int(random.next() % 4)).map { _ in Self.entry(&random) })
            #expect(try HARArchive(data: archive.data) == archive)
            #expect(try JSON(data: archive.data, duplicateKeys: .refuse)["log"]["version"] == "1.2")
        }
    }

    @Test("Any change of a byte is an archive or a typed error")
    func changedBytes() throws {
        var random = SeededRandom(seed: 13)
        let bytes = Array(Self.chrome.utf8)
        for _ in 0..<3_000 {
            var changed = bytes
            for _ in 0...random.next() % 3 {
                changed[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
            }
            if random.next() % 8 == 0 { changed.removeLast(Int(random.next() % UInt64(bytes.count))) }
            do { _ = try HARArchive(data: Data(changed)) } catch { #expect(error.code == .invalidArchive) }
        }
    }

    // MARK: Random entries

    private static func text(_ random: inout SeededRandom) -> String {
        let pieces = [
            "a", "\"", "\\", "\n", "\u{0}", "é", "</script>", "\u{2028}", "\u{7F}", "👍", " ", "=", "&", "%41",
        ]
        return (0..<Int(random.next() % 6)).map { _ in pieces[Int(random.next() % UInt64(pieces.count))] }.joined()
    }

    private static func time(_ random: inout SeededRandom) -> Duration? {
        random.next() % 3 == 0 ? nil : .microseconds(Int64(random.next() % 5_000_000))
    }

    private static func data(_ random: inout SeededRandom) -> Data? {
        switch random.next() % 3 {
        case 0: nil
        case 1: Data(text(&random).utf8)
        default: Data((0..<random.next() % 9).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        }
    }

    private static func entry(_ random: inout SeededRandom) -> HARArchive.Entry {
        var request = HARArchive.Request(
            method: "M" + text(&random), url: "http://h/" + text(&random),
            headers: HTTPHeaders([HTTPHeader(name: "n", value: text(&random))]))
        request.bodySize = random.next() % 2 == 0 ? 5 : nil
        request.cookies = [HARArchive.Cookie(name: text(&random), value: text(&random))]
        if let bytes = data(&random) { request.body = HARArchive.Body(bytes, mimeType: "x/" + text(&random)) }
        var response = HARArchive.Response(
            status: Int(random.next() % 1_000), statusText: text(&random),
            headers: HTTPHeaders([HTTPHeader(name: "n", value: text(&random))]),
            body: HARArchive.Body(data(&random), mimeType: "y/" + text(&random)))
        response.redirectURL = text(&random)
        response.trailers = random.next() % 2 == 0 ? ["t": text(&random)] : nil
        response.bodySize = random.next() % 2 == 0 ? Int(random.next() % 100) : nil
        var timings = HARArchive.Timings()
        (timings.blocked, timings.dns, timings.connect) = (time(&random), time(&random), time(&random))
        (timings.send, timings.wait, timings.receive) = (.zero, .milliseconds(3), .microseconds(1))
        let date = Date(timeIntervalSince1970: Double(random.next() % 4_000_000_000))
        var entry = HARArchive.Entry(startedAt: date, request: request, response: response, timings: timings)
        (entry.attempt, entry.hop, entry.requestID) = (1, 2, text(&random))
        entry.error = random.next() % 2 == 0 ? "e" + text(&random) : nil
        if random.next() % 2 == 0 {
            entry.messages = [
                HARArchive.Message(isSent: true, isText: true, time: date, bytes: Data(text(&random).utf8)),
                HARArchive.Message(isSent: false, isText: false, time: date, bytes: nil, size: 7),
            ]
        }
        return entry
    }

    /// An entry with the members that Chrome writes.
    private static let chrome = #"""
        {"log":{"version":"1.2","creator":{"name":"WebInspector","version":"537.36"},"pages":[{"id":"page_1"}],"entries":[{
        "_connectionId":"12","_initiator":{"type":"script","stack":{"callFrames":[]}},"_priority":"High",
        "_resourceType":"fetch","cache":{},"connection":"443","pageref":"page_1",
        "request":{"method":"POST","url":"https://h.example/a?b=c","httpVersion":"h2","headers":[
        {"name":":authority","value":"h.example"},{"name":"accept","value":"*/*"},{"name":"x-a","value":"1"}],
        "queryString":[{"name":"b","value":"c"}],"cookies":[{"name":"id","value":"7","path":"/","domain":"h.example",
        "expires":"2027-01-01T00:00:00.000Z","httpOnly":true,"secure":true,"sameSite":"Lax"}],
        "headersSize":-1,"bodySize":9,"postData":{"mimeType":"application/x-www-form-urlencoded",
        "params":[{"name":"a","value":"b c"},{"name":"d","value":"&"}]}},
        "response":{"status":201,"statusText":"Created","httpVersion":"h2","headers":[
        {"name":"content-type","value":"application/octet-stream"}],"cookies":[],"content":{"size":3,
        "mimeType":"application/octet-stream","text":"AAEC","encoding":"base64"},"redirectURL":"","headersSize":-1,
        "bodySize":-1,"_transferSize":120,"_error":null,"_fetchedViaServiceWorker":false},
        "serverIPAddress":"192.0.2.7","startedDateTime":"2026-11-26T10:02:08.250Z","time":161.8,
        "timings":{"blocked":1.5,"dns":-1,"ssl":20,"connect":45,"send":0.2,"wait":114.8,"receive":0.3,
        "_blocked_queueing":0.4},
        "_webSocketMessages":[{"type":"send","time":1795687328.3,"opcode":1,"data":"hi"},
        {"type":"receive","time":1795687328.4,"opcode":2,"data":"/w=="}]}]}}
        """#
}
