import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("A session that replaces another", .limited)
struct RenewedSessionTests {
    private let log = TransportLog()

    @Test("It sends requests after the old one was invalidated, with its configuration, fields and cookies")
    func renewed() async throws {
        let old = log.session(SessionConfiguration { $0.baseURL = "http://h/v1" }) { _, number in
            .response(headers: number == 1 ? ["Set-Cookie": "a=1; Path=/"] : [:])
        }
        old.headers.update(name: "X-Token", value: "t")
        _ = try await old.request("1").serializingData().value
        await old.invalidate()
        #expect(await old.request("2").serializingData().response.error?.code == .sessionInvalidated)
        let new = old.renewed()
        _ = try await new.request("3").serializingData().value
        #expect(log.requests.map(\.url.path) == ["/v1/1", "/v1/3"])
        #expect(log.requests.last?["Cookie"] == "a=1" && log.requests.last?["X-Token"] == "t")
        #expect(new.cookieJar === old.cookieJar)
    }
}
