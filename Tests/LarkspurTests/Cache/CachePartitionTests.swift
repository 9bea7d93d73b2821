import Larkspur
import LarkspurInsight
import LarkspurTesting
import TestSupport
import Testing

@Suite("The parties whose responses a cache keeps apart", .limited)
struct CachePartitionTests {
    @Test("A response is served only to requests with the same Authorization, and with the same cookies if it sets one")
    func parties() async {
        let stage = CacheStage { request, number in
            .fresh("\(number)", request.url.target == "/c" ? ["Set-Cookie": "s=\(number)"] : [:])
        }
        #expect(await stage.get("http://h/", ["Authorization": "Bearer a"]).value == "1")
        #expect(await stage.get("http://h/", ["Authorization": "Bearer b"]).value == "2")
        #expect(await stage.get().value == "3")
        #expect(await stage.get("http://h/", ["authorization": "Bearer a"]).value == "1")
        #expect(await stage.get("http://h/c", ["Cookie": "s=a"]).value == "4")
        #expect(await stage.get("http://h/c", ["Cookie": "s=b"]).value == "5")
        let again = await stage.get("http://h/c", ["Cookie": "s=a"])
        #expect(again.value == "4" && again.head?["Set-Cookie"] == nil, "an old cookie must not come back")
    }

    @Test("Every credential keeps responses apart, also one whose name only its mark tells")
    func credentials() async {
        let stage = CacheStage { _, number in .fresh("\(number)") }
        for (index, value) in ["a", "b"].enumerated() {
            #expect(await stage.get("http://h/k", ["X-API-Key": value]).value == "\(index + 1)")
        }
        #expect(await stage.get("http://h/k", ["x-api-key": "a"]).value == "1")
        for (index, value) in ["a", "b"].enumerated() {
            let marked = HTTPHeaders([HTTPHeader(name: "Who", value: value, isSecret: true)])
            #expect(await stage.get("http://h/w", marked).value == "\(index + 3)")
        }
        #expect(await stage.get("http://h/k", ["X-API-Key": "b", "Who": "a"]).value == "2")
    }

    @Test("Transports whose settings decide about the response share no response, unlike those with the defaults")
    func transports() async {
        let cache = HTTPCache.inMemory()
        let base = TransportLog().transport { _, number in .fresh("\(number)") }
        var values: [String?] = []
        for name in ["", "a", "b", "", "a"] {
            let session = Session(
                configuration: SessionConfiguration { $0.cache = cache },
                transport: NamedTransport(base, name.isEmpty ? .common : .named(name)))
            values.append(await session.request("http://h/").serializingString().response.value)
        }
        #expect(values == ["1", "2", "3", "1", "2"])
    }

    @Test("Sessions with different trust share no response of https, and those without a manager share theirs")
    func trust() async throws {
        let (log, own) = (TransportLog(), try Certificate(Certificate.own))
        let cache = HTTPCache.inMemory()
        let transport = log.transport { _, number in
            .fresh("\(number)").by(PeerTrust(host: "h", port: 443, certificates: [own.bytes]))
        }
        func session(_ trust: ServerTrustManager?) -> Session {
            Session(
                configuration: SessionConfiguration {
                    $0.cache = cache
                    $0.serverTrust = trust
                }, transport: transport)
        }
        func get(_ session: Session) async -> String? {
            await session.request("https://h/").serializingString().response.value
        }
        let open = session(ServerTrustManager(evaluators: ["h": .disabled]))
        #expect(await get(open) == "1")
        #expect(await get(session(nil)) == "2")
        #expect(await get(session(ServerTrustManager(evaluators: ["h": .default]))) == "3")
        #expect(await get(session(nil)) == "2")
        #expect(await get(open) == "1")
    }
}
