#if os(Linux)
    import CLarkspur
    import Larkspur
    import LarkspurTesting
    import Testing

    @Suite("The turn in libcurl's loop", .timeLimit(.minutes(3)))
    struct CurlTurnTests {
        private static var isSignalBlocked: Bool {
            var mask = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &mask)
            return sigismember(&mask, SIGPIPE) == 1
        }

        @Test("Who borrows it is not met by SIGPIPE, and goes on with the signals that it had")
        func signals() throws {
            let turn = try #require(clarkspur_turn_open())
            defer { clarkspur_turn_close(turn) }
            #expect(!Self.isSignalBlocked)
            for _ in 0..<2 {
                #expect(clarkspur_turn_borrow(turn))
                #expect(Self.isSignalBlocked)
                pthread_kill(pthread_self(), SIGPIPE)  // as a write to a peer that has gone
                clarkspur_turn_end(turn)
                #expect(!Self.isSignalBlocked)
            }
        }

        @Test("Who has blocked SIGPIPE before keeps it blocked")
        func ownMask() throws {
            let turn = try #require(clarkspur_turn_open())
            defer { clarkspur_turn_close(turn) }
            var (pipe, before) = (sigset_t(), sigset_t())
            sigemptyset(&pipe)
            sigaddset(&pipe, SIGPIPE)
            pthread_sigmask(SIG_BLOCK, &pipe, &before)
            defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
            #expect(clarkspur_turn_borrow(turn))
            clarkspur_turn_end(turn)
            #expect(Self.isSignalBlocked)
        }

        @Test("One that somebody has is not lent, and is free again after its end")
        func exclusion() throws {
            let turn = try #require(clarkspur_turn_open())
            defer { clarkspur_turn_close(turn) }
            clarkspur_turn_begin(turn)
            #expect(!clarkspur_turn_borrow(turn))
            clarkspur_turn_end(turn)
            #expect(clarkspur_turn_borrow(turn))
            #expect(!clarkspur_turn_borrow(turn))
            clarkspur_turn_end(turn)
        }

        @Test("A request that starts while the loop sleeps is sent by the thread that starts it")
        func sending() async throws {
            let server = try MockServer()
            server.on("POST", "/", .text("ok"))
            let transport = CurlTransport()
            let request = TransportRequest(
                method: "POST", url: try RequestURL(server.url + "/"), body: .data(Data("hello".utf8)))
            // The loop may be on its way to sleep still.
            for _ in 0..<1_000 {
                let (thread, delegate) = (String(describing: pthread_self()), transport.start(request))
                let trace = try await delegate.wait { $0.isCompleted && $0.depth == 0 }
                trace.check(.response("ok"))
                if trace.records.first?.thread == thread { return }
            }
            Issue.record("not one of 1,000 requests was sent by the thread that has started it")
        }
    }
#endif
