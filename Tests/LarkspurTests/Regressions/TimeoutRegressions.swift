import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

/// A total limit and the transport's own timeout pass at the same time, and either may be first.
@Suite("Total limits and the transport's timeouts", .limited)
struct TimeoutRegressions {
    /// Everything that an error says, but for its request's number.
    private func description(of response: DataResponse<Data>) throws -> [String] {
        let error = try #require(response.error)
        let hop = try #require(response.attempts.last?.hops.last)
        return [
            "\(error.code)", "\(error.stage.map { "\($0)" } ?? "no stage")", error.message, "\(error.isTimeout)",
            "\(error.isConnectivity)", "\(error.attempts)", "\(error.url?.text ?? "no URL")",
            "\(hop.error?.code.rawValue ?? "no error")",
        ]
    }

    private let expected = [
        "timedOut", "sending", "the total timeout of 5.0 seconds has passed", "true", "true", "1", "http://h/",
        "timedOut",
    ]

    private func session(_ transport: any Transport, on clock: any Clock<Duration>) -> Session {
        let asked = Interceptor(retry: { _, _, _ in
            Issue.record("a retrier was asked after the total limit")
            return .doNotRetry
        })
        let configuration = SessionConfiguration {
            $0.clock = clock
            $0.options.timeouts.total = .seconds(5)
        }
        return Session(configuration: configuration, transport: transport, interceptor: asked)
    }

    @Test("The error is the same whether the session's timer or the transport is first", arguments: [true, false])
    func sameError(transportIsFirst: Bool) async throws {
        let clock = ManualClock()
        let transport = StubTransport { request in
            guard transportIsFirst, let limit = request.timeouts.total else { return StubAnswer([.stall]) }
            clock.advance(by: limit - .milliseconds(1))
            return .failure(.timedOut)
        }
        let request = await session(transport, on: clock).request("http://h/")
        let task = request.serializingData()
        if !transportIsFirst {
            for await _ in request.requests { break }  // the hop has begun
            await clock.waitForSleepers()
            clock.advance(by: .seconds(5))
        }
        #expect(try description(of: await task.response) == expected)
    }

    @Test("The error is the same in every order of the timer, the hop's end and the pipeline's next step")
    func race() async throws {
        for round in 0..<300 {
            let (clock, transport) = (ManualClock(), HeldTransport())
            var hops = transport.hops
            let task = await session(transport, on: clock).request("http://h/").serializingData()
            let hop = try #require(await hops.next())
            let end: @Sendable () -> Void = { hop.finish(TransportError(.timedOut)) }
            switch round % 3 {
            case 0:
                clock.advance(by: .seconds(5) - .milliseconds(1))
                end()
                clock.advance(by: .milliseconds(1))
            case 1:
                clock.advance(by: .seconds(5))
                end()
            default:
                clock.advance(by: .seconds(5) - .milliseconds(1))
                async let ended: Void = end()
                async let passed: Void = clock.advance(by: .milliseconds(1))
                _ = await (ended, passed)
            }
            #expect(try description(of: await task.response) == expected)
        }
    }

    #if os(Linux)
        @Test("Over the network a silent server is left with an error that names the stage, each time")
        func network() async throws {
            let server = try MockServer()
            server.on("GET", "/silent") { _ in .stall }
            let session = Session()
            let errors = await withTaskGroup(of: RequestError?.self) { group in
                for _ in 0..<100 {
                    group.addTask {
                        let request = await session.request(server.url + "/silent").timeout(.total(.seconds(2)))
                        return await request.serializingData().response.error
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            for error in errors {
                #expect(error?.isTimeout == true && error?.stage == .sending && error?.isConnectivity == true)
                #expect(error?.attempts == 1 && error?.timeoutName == "total")
            }
        }
    #endif
}
