import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("The header fields of a live session", .limited)
struct SessionHeadersTests {
    private let log = TransportLog()

    private func values(of name: String) -> [String?] { log.requests.map { $0[name] } }

    @Test("Later requests have the new fields, and a request's own field counts more")
    func later() async {
        let session = log.session(SessionConfiguration { $0.headers = ["X-A": "1", "X-B": "1"] })
        _ = await session.request("http://h/").serializingData().response
        session.headers["X-A"] = "2"
        session.headers.remove(name: "X-B")
        _ = await session.request("http://h/").serializingData().response
        _ = await session.request("http://h/", headers: ["X-A": "own"]).serializingData().response
        #expect(values(of: "X-A") == ["1", "2", "own"] && values(of: "X-B") == ["1", nil, nil])
        #expect(session.headers["X-A"] == "2" && session.configuration.headers["X-A"] == "2")
    }

    @Test("A retry of a request in flight has the new fields")
    func retry() async {
        let again = Interceptor(retry: { request, session, _ in
            session.headers["X-Token"] = "new"
            return request.retryCount < 1 ? .retry : .doNotRetry
        })
        let session = log.session(SessionConfiguration { $0.headers = ["X-Token": "old"] }, interceptor: again) {
            _, number in number == 1 ? .failure(.connectionLost) : .text("ok")
        }
        _ = await session.request("http://h/").serializingData().response
        #expect(values(of: "X-Token") == ["old", "new"])
    }

    @Test("A field that is not valid fails the later requests, and no earlier one")
    func invalid() async {
        let session = log.session()
        #expect(await session.request("http://h/").serializingData().response.error == nil)
        session.headers["X-A"] = "a\nb"
        #expect(await session.request("http://h/").serializingData().response.error?.code == .invalidRequest)
        session.headers["X-A"] = "a"
        #expect(await session.request("http://h/").serializingData().response.error == nil)
        #expect(log.count == 2)
    }

    @Test("No change is lost when many threads make one at a time")
    func atomic() async {
        let session = log.session(SessionConfiguration { $0.headers = ["X-Count": "0"] })
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    session.updateHeaders { $0["X-Count"] = "\((Int($0["X-Count"] ?? "") ?? 0) + 1)" }
                }
            }
        }
        #expect(session.headers["X-Count"] == "100")
    }

    @Test("A session that extends another one copies the current fields")
    func extending() async {
        let session = log.session()
        session.headers["X-A"] = "1"
        let other = session.extending { $0.headers["X-B"] = "2" }
        session.headers["X-A"] = "changed"
        _ = await other.request("http://h/").serializingData().response
        #expect(values(of: "X-A") == ["1"] && values(of: "X-B") == ["2"])
    }
}
