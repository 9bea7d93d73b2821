import LarkspurTesting
import Testing

@testable import Larkspur

@Suite("The byte channel", .timeLimit(.minutes(10)))
struct ByteChannelTests {
    @Test("Chunks come out as they went in, then the end")
    func order() async throws {
        let channel = ByteChannel(capacity: 4)
        for number in 0..<10 { channel.receive(Data([UInt8(number)])) }
        channel.end(nil)
        for number in 0..<10 { #expect(try await channel.next() == Data([UInt8(number)])) }
        #expect(try await channel.next() == nil)
        #expect(try await channel.next() == nil)
    }

    @Test("The allowed position is always the capacity beyond what was read")
    func positions() async throws {
        let channel = ByteChannel(capacity: 100)
        let positions = Protected<[UInt64]>([])
        channel.connect { position in positions.withLock { $0.append(position) } }
        channel.receive(Data(count: 60))
        channel.receive(Data(count: 70))
        #expect(positions.withLock { $0 } == [100])
        #expect(channel.buffered == 130)
        _ = try await channel.next()
        _ = try await channel.next()
        #expect(positions.withLock { $0 } == [100, 160, 230])
    }

    @Test("What has arrived is read before the error that ended it")
    func failure() async throws {
        let channel = ByteChannel()
        channel.receive(Data([1]))
        channel.end(RequestError(.connectionLost, "gone"))
        #expect(try await channel.next() == Data([1]))
        await #expect(throws: RequestError.self) { try await channel.next() }
    }

    @Test("A cancelled reader leaves, and loses nothing for the next")
    func cancelledReader() async throws {
        let channel = ByteChannel()
        let reader = Task.immediate { try await channel.next() }
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        channel.receive(Data([7]))
        #expect(try await channel.next() == Data([7]))
    }

    @Test("An abandoned channel lets the hop run to its end and keeps nothing")
    func abandoned() {
        let channel = ByteChannel(capacity: 10)
        let position = Protected<UInt64>(0)
        channel.connect { allowed in position.withLock { $0 = max($0, allowed) } }
        channel.receive(Data(count: 30))
        channel.abandon()
        #expect(position.withLock { $0 } == 40)
        channel.receive(Data(count: 30))
        #expect(position.withLock { $0 } == 70)
        #expect(channel.buffered == 0)
    }

    @Test("A writer and a reader on different threads: every byte once, in order")
    func concurrent() async throws {
        let channel = ByteChannel(capacity: 256)
        let writer = Task {
            for number in 0..<100_000 { channel.receive(Data([UInt8(truncatingIfNeeded: number)])) }
            channel.end(nil)
        }
        var expected = 0
        while let bytes = try await channel.next() {
            for byte in bytes {
                if byte != UInt8(truncatingIfNeeded: expected) { Issue.record("byte \(expected) is \(byte)") }
                expected += 1
            }
        }
        #expect(expected == 100_000)
        await writer.value
    }
}
