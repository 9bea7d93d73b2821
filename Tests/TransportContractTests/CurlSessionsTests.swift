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

        @Test("Frames and bytes without progress are limited for each session, and later progress does not help")
        func limits() {
            defer { memory.deallocate() }
            var sessions = CurlSessions()
            let allowed = frames(of: one, in: &sessions)
            #expect(allowed == CurlSessions.frameLimit)
            let progress = [sessions.mayProgress(one), sessions.mayProgress(other)]
            #expect(progress == [false, true])
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

        @Test("Progress, an upload, time and another session at the same address reset the count")
        func beginnings() {
            defer { memory.deallocate() }
            let most = CurlSessions.frameLimit - 1
            let later = CurlSessions.period + 1
            var sessions = CurlSessions()
            var allowed = [frames(of: one, in: &sessions, atMost: most)]
            let mayProgress = sessions.mayProgress(one)
            #expect(mayProgress)
            allowed.append(frames(of: one, in: &sessions, atMost: most))
            sessions.didUpload()
            allowed.append(frames(of: one, in: &sessions, atMost: most))
            allowed.append(frames(of: one, in: &sessions, atMost: most, at: later))
            #expect(allowed == [most, most, most, most])
            sessions.didOpen(one)
            let afterwards = frames(of: one, in: &sessions, at: later)
            #expect(afterwards == CurlSessions.frameLimit)
        }
    }
#endif
