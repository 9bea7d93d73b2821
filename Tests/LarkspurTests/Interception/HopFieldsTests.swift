import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

private enum Tenant {
    @TaskLocal static var current = "none"
}

/// A source that reads a task-local value when the request is created, and checks where it is called.
private struct TenantSource: HopFieldSource {
    struct Fields: HopFields {
        let tenant: String
        let recorder: EventRecorder

        func fields(for hop: HopContext) -> HTTPHeaders {
            recorder.probe("a source of hop fields")
            return ["X-Tenant": tenant]
        }
    }

    let recorder: EventRecorder

    func hopFields(for request: RequestID) -> (any HopFields)? {
        recorder.probe("a source of hop fields")
        return Tenant.current == "skipped" ? nil : Fields(tenant: Tenant.current, recorder: recorder)
    }
}

@Suite("Fields of hops", .limited)
struct HopFieldsTests {
    private let log = TransportLog()
    private let recorder = EventRecorder()

    private func configuration(_ sources: [any HopFieldSource]) -> SessionConfiguration {
        SessionConfiguration {
            $0.headers = [:]
            $0.validation = [.standard]
            $0.eventMonitors = [recorder]
            $0.hopFields = sources
        }
    }

    private let numbers: any HopFieldSource = .forEachHop { hop in
        ["X-Hop": "\(hop.requestID) \(hop.attempt).\(hop.number) \(hop.url.target)"]
    }

    @Test("Each hop of each attempt has fields of its own, which no other hop gets")
    func everyHop() async throws {
        let session = log.session(configuration([numbers])) { request, number in
            switch (request.url.target, number) {
            case ("/old", _): .redirect(to: "/new")
            case (_, 2): .text("busy", status: 503)
            default: .text("ok")
            }
        }
        let request = await session.request("http://h/old").retry(using: RetryOnce())
        let response = await request.serializingString().response
        #expect(response.value == "ok")
        let id = request.id
        let expected = ["\(id) 1.1 /old", "\(id) 1.2 /new", "\(id) 2.1 /old", "\(id) 2.2 /new"]
        #expect(log.requests.map { HTTPHeaders($0.fields).values(for: "X-Hop") } == expected.map { [$0] })
        await recorder.wait { $0.last?.name == "finish" }
        let seen = recorder.events.compactMap { event -> String? in
            if case .beginHop(let sent) = event { sent.headers["X-Hop"] } else { nil }
        }
        #expect(seen == expected)
        // The response has the request without the fields, because a later hop adds its own.
        #expect(response.request?.headers["X-Hop"] == nil)
    }

    @Test("A repeated hop after a 417 is asked for its fields again")
    func amended() async throws {
        let session = log.session(configuration([numbers])) { _, number in
            number == 1 ? .response(417) : .text("ok")
        }
        let request = await session.upload(Data("body".utf8), to: "http://h/") { $0.options.expectsContinueFrom = 1 }
        _ = try await request.serializingString().value
        #expect(log.requests.compactMap { $0["X-Hop"]?.split(separator: " ")[1] } == ["1.1", "1.2"])
    }

    @Test("A redirect handler does not see the fields, so they cannot reach the next hop")
    func redirectHandler() async throws {
        let session = log.session(configuration([numbers])) { _, number in
            number == 1 ? .redirect(to: "/b") : .text("ok")
        }
        let request = await session.request("http://h/a").redirect(
            using: Redirector { redirect in
                var next = try redirect.proposal
                next.headers.add(name: "X-Seen", value: redirect.request.headers["X-Hop"] ?? "none")
                return .follow(next)
            })
        _ = try await request.serializingString().value
        #expect(log.requests.last?["X-Seen"] == "none")
        #expect(log.requests.last?["X-Hop"]?.hasSuffix("1.2 /b") == true)
    }

    @Test("A field of the request is kept, and the first source of a name wins")
    func existing() async throws {
        let sources: [any HopFieldSource] = [
            .forEachHop { _ in ["x-own": "source", "X-First": "1"] },
            .forEachHop { _ in [HTTPHeader(name: "X-First", value: "2"), HTTPHeader(name: "X-More", value: "a")] },
        ]
        let session = log.session(configuration(sources))
        _ = try await session.request("http://h/", headers: ["X-Own": "user"]).serializingString().value
        #expect(log.requests.last?.fields.map(\.line) == ["X-Own: user", "X-First: 1", "X-More: a"])
    }

    @Test(
        "Invalid fields and fields of the framework fail the hop, which is not sent",
        arguments: [
            ("Host", "evil.example"), ("content-length", "5"), ("Content-Type", "text/plain"), ("Cookie", "a=b"),
            ("Transfer-Encoding", "chunked"), ("Connection", "close"), ("Range", "bytes=0-1"), ("TE", "trailers"),
            ("Accept-Encoding", "br"), ("Sec-WebSocket-Key", "x"), ("Expect", "100-continue"), ("X-A", "b\r\nX-B: c"),
            ("X A", "b"), ("", "b"), ("X-A", " b"), ("Upgrade", "h2c"), ("Proxy-Authorization", "Basic eA=="),
        ])
    func refused(name: String, value: String) async throws {
        let session = log.session(
            configuration([.forEachHop { _ in HTTPHeaders([HTTPHeader(name: name, value: value)]) }]))
        let response = await session.request("http://h/").serializingString().response
        #expect(response.error?.code == .invalidRequest)
        #expect(response.error?.message.contains("source of hop fields") == true)
        #expect(log.count == 0)
        await recorder.wait { $0.last?.name == "finish" }
        let names = recorder.events.map(\.name)
        #expect(names.count { $0 == "beginHop" } == 1 && names.count { $0 == "endHop" } == 1)
    }

    @Test("A source reads task-local values of the task that creates the request")
    func taskLocal() async throws {
        let session = log.session(configuration([TenantSource(recorder: recorder)])) { request, _ in
            request.url.target == "/a" ? .redirect(to: "/b") : .text("ok")
        }
        let request = await Tenant.$current.withValue("blue") { await session.request("http://h/a") }
        _ = try await Tenant.$current.withValue("red") { try await request.serializingString().value }
        #expect(log.requests.map { $0["X-Tenant"] } == ["blue", "blue"])
        #expect(request.hopFields.count == 1)
        let skipped = await Tenant.$current.withValue("skipped") { await session.request("http://h/b") }
        _ = try await skipped.serializingString().value
        #expect(log.requests.last?["X-Tenant"] == nil && skipped.hopFields.isEmpty)
        #expect(recorder.violations.isEmpty)
    }

    @Test("A field whose name is confidential is marked as secret")
    func confidential() async throws {
        var configuration = configuration([.forEachHop { _ in ["X-Seal": "wax"] }])
        configuration.options.confidentialHeaders = ["x-seal"]
        _ = try await log.session(configuration).request("http://h/").serializingString().value
        #expect(log.requests.last?.fields.first?.isSecret == true)
    }
}
