#if compiler(>=6.3)
    import CTestWidth
    import Larkspur
    import TestSupport
    import Testing

    /// Checks the limit of concurrent tests, which tests with time limits rely on.
    @Suite("Width", .limited)
    struct WidthTests {
        private static let running = Protected(0)

        @Test("No more tests run at once than the process allows", arguments: 0..<50)
        func width(_: Int) async throws {
            let text = try #require(ProcessInfo.processInfo.environment[TEST_WIDTH_VARIABLE])
            let now = Self.running.withLock { running in
                running += 1
                return running
            }
            #expect(now <= Int(text) ?? 0)
            // Long enough for the other tests to begin meanwhile.
            var checks = 0
            await poll {
                checks += 1
                return checks == 5
            }
            Self.running.withLock { $0 -= 1 }
        }
    }
#endif
