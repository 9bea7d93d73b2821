import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Cookies and threads", .limited)
struct CookieThreadTests {
    /// The way in which a caller gets its response: it waits, reads after the end, reads twice, or reads in a task that
    /// belongs to the request because an adapter has started it.
    private enum Reading: Int { case waiting, late, twice, adapted }

    /// A response is read on its awaiter's thread, on the transport's thread and on the request's task. The thread
    /// sanitizer checks these paths.
    @Test("The cookies of a response are in the jar when the response is delivered, on any thread")
    func manyAtOnce() async throws {
        let server = try MockServer { request in
            guard let pair = request.query, request.path == "/set" else { return .text("ok") }
            return .response(200, headers: ["Set-Cookie": "\(pair); Path=/"], chunks: [Data("ok".utf8)])
        }
        let session = Session()
        let jar = try #require(session.cookieJar)
        let url = try RequestURL(server.url)
        let failures = await withTaskGroup(of: Int.self) { group in
            for caller in 0..<8 {
                group.addTask {
                    var failures = 0
                    for turn in 0..<40 {
                        let path = turn.isMultiple(of: 4) ? "/plain" : "/set"
                        let reading = caller < 4 ? Reading(rawValue: turn % 3) ?? .waiting : .adapted
                        let text = await Self.text(
                            session, "\(url.text)\(path.dropFirst())?c\(caller)=\(turn)", reading)
                        let value = jar.cookies(for: url).first { $0.name == "c\(caller)" }?.value
                        let isKept = path == "/plain" || value == "\(turn)"
                        if text != "ok" || !isKept { failures += 1 }
                    }
                    return failures
                }
            }
            return await group.reduce(0, +)
        }
        #expect(failures == 0)
        #expect(jar.cookies(for: url).count == 8)
    }

    private static func text(_ session: Session, _ url: String, _ reading: Reading) async -> String? {
        let request = await session.request(url)
        switch reading {
        case .waiting: return await request.serializingString().response.value
        case .adapted:
            return await request.adapt(using: .adapter { _, _ in }).serializingString().response.value
        case .late:
            request.resume()
            _ = await request.serializingData().response
            return await request.serializingString().response.value
        case .twice:
            async let data = request.serializingData().response
            async let text = request.serializingString().response
            return await data.data.map { String(decoding: $0, as: UTF8.self) } == text.value ? "ok" : nil
        }
    }
}
