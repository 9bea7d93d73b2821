import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurSecurity

@Suite("Client identities by host", .limited)
struct ClientIdentitiesTests {
    /// A transport that asks for an identity as T33 says, and answers with its password.
    private final class Asking: TransportWrapper {
        private final class Delegate: TransportDelegate {
            private let delegate: any TransportDelegate
            private let host: String
            init(_ delegate: any TransportDelegate, _ host: String) { (self.delegate, self.host) = (delegate, host) }

            func received(_ event: TransportEvent, for task: TransportTaskID) {
                guard case .body = event else { return delegate.received(event, for: task) }
                let reply = TransportReply<ClientIdentity>()
                delegate.answer(.clientIdentity(host: host, reply), for: task)
                delegate.received(.body(Data((reply.value?.password ?? "none").utf8)), for: task)
            }

            func answer(_ question: TransportQuestion, for task: TransportTaskID) {
                delegate.answer(question, for: task)
            }
        }

        let base: any Transport = StubTransport { _ in
            .response(
                headers: ["Cache-Control": "max-age=1000", "Transfer-Encoding": "chunked"], chunks: [Data("x".utf8)])
        }
        let asked = Protected<[Bool]>([])
        let partition = TransportPartition.common

        func task(
            for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
        ) -> any TransportTask {
            asked.withLock { $0.append(request.asksForIdentity) }
            let host = request.url.host.map(String.init) ?? ""
            return base.task(for: request, id: id, delegate: Delegate(delegate, host))
        }
    }

    private static func identity(_ name: String) -> ClientIdentity { ClientIdentity(pkcs12: [1], password: name) }

    private let transport = Asking()

    private func session(_ identities: ClientIdentities, _ cache: HTTPCache? = nil) -> Session {
        Session(
            configuration: SessionConfiguration {
                $0.clientIdentities = identities
                $0.cache = cache
            }, transport: transport)
    }

    private func shown(_ session: Session, _ url: String) async -> String {
        let response = await session.request(url).serializingString().response
        return response.value ?? response.error?.code.rawValue ?? ""
    }

    @Test("The most specific pattern chooses the identity; other hosts and plain HTTP are not asked about")
    func patterns() async {
        let session = session(
            ClientIdentities([
                "a.test": Self.identity("own"), "*.a.test": Self.identity("below"), "**.b.test": Self.identity("deep"),
            ]))
        #expect(await shown(session, "https://A.test/") == "own")
        #expect(await shown(session, "https://x.a.test/") == "below")
        #expect(await shown(session, "https://x.y.b.test/") == "deep")
        #expect(await shown(session, "https://c.test/") == "none")
        _ = await shown(session, "http://a.test/")
        #expect(transport.asked.withLock { $0 } == [true, true, true, false, false])
    }

    @Test("An invalid or duplicate pattern fails each request over TLS before it is sent")
    func invalid() async {
        for identities in [
            ["a.test:443": Self.identity("x")], ["a.test": Self.identity("x"), "A.TEST": Self.identity("y")],
        ] {
            #expect(await shown(session(ClientIdentities(identities)), "https://b.test/") == "invalidIdentity")
        }
        #expect(transport.asked.withLock { $0.isEmpty })
    }

    @Test(
        "A closure is called once for each host with an identity, never on a transport's thread, and again after renew")
    func closure() async {
        let (journal, recorder) = (Journal(), EventRecorder())
        let identities = ClientIdentities { host in
            recorder.probe("the choice of an identity")
            journal.note(host)
            return host == "none.test" ? nil : Self.identity("\(host) \(journal.lines.count)")
        }
        let session = session(identities)
        #expect(await shown(session, "https://a.test/") == "a.test 1")
        #expect(await shown(session, "https://A.TEST:8443/") == "a.test 1")
        #expect(await shown(session, "https://none.test/") == "none")
        identities.renew("b.test")
        #expect(await shown(session, "https://a.test/") == "a.test 1")
        identities.renew("A.test")
        #expect(await shown(session, "https://a.test/") == "a.test 3")
        identities.renew()
        #expect(await shown(session, "https://a.test/") == "a.test 4")
        #expect(recorder.violations.isEmpty)
    }

    @Test("An error of the closure fails the request, and is the error below")
    func failure() async {
        let session = session(ClientIdentities { _ in throw ForeignError() })
        let error = await session.request("https://a.test/").serializingData().response.error
        #expect(error?.code == .invalidIdentity)
        #expect((error?.underlying as? TransportError)?.underlying is ForeignError)
        #expect(transport.asked.withLock { $0.isEmpty })
    }

    @Test("An evaluator of servers and client identities answer their own questions")
    func besideTrust() async throws {
        let own = try Certificate(Certificate.own)
        let session = Session(
            configuration: SessionConfiguration {
                $0.clientIdentities = ClientIdentities(["*": Self.identity("own")])
                $0.serverTrust = ServerTrustManager(evaluators: ["*": .pinnedCertificates([own])])
            }, transport: transport)
        #expect(await shown(session, "https://a.test/") == "own")
    }

    @Test("Sessions with different identities share no cached responses; those with the same value do")
    func cache() async {
        let cache = HTTPCache.inMemory()
        let (first, second) = (
            ClientIdentities(["*": Self.identity("first")]), ClientIdentities(["*": Self.identity("second")])
        )
        #expect(await shown(session(first, cache), "https://a.test/") == "first")
        #expect(await shown(session(second, cache), "https://a.test/") == "second")
        #expect(await shown(session(first, cache), "https://a.test/") == "first")
        #expect(transport.asked.withLock { $0.count } == 2)
    }

    @Test("Descriptions and dumps show no identity")
    func description() {
        var text = ""
        dump(ClientIdentities(["a.test": Self.identity("hunter2")]), to: &text)
        #expect(!text.contains("hunter2") && !text.contains("a.test"))
    }
}
