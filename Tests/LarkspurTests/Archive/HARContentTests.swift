import Foundation
import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurInsight
@testable import LarkspurTesting

@Suite("The content of archives", .limited)
struct HARContentTests {
    @Test("Cookies and the fields of forms are listed, without the values of secrets")
    func lists() async throws {
        let folder = try TemporaryFolder()
        let file = folder["archive.har"]
        let har = HARRecorder(to: file)
        let stub = StubTransport { _ in
            .response(200, headers: ["Set-Cookie": "sid=s3cret; Path=/; Domain=h; Secure; HttpOnly"])
        }
        let session = Session(transport: stub, eventMonitors: [har])
        var multipart = MultipartFormData()
        multipart.append("Ada", name: "name")
        multipart.append("s3cret", name: "password")
        multipart.append(Data("x,y".utf8), name: "file", fileName: "a;b.csv", mimeType: "text/csv")
        _ = try await session.request("http://h/", headers: ["Cookie": "a=s3cret; b=s3cret"]).serializingData().value
        _ = try await session.request("http://h/", method: .post, parameters: ["q": "a b", "pin": "s3cret"])
            .serializingData().value
        _ = try await session.upload(multipart, to: "http://h/").serializingData().value
        try await har.finish()
        let entries = try ArchiveReader(file: file).entries()
        #expect(
            entries[0]["request"]["cookies"]
                == [["name": "a", "value": "REDACTED"], ["name": "b", "value": "REDACTED"]])
        let cookie: JSON = [
            "name": "sid", "value": "REDACTED", "path": "/", "domain": "h", "httpOnly": true, "secure": true,
        ]
        #expect(entries[0]["response"]["cookies"] == [cookie])
        let form = entries[1]["request"]["postData"]["params"].array ?? []
        #expect(Set(form) == [["name": "q", "value": "a b"], ["name": "pin", "value": "REDACTED"]])
        let parts: JSON = [
            ["name": "name", "value": "Ada"], ["name": "password", "value": "REDACTED"],
            ["name": "file", "fileName": "a;b.csv", "contentType": "text/csv"],
        ]
        #expect(entries[2]["request"]["postData"]["params"] == parts)
    }

    @Test("Bytes of a message that is one too many do not become those of another message")
    func tooManyMessages() async throws {
        let session = Session(transport: StubTransport { _ in .text("x") })
        let request = await session.request("http://h/", startsAutomatically: false)
        let exchange = HARExchange(request, bodyLimit: 1)
        exchange.receive(.beginHop(try OutgoingRequest("http://h/")))
        // Their bytes are beyond the limit.
        let message = BodyPart(of: .sentMessage(isText: false), offset: 0, bytes: Data(count: 60))
        for _ in 0..<10_000 {
            exchange.receive(.webSocket(.sendMessage(60)))
            exchange.receive(.copyBody(message))
        }
        exchange.receive(.webSocket(.sendMessage(5)))
        exchange.receive(.copyBody(BodyPart(of: .sentMessage(isText: true), offset: 0, bytes: Data("extra".utf8))))
        let messages = try #require(exchange.hop?.messages)
        #expect(messages.count == 10_000 && messages.allSatisfy { $0.bytes == nil && !$0.isText })
    }

    @Test("Each connection of a WebSocket has the limit for the bytes of its messages")
    func limitOfEachConnection() async throws {
        let session = Session(transport: StubTransport { _ in .text("x") })
        let request = await session.request("http://h/", startsAutomatically: false)
        let exchange = HARExchange(request, bodyLimit: 1)
        let byte = BodyPart(of: .receivedMessage(isText: false), offset: 0, bytes: Data(count: 1))
        for _ in 0..<2 {
            exchange.receive(.beginHop(try OutgoingRequest("http://h/")))
            for _ in 0..<17 {
                exchange.receive(.webSocket(.receiveMessage(1)))
                exchange.receive(.copyBody(byte))
            }
            let messages = try #require(exchange.endHop()?.hop.messages)
            #expect(messages.map { $0.bytes?.count } == Array(repeating: 1, count: 16) + [nil])
        }
    }

    @Test("A hop begins after the end of the hop before it, however late the recorder receives the events")
    func starts() async throws {
        let session = Session(transport: StubTransport { _ in .text("x") })
        let request = await session.request("http://h/", startsAutomatically: false)
        let sent = try OutgoingRequest("http://h/")
        let exchange = HARExchange(request, bodyLimit: 0)
        var starts: [Date] = []
        for total in [Duration.milliseconds(1), .seconds(10), .milliseconds(1)] {
            var metrics = TransportMetrics()
            metrics.total = total
            exchange.receive(.beginHop(sent))
            exchange.receive(.gatherMetrics(metrics))
            starts.append(try #require(exchange.start(at: Date())))
            exchange.receive(.endHop(nil))
        }
        #expect(starts[1] >= starts[0] && starts[2].timeIntervalSince(starts[1]) >= 10)
    }

    @Test("Phases: nil for unknown optional ones, TLS within the connection, and the sum")
    func timings() {
        var metrics = TransportMetrics()
        (metrics.queued, metrics.nameLookup, metrics.connected) = (.milliseconds(1), .milliseconds(2), .milliseconds(5))
        (metrics.secured, metrics.requestSent) = (.milliseconds(9), .milliseconds(10))
        (metrics.firstByte, metrics.total) = (.milliseconds(20), .milliseconds(50))
        var all = HARArchive.Timings()
        (all.blocked, all.dns, all.connect) = (.milliseconds(1), .milliseconds(2), .milliseconds(7))
        (all.tls, all.send, all.wait, all.receive) = (
            .milliseconds(4), .milliseconds(1), .milliseconds(10), .milliseconds(30)
        )
        #expect(HARArchive.Timings(metrics) == all)
        #expect(all.sum == .milliseconds(51))
        var reused = TransportMetrics()
        (reused.firstByte, reused.total) = (.milliseconds(4), .milliseconds(6))
        var few = HARArchive.Timings()
        (few.send, few.wait, few.receive) = (.zero, .milliseconds(4), .milliseconds(2))
        #expect(HARArchive.Timings(reused) == few)
        #expect(HARArchive.Timings(nil).sum == .zero)
    }
}
