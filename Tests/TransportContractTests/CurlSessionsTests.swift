#if os(Linux)
    import TestSupport
    import Testing

    @testable import LarkspurCurl

    /// The limits for frames and bytes that a peer of an HTTP/2 session may send without progress.
    @Suite("Budgets of HTTP/2 sessions", .limited)
    struct CurlSessionsTests {
        private let (one, other): (CurlSessions.ID, CurlSessions.ID)
        private let memory = UnsafeMutableRawPointer.allocate(byteCount: 2, alignment: 1)

        init() { (one, other) = (memory, memory + 1) }

        /// Sends frames until the session is refused one. Returns the number of accepted frames.
        private func frames(
            of session: CurlSessions.ID, in sessions: inout CurlSessions, atMost limit: Int = .max, at now: UInt64 = 0
        ) -> Int {
            var count = 0
            while count < limit, sessions.mayReceive(frames: 1, bytes: 9, from: session, at: now) { count += 1 }
            return count
        }

        /// Notes progress. Returns whether the session may go on.
        private func progress(_ session: CurlSessions.ID, by count: Int, in sessions: inout CurlSessions) -> Bool {
            sessions.mayProgress(session, by: count)
        }

        @Test("Frames and bytes without progress are limited for each session, and later progress does not help")
        func limits() {
            defer { memory.deallocate() }
            var sessions = CurlSessions()
            let allowed = frames(of: one, in: &sessions)
            #expect(allowed == CurlSessions.frameLimit)
            sessions.didSendRequest(over: one)
            sessions.didUpload(1 << 20, over: one)
            let mayProgress = [one, other].map { progress($0, by: 1 << 20, in: &sessions) }
            #expect(mayProgress == [false, true])
            let bytes = [CurlSessions.byteLimit, 1].map {
                sessions.mayReceive(frames: 0, bytes: $0, from: other, at: 0)
            }
            #expect(bytes == [true, false])
        }

        @Test("Sessions that have ended are forgotten after some time")
        func manySessions() {
            memory.deallocate()
            var sessions = CurlSessions()
            let memory = UnsafeMutableRawPointer.allocate(byteCount: 10_000, alignment: 1)
            defer { memory.deallocate() }
            for index in 0..<10_000 {
                let now = UInt64(index) * CurlSessions.period / 100
                _ = sessions.mayReceive(frames: 1, bytes: 9, from: memory + index, at: now)
            }
            let count = sessions.count
            #expect(count <= 2_000)
        }

        @Test("A byte of progress does not pay for thousands of frames, or for megabytes")
        func smallProgress() {
            defer { memory.deallocate() }
            var sessions = CurlSessions()
            var allowed = 0
            for _ in 0..<10 {
                allowed += frames(of: one, in: &sessions, atMost: 9_000)
                _ = progress(one, by: 1, in: &sessions)
            }
            #expect(allowed <= CurlSessions.frameLimit + 1)
            let megabytes = (0..<100).prefix { _ in
                sessions.mayReceive(frames: 0, bytes: 1 << 20, from: other, at: 0)
                    && progress(other, by: 1, in: &sessions)
            }
            #expect(megabytes.count == CurlSessions.byteLimit >> 20)
        }

        @Test("A KiB of progress pays for 32 frames, and small frames of progress need no payment")
        func proportion() {
            defer { memory.deallocate() }
            var sessions = CurlSessions()
            let isPaid = (0..<10_000).allSatisfy { _ in
                frames(of: one, in: &sessions, atMost: 32) == 32 && progress(one, by: 1_024, in: &sessions)
            }
            #expect(isPaid)
            let goesOn = (0..<500).allSatisfy { _ in
                sessions.mayReceive(frames: 0, bytes: 109_000, from: other, at: 0)
                    && (0..<1_000).allSatisfy { _ in progress(other, by: 100, in: &sessions) }
            }
            #expect(goesOn)
        }

        @Test("A hundred events a second, each with a ping, go on forever")
        func events() {
            defer { memory.deallocate() }
            var sessions = CurlSessions()
            let goesOn = (0..<200_000).allSatisfy { number in
                sessions.mayReceive(frames: 1, bytes: 46, from: one, at: UInt64(number) * 10_000_000)
                    && progress(one, by: 20, in: &sessions)
            }
            #expect(goesOn)
        }

        @Test("Requests and uploads pay for frames of their own session")
        func requestsAndUploads() {
            defer { memory.deallocate() }
            var sessions = CurlSessions()
            let all = frames(of: one, in: &sessions, atMost: CurlSessions.frameLimit - 1)
            #expect(all == CurlSessions.frameLimit - 1)
            for _ in 0..<100 {
                sessions.didSendRequest(over: other)
                sessions.didUpload(1 << 20, over: other)
            }
            for _ in 0..<100 {
                sessions.didSendRequest(over: one)
                let allowed = frames(of: one, in: &sessions, atMost: CurlSessions.framesOfRequest)
                sessions.didUpload(CurlSessions.frameCost, over: one)
                let further = frames(of: one, in: &sessions, atMost: CurlSessions.framesOfUpload + 1)
                #expect(allowed == CurlSessions.framesOfRequest)
                #expect(further == CurlSessions.framesOfUpload + 1)
            }
            let last = frames(of: one, in: &sessions)
            #expect(last == 1)
        }

        @Test("Time and another session at the same address restart the count")
        func beginnings() {
            defer { memory.deallocate() }
            let most = CurlSessions.frameLimit - 1
            let later = CurlSessions.period + 1
            var sessions = CurlSessions()
            let allowed = [0, later].map { frames(of: one, in: &sessions, atMost: most, at: $0) }
            #expect(allowed == [most, most])
            sessions.didOpen(one)
            let afterwards = frames(of: one, in: &sessions, at: later)
            #expect(afterwards == CurlSessions.frameLimit)
        }
    }
#endif
