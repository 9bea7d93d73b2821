import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Throttled bodies", .limited)
struct ThrottledBodyTests {
    @Test("One packet of bytes is sent, and then none until the pause has passed")
    func packets() async throws {
        let clock = ManualClock()
        let bytes = [UInt8].pattern(25)
        let body = TransportBody.data(Data(bytes)).throttled(packetSize: 10, pause: .seconds(1), clock: clock)
        #expect(body.length == 25 && body.isReplayable)
        let woken = Counter()
        let stream = body.open()
        stream.begin { woken.increment() }
        var sent: [UInt8] = []
        for expected in [[8, 2, 0], [8, 2, 0], [5, -1]] {
            for count in expected { #expect(read(stream, 8, &sent) == count) }
            #expect(woken.value == (sent.count - 1) / 10)
            if sent.count == bytes.count { break }
            await clock.waitForSleepers()
            clock.advance(by: .seconds(1))
            await woken.reached(sent.count / 10)
        }
        #expect(sent == bytes)
        stream.end()
    }

    /// The number of bytes read; 0 if there are none yet, -1 at the end.
    private func read(_ stream: any TransportBodyStream, _ size: Int, _ bytes: inout [UInt8]) -> Int {
        var buffer = [UInt8](repeating: 0, count: size)
        switch buffer.withUnsafeMutableBytes({ stream.read(into: $0) }) {
        case .bytes(let count):
            bytes += buffer[..<count]
            return count
        case .pending: return 0
        case .end, .failed: return -1
        }
    }

    @Test("A throttled body is one-shot, of unknown length or failing if the original is")
    func sameBody() async throws {
        let body = TransportBody.sequence(Pieces(elements: [Data([1, 2, 3])], error: ForeignError()))
            .throttled(packetSize: 1, pause: .zero)
        #expect(body.length == nil && !body.isReplayable)
        await #expect(throws: TransportError.self) { try await body.pulled() }
        #expect(try await TransportBody.none.throttled().pulled() == [])
    }
}
