import Foundation
import LarkspurBase
import TestSupport
import Testing

@Suite("Threads of the system", .limited)
struct SystemThreadTests {
    #if os(Linux)
        @Test("The closure runs on a new thread, which has the name")
        func runsOnNewThread() async throws {
            let name = await withCheckedContinuation { continuation in
                SystemThread.start("a name of more than 15 letters") {
                    continuation.resume(
                        returning: try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8))
                }
            }
            #expect(name == "a name of more \n")
        }
    #endif

    @Test("The closure is released when the thread ends")
    func releasesWork() async {
        final class Marker: Sendable {
            let atEnd: @Sendable () -> Void
            init(_ atEnd: @escaping @Sendable () -> Void) { self.atEnd = atEnd }
            deinit { atEnd() }
        }
        await withCheckedContinuation { continuation in
            let marker = Marker { continuation.resume() }
            SystemThread.start("marker") { withExtendedLifetime(marker) {} }
        }
    }
}
