import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("The byte channel", .limited)
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

    @Test("Bytes that have arrived are read before the error that ended the body")
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

    @Test("A reader that belongs to an actor takes what waits without leaving it")
    func reader() async throws {
        let channel = ByteChannel()
        for number in 0..<10 { channel.receive(Data([UInt8(number)])) }
        channel.end(nil)
        let reader = Reader()
        #expect(try await reader.read(channel) == Array(0..<10))
        #expect(reader.executor.jobs == 1)
    }

    private actor Reader {
        nonisolated let executor = CountingExecutor()
        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

        func read(_ channel: ByteChannel) async throws -> [UInt8] {
            var all: [UInt8] = []
            while let bytes = try await channel.next() { all += bytes }
            return all
        }
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

    @Test(
        "A taker has what waited and what comes, in order; what it refuses comes again when there is room, then the end"
    )
    func taker() {
        let channel = ByteChannel(capacity: 4)
        let positions = Protected<[UInt64]>([])
        channel.connect { position in positions.withLock { $0.append(position) } }
        channel.receive(Data([1]))
        let taken = Protected<(bytes: [UInt8], room: Int)>(([], 2))
        let ends = Protected<[RequestError.Code?]>([])
        channel.deliver { bytes in
            taken.withLock { taken in
                guard taken.room > 0 else { return false }
                taken.room -= 1
                taken.bytes += bytes
                return true
            }
        } end: { error in
            ends.withLock { $0.append(error?.code) }
        }
        channel.receive(Data([2]))
        channel.receive(Data([3]))
        channel.receive(Data([4]))
        #expect(taken.withLock { $0.bytes } == [1, 2])
        #expect(positions.withLock { $0 } == [4, 5, 6])
        channel.end(RequestError(.connectionLost, "gone"))
        #expect(taken.withLock { $0.bytes } == [1, 2])
        #expect(ends.withLock { $0.isEmpty })
        taken.withLock { $0.room = 9 }
        channel.deliver()
        channel.deliver()
        #expect(taken.withLock { $0.bytes } == [1, 2, 3, 4])
        #expect(ends.withLock { $0 } == [.connectionLost])
    }

    @Test("A taker of a body that has already ended gets the bytes and the end at once, and is then released")
    func lateTaker() {
        final class Token: Sendable {}
        let channel = ByteChannel()
        channel.receive(Data([7]))
        channel.end(nil)
        let taken = Protected<[Data]>([])
        let ends = Protected(0)
        weak let token: Token?
        do {
            let kept = Token()
            token = kept
            channel.deliver { bytes in
                withExtendedLifetime(kept) { taken.withLock { $0.append(bytes) } }
                return true
            } end: { error in
                if error == nil { ends.withLock { $0 += 1 } }
            }
        }
        #expect(taken.withLock { $0 } == [Data([7])])
        #expect(ends.withLock { $0 } == 1)
        #expect(token == nil)
        withExtendedLifetime(channel) {}
    }

    @Test("Bytes from one thread and room from others: a taker has every byte once, in order, and the end")
    func concurrentTaker() async {
        let channel = ByteChannel(capacity: 256)
        let count = 50_000
        let taken = Protected(0)
        let mistakes = Protected(0)
        let hasEnded = Protected(false)
        async let givers: Void = withTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    await poll {
                        for _ in 0..<200 { channel.deliver() }
                        return hasEnded.withLock { $0 }
                    }
                }
            }
            group.addTask {
                for number in 0..<count { channel.receive(Data([UInt8(truncatingIfNeeded: number)])) }
                channel.end(nil)
            }
        }
        let turns = Protected(0)
        await withCheckedContinuation { ended in
            channel.deliver { bytes in
                let turn = turns.withLock { turns in
                    turns += 1
                    return turns
                }
                guard turn % 3 != 0 else { return false }
                let number = taken.withLock { taken in
                    defer { taken += 1 }
                    return taken
                }
                if Array(bytes) != [UInt8(truncatingIfNeeded: number)] { mistakes.withLock { $0 += 1 } }
                return true
            } end: { _ in
                ended.resume()
            }
        }
        hasEnded.withLock { $0 = true }
        await givers
        #expect(taken.withLock { $0 } == count)
        #expect(mistakes.withLock { $0 } == 0)
    }
}

/// Runs each job where it is enqueued, and counts them.
private final class CountingExecutor: SerialExecutor {
    private let count = Protected(0)

    var jobs: Int { count.withLock { $0 } }

    func enqueue(_ job: consuming ExecutorJob) {
        count.withLock { $0 += 1 }
        job.runSynchronously(on: asUnownedSerialExecutor())
    }
}
