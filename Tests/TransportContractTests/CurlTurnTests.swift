#if os(Linux)
    import CLarkspur
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    @testable import LarkspurCurl

    @Suite("The turn in libcurl's loop", .limited)
    struct CurlTurnTests {
        private static var isSignalBlocked: Bool {
            var mask = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &mask)
            return sigismember(&mask, SIGPIPE) == 1
        }

        @Test("A borrowing thread receives no SIGPIPE, and its signal mask is restored")
        func signals() throws {
            let turn = try #require(clarkspur_turn_open())
            defer { clarkspur_turn_close(turn) }
            #expect(!Self.isSignalBlocked)
            for _ in 0..<2 {
                #expect(clarkspur_turn_try_begin(turn))
                #expect(Self.isSignalBlocked)
                pthread_kill(pthread_self(), SIGPIPE)  // like a write to a disconnected peer
                clarkspur_turn_end(turn)
                #expect(!Self.isSignalBlocked)
            }
        }

        @Test("A thread that had blocked SIGPIPE keeps it blocked")
        func ownMask() throws {
            let turn = try #require(clarkspur_turn_open())
            defer { clarkspur_turn_close(turn) }
            var (pipe, before) = (sigset_t(), sigset_t())
            sigemptyset(&pipe)
            sigaddset(&pipe, SIGPIPE)
            pthread_sigmask(SIG_BLOCK, &pipe, &before)
            defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
            #expect(clarkspur_turn_try_begin(turn))
            pthread_kill(pthread_self(), SIGPIPE)
            clarkspur_turn_end(turn)
            #expect(Self.isSignalBlocked)
            #expect(!Self.isSignalPending, "the signal of the thread's own write is still pending")
            pthread_kill(pthread_self(), SIGPIPE)
            #expect(clarkspur_turn_try_begin(turn))
            clarkspur_turn_end(turn)
            #expect(Self.isSignalPending, "the program's own signal was discarded")
            var signal: Int32 = 0
            sigwait(&pipe, &signal)
        }

        private static var isSignalPending: Bool {
            var signals = sigset_t()
            sigpending(&signals)
            return sigismember(&signals, SIGPIPE) == 1
        }

        @Test("A borrowing thread blocks all signals, and so do threads that a name lookup starts")
        func otherSignals() throws {
            let turn = try #require(clarkspur_turn_open())
            defer { clarkspur_turn_close(turn) }
            func blocked(_ signals: [Int32]) -> [Int32] {
                var mask = sigset_t()
                pthread_sigmask(SIG_BLOCK, nil, &mask)
                return signals.filter { sigismember(&mask, $0) == 1 }
            }
            let (others, faults) = ([SIGUSR1, SIGCHLD, SIGTERM], [SIGSEGV, SIGABRT])
            let before = (others: blocked(others), faults: blocked(faults))
            #expect(clarkspur_turn_try_begin(turn))
            #expect(blocked(others) == others)
            #expect(blocked(faults) == before.faults)
            clarkspur_turn_end(turn)
            #expect(blocked(others) == before.others)
            #expect(blocked(faults) == before.faults)
        }

        @Test("A waiting thread acquires the turn before another thread borrows it")
        func order() async throws {
            let opened = try #require(clarkspur_turn_open())
            let (turn, gate, hadIt) = (UInt(bitPattern: opened), Gate(), Protected(false))
            func pointer() -> OpaquePointer? { OpaquePointer(bitPattern: turn) }
            #expect(clarkspur_turn_try_begin(pointer()))
            let thread = Thread {
                clarkspur_turn_begin(OpaquePointer(bitPattern: turn))
                hadIt.withLock { $0 = true }
                clarkspur_turn_end(OpaquePointer(bitPattern: turn))
                gate.open()
            }
            thread.start()
            while !clarkspur_turn_is_wanted(pointer()) { sched_yield() }
            clarkspur_turn_end(pointer())
            while !clarkspur_turn_try_begin(pointer()) { sched_yield() }
            #expect(hadIt.withLock { $0 })
            clarkspur_turn_end(pointer())
            try await gate.opened()
            clarkspur_turn_close(pointer())
        }

        @Test("An acquired turn cannot be borrowed, and is free again after its end")
        func exclusion() throws {
            let turn = try #require(clarkspur_turn_open())
            defer { clarkspur_turn_close(turn) }
            clarkspur_turn_begin(turn)
            #expect(!clarkspur_turn_try_begin(turn))
            clarkspur_turn_end(turn)
            #expect(clarkspur_turn_try_begin(turn))
            #expect(!clarkspur_turn_try_begin(turn))
            clarkspur_turn_end(turn)
        }

        @Test("A request that starts while the loop sleeps is sent by the thread that starts it")
        func sending() async throws {
            let server = try MockServer()
            server.on("POST", "/", .text("ok"))
            let transport = CurlTransport()
            let request = TransportRequest(
                method: "POST", url: try RequestURL(server.url + "/"), body: .data(Data("hello".utf8)))
            // The loop may not be asleep yet.
            for _ in 0..<1_000 {
                let (thread, delegate) = (String(describing: pthread_self()), transport.start(request))
                let trace = try await delegate.wait { $0.isCompleted && $0.depth == 0 }
                trace.check(.response("ok"))
                if trace.records.first?.thread == thread { return }
            }
            Issue.record("none of 1,000 requests was sent by the thread that started it")
        }

        @Test("After the loop's end no work is left, whatever was scheduled for later")
        func afterTheEnd() async throws {
            let server = try MockServer()
            server.on("GET", "/", .text("ok"))
            let clock = EngineClock()
            let transport = CurlTransport(clock: clock)
            var request = TransportRequest(url: try RequestURL(server.url + "/"))
            request.timeouts = .only { $0.total = .days(1) }
            let delegates = (0..<4).map { _ in transport.start(request) }
            for delegate in delegates {
                try await delegate.wait { $0.isCompleted && $0.depth == 0 }.check(.response("ok"))
            }
            let held = transport.start(TransportRequest(url: try RequestURL(server.url + "/")))
            transport.invalidate()
            try await held.wait { $0.isCompleted && $0.depth == 0 }
            // The alarms of all requests are due. A caller that was about to borrow the turn when the loop ended borrows
            // it now, once the loop's thread has given it back.
            clock.advance(by: .days(1))
            let loop = transport.loops[0]
            let borrowed = (0..<100_000).count { _ in
                sched_yield()
                return loop.takeTurn()
            }
            #expect(borrowed == 0)
        }

        /// A body that is available at once, piece by piece, and records which threads read it.
        private final class Watched: TransportBodyStream {
            private let box = Protected((left: 64, wake: (@Sendable () -> Void)?.none))
            private let readers: Protected<Set<String>>

            init(_ readers: Protected<Set<String>>) {
                self.readers = readers
            }

            func begin(wake: @escaping @Sendable () -> Void) { box.withLock { $0.wake = wake } }

            func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead {
                let reader = String(describing: pthread_self())
                readers.withLock { _ = $0.insert(reader) }
                let (left, wake) = box.withLock { box in
                    box.left -= 1
                    return (box.left, box.wake)
                }
                if left <= 0 { return .end }
                guard left % 2 == 0 else {
                    Task { wake?() }
                    return .pending
                }
                buffer[0] = 0x61
                return .bytes(1)
            }

            func end() {}
        }

        @Test("A body that needs reading is read on the loop's own thread, however many threads borrow the turn")
        func bodies() async throws {
            let server = try MockServer()
            server.on("GET", "/", .text("ok"))
            server.on("PUT", "/", .text("taken"))
            let transport = CurlTransport()
            let readers = Protected(Set<String>())
            let upload = TransportRequest(
                method: "PUT", url: try RequestURL(server.url + "/"),
                body: .stream(TransportBodySource(length: nil, isReplayable: true) { Watched(readers) }))
            let small = TransportRequest(url: try RequestURL(server.url + "/"))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { for _ in 0..<40 { try await transport.run(upload).check(.response("taken")) } }
                for _ in 0..<3 {
                    group.addTask { for _ in 0..<200 { try await transport.run(small).check(.response("ok")) } }
                }
                try await group.waitForAll()
            }
            #expect(readers.withLock { $0 }.count == 1)
        }
    }
#endif
