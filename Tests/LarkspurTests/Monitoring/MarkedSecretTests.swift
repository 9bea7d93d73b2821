import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Values marked as secrets", .limited)
struct MarkedSecretTests {
    private static let secret = "s3cret"
    private let log = TransportLog()
    private let journal = Journal()

    private static let mark = HTTPHeader(name: "X-Tenant", value: secret, isSecret: true)

    /// Sends a request that is adapted, redirected and retried, with an echo of its secrets, and returns all output
    /// about it.
    private func outputs(
        _ url: String = "http://h/a", headers: HTTPHeaders = [:], interceptor: any RequestInterceptor,
        options: @escaping @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async -> [String] {
        let recorder = EventRecorder()
        let logged = LogMonitor(level: .body, to: LogSink { [journal] in journal.note($0) })
        let transport = log.transport { request, number in
            let query = request.url.query.map { "?\($0)" } ?? ""
            switch request.url.path {
            case "/a": return .redirect(to: "/b" + query)
            case "/b" where number == 2: return .failure(.connectionLost)
            case "/b": return .redirect(to: "http://h/c" + query)
            default:
                let next = Data(#"{"next": "http://h/d\#(query)"}"#.utf8)
                let fields = ["X-Tenant": request["X-Tenant"] ?? "", "Link": "<http://h/d\(query)>; rel=next"]
                return .response(200, headers: HTTPHeaders(fields), chunks: [next])
            }
        }
        let configuration = SessionConfiguration {
            $0.headers = [:]
            $0.eventMonitors = [CompositeEventMonitor([logged, recorder])]
        }
        let session = Session(configuration: configuration, transport: transport, interceptor: interceptor)
        let request = await session.request(url, headers: headers) { options(&$0.options) }
            .adapt(using: .adapter { request, _ in request.headers.add(name: "X-Late", value: "late") })
            .retry(using: .retrier { request, _, _ in request.retryCount == 0 ? .retry : .doNotRetry })
        let response = await request.serializingData().response
        await recorder.wait { $0.contains { $0.name == "finish" } }
        var outputs = journal.lines + recorder.events.map { "\($0)" } + Self.shown(request) + Self.shown(response)
        outputs += [request.cURLDescription(), response.debugDescription] + response.timeline.map(\.description)
        for hop in response.attempts.flatMap(\.hops) {
            outputs += Self.shown(hop.request) + Self.shown(hop.request.url) + Self.shown(hop.request.headers)
            outputs += hop.request.headers.flatMap(Self.shown) + [hop.request.cURLDescription()]
        }
        for request in log.requests {
            outputs += Self.shown(request) + Self.shown(request.url) + request.fields.flatMap(Self.shown)
        }
        return outputs
    }

    private static func shown(_ value: some Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return ["\(value)", String(reflecting: value), "\([value])", dumped]
    }

    @Test(
        "A header that is marked stays secret, through adapters, redirects, retries, events, logs and to the transport")
    func header() async {
        for output in await outputs(headers: [Self.mark], interceptor: Interceptor()) {
            #expect(!output.contains(Self.secret))
        }
        #expect(log.requests.count == 5 && log.requests.allSatisfy { $0["X-Tenant"] == Self.secret })
        #expect(journal.lines.joined().contains("> X-Tenant: REDACTED"))
    }

    @Test("A key in the query or in a field stays secret, whatever its name", arguments: ["appid", "q[x y]"])
    func key(name: String) async {
        for place in [APIKeyAuthentication.Place.query(name), .header("X-Tenant")] {
            for output in await outputs("http://h/a?page=1", interceptor: .apiKey(Self.secret, in: place)) {
                #expect(!output.contains(Self.secret))
            }
        }
        #expect(log.requests.allSatisfy { "\($0.url.text) \($0.fields.map(\.value))".contains(Self.secret) })
        #expect(journal.lines.joined().contains("page=1"))
    }

    @Test("Query items named in the options stay secret")
    func options() async {
        let told = await outputs("http://h/a?Page=1&Tenant=\(Self.secret)", interceptor: Interceptor()) {
            $0.confidentialQueryItems = ["tenant"]
            $0.confidentialHeaders = ["x-tenant"]
        }
        for output in told { #expect(!output.contains(Self.secret)) }
        #expect(log.requests.last?.url.query == "Page=1&Tenant=\(Self.secret)")
        #expect(journal.lines.joined().contains("?Page=1&Tenant=REDACTED"))
    }

    @Test("The mark survives copies, merging, sorting and a new value, and does not affect equality")
    func copies() throws {
        var headers: HTTPHeaders = [Self.mark]
        headers.update(name: "x-tenant", value: "other")
        #expect(headers[0].isSecret && headers["X-Tenant"] == "other")
        headers["X-Tenant"] = Self.secret
        headers.update(HTTPHeader(name: "X-New", value: Self.secret, isSecret: true))
        headers.update(HTTPHeader(name: "Accept", value: "*/*"))
        var merged: HTTPHeaders = ["A": "1"]
        merged.addMissing(from: headers)
        var request = OutgoingRequest(url: try RequestURL("http://h/"), headers: merged)
        request.urlRequest.setValue("2", forHTTPHeaderField: "A")
        request.urlRequest.setValue("t0p", forHTTPHeaderField: "X-New")
        let copies = [headers, headers.sorted(), HTTPHeaders(headers.map(\.self)), merged, request.headers]
        for copy in copies {
            #expect(copy.filter(\.isSecret).count == 2)
            #expect(!Self.shown(copy).joined().contains(Self.secret) && !"\(copy)".contains("t0p"))
        }
        #expect(Self.mark == HTTPHeader(name: "X-Tenant", value: Self.secret))
        #expect(Set([Self.mark, HTTPHeader(name: "X-Tenant", value: Self.secret)]).count == 1)
    }

    @Test("A marked header does not follow a redirect to another origin, and is shown only without redaction")
    func redirects() async throws {
        let session = log.session { request, _ in
            request.url.host == "h" ? .redirect(to: "http://other/") : .text("ok")
        }
        let request = await session.request("http://h/", headers: [Self.mark])
        _ = try await request.serializingData().value
        #expect(log.requests.map { $0["X-Tenant"] } == [Self.secret, nil])
        let first = try #require(request.attempts.first?.request)
        #expect(first.cURLDescription(redacting: Redaction(names: ["a"])).contains("X-Tenant: REDACTED"))
        #expect(first.cURLDescription(redacting: .none).contains("X-Tenant: \(Self.secret)"))
    }

    @Test("No error of a later stage shows a key")
    func errors() async throws {
        let session = log.session(interceptor: .apiKey(Self.secret, in: .query("appid")))
        let request = await session.request("http://h/a").adapt(using: .adapter { _, _ in throw ForeignError() })
        let error = try #require(await request.serializingData().response.error)
        let url = try #require(error.url)
        #expect(url.text.hasSuffix("?appid=\(Self.secret)"))
        for output in Self.shown(error) + Self.shown(url) { #expect(!output.contains(Self.secret)) }
    }
}
