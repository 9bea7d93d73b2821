import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Interceptors of one side, of several parts, and of arrays", .limited)
struct InterceptorSidesTests {
    private struct Mark: RequestAdapter {
        let name: String

        func adapt(_ request: inout OutgoingRequest, using state: RequestAdapterState) {
            request.headers.add(name: "X-Mark", value: name)
        }
    }

    /// Asks for one retry, and notes that it was asked.
    private struct Once: RequestRetrier {
        let name: String
        let journal: Journal

        func retry(_ request: any Request, for session: Session, dueTo error: RequestError) -> RetryResult {
            journal.note(name)
            return request.retryCount < 1 && name == "retry" ? .retry : .doNotRetry
        }
    }

    private let log = TransportLog()
    private let journal = Journal()

    private var marks: [[String]] { log.requests.map { $0.fields.filter { $0.name == "X-Mark" }.map(\.value) } }

    private func send(_ session: Session) async {
        _ = await session.request("http://h/").serializingData().response
    }

    @Test("An adapter alone is an interceptor that retries nothing")
    func adapter() async {
        await send(log.session(interceptor: .adapter(Mark(name: "a"))) { _, _ in .failure(.connectionLost) })
        #expect(marks == [["a"]])
    }

    @Test("A retrier alone is an interceptor that changes nothing")
    func retrier() async {
        await send(
            log.session(interceptor: .retrier(Once(name: "retry", journal: journal))) { _, _ in
                .failure(.connectionLost)
            })
        #expect(log.count == 2 && journal.lines == ["retry", "retry"] && marks == [[], []])
    }

    @Test("Adapters come before interceptors, retriers are asked before them, each in order")
    func parts() async {
        let inner = Interceptor(adapter: Mark(name: "c"), retrier: Once(name: "last", journal: journal))
        let all = Interceptor(
            adapters: [Mark(name: "a"), Mark(name: "b")],
            retriers: [Once(name: "first", journal: journal), Once(name: "retry", journal: journal)],
            interceptors: [inner])
        await send(log.session(interceptor: all) { _, _ in .failure(.connectionLost) })
        #expect(marks == [["a", "b", "c"], ["a", "b", "c"]])
        #expect(journal.lines == ["first", "retry", "first", "retry", "last"])
    }

    @Test("A session takes an array of interceptors, and an array can be composed")
    func arrays() async {
        let list: [any RequestInterceptor] = [.adapter(Mark(name: "b")), .adapter(Mark(name: "c"))]
        let configuration = SessionConfiguration {
            $0.headers = [:]
            $0.interceptors = [.adapter(Mark(name: "a"))]
        }
        await send(Session(configuration: configuration, transport: log.transport(), interceptors: list))
        await send(log.session(interceptor: .composed(list)))
        await send(log.session(interceptor: Interceptor(interceptors: list)))
        #expect(marks == [["a", "b", "c"], ["b", "c"], ["b", "c"]])
    }
}
