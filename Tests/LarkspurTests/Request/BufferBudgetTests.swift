import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("The memory that downloads share", .limited)
struct BufferBudgetTests {
    /// A body on its way: what a transport may deliver, what waits, and what the reader has.
    private final class Flow {
        let channel: ByteChannel
        let allowed = Protected<UInt64>(0)
        let length: UInt64
        var delivered: UInt64 = 0
        var read: UInt64 = 0
        var hasEnded = false
        private var reading: Task<Data?, any Error>?

        init(_ length: UInt64, _ budget: BufferBudget) {
            self.length = length
            channel = ByteChannel(budget: budget)
            channel.connect { [allowed] position in allowed.withLock { $0 = max($0, position) } }
        }

        /// Delivers the next buffer, if the transport may; false if it may not.
        func deliver(_ piece: UInt64) -> Bool {
            guard delivered < length, delivered < allowed.withLock({ $0 }) else { return false }
            let count = min(piece, length - delivered)
            delivered += count
            channel.receive(Data(count: Int(count)))
            if delivered == length { channel.end(nil) }
            return true
        }

        /// The reader comes back for more. If nothing waits it stays, and takes what comes next.
        func readNext() async throws {
            let isWaiting = delivered == read && delivered < length
            let reading = self.reading ?? Task.immediate { [channel] in try await channel.next() }
            self.reading = isWaiting ? reading : nil
            if isWaiting { return }
            guard let chunk = try await reading.value else { return hasEnded = true }
            read += UInt64(chunk.count)
        }
    }

    private let piece = BufferBudget.minimum

    @Test("Alone, a download may hold what a channel holds")
    func alone() async throws {
        let budget = BufferBudget(limit: 32 << 20)
        let flow = Flow(10 << 20, budget)
        #expect(flow.channel.initialAllowance == piece)
        while flow.deliver(piece) {}
        #expect(flow.delivered == flow.channel.capacity)
        try await flow.readNext()
        #expect(!flow.deliver(piece), "the reader has it in hand")
        try await flow.readNext()
        #expect(flow.deliver(piece) && !flow.deliver(piece))
    }

    @Test("Many downloads hold no more than the limit and each one's minimum, and all of them end", arguments: 0..<10)
    func many(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let (limit, count) = (UInt64(4 << 20), 200)
        let budget = BufferBudget(limit: limit)
        var flows = (0..<count).map { _ in Flow(UInt64.random(in: 1...(1 << 20), using: &random), budget) }
        var (most, excess) = (UInt64(0), UInt64(0))
        while !flows.isEmpty {
            for flow in flows { while flow.deliver(piece), !random.once(in: 50) {} }
            let waiting = flows.map { $0.delivered - $0.read }.reduce(0, +)
            most = max(most, waiting)
            let bound = limit + UInt64(flows.count) * 2 * piece
            excess = max(excess, waiting - min(waiting, bound))
            for flow in flows where random.once(in: 3) { try await flow.readNext() }
            flows.removeAll { $0.hasEnded }
        }
        #expect(excess == 0)
        #expect(most > limit / 2, "the memory is used")
        #expect(budget.held == 0)
    }

    @Test("A newcomer gets its part while others are at work, and not only the minimum")
    func newcomer() async throws {
        let budget = BufferBudget(limit: 8 * piece)
        let first = Flow(1 << 20, budget)
        while first.deliver(piece) {}
        #expect(first.delivered == 8 * piece)
        let second = Flow(1 << 20, budget)
        while second.deliver(piece) {}
        #expect(second.delivered == piece, "nothing is left")
        for _ in 0..<20 {
            for flow in [first, second] {
                try await flow.readNext()
                while flow.deliver(piece) {}
            }
        }
        #expect(first.delivered - first.read <= 5 * piece && second.delivered - second.read >= 3 * piece)
    }

    @Test("Bytes that are read after the end of the hop leave the budget")
    func afterTheEnd() async throws {
        let budget = BufferBudget(limit: 1 << 20)
        let flow = Flow(3 * piece, budget)
        while flow.deliver(piece) {}
        var held = [budget.held]
        while !flow.hasEnded {
            try await flow.readNext()
            held.append(budget.held)
        }
        #expect(held == [3, 3, 2, 1, 0].map { $0 * piece })
        withExtendedLifetime(flow) {}
    }

    @Test("A download that ends early gives its part back", arguments: [true, false])
    func early(isAbandoned: Bool) {
        let emptied = Counter()
        let budget = BufferBudget(limit: 1 << 20) { emptied.increment() }
        do {
            let flow = Flow(1 << 20, budget)
            while flow.deliver(piece) {}
            #expect(budget.held == 1 << 20)
            if isAbandoned { flow.channel.abandon() } else { flow.channel.end(RequestError(.connectionLost, "lost")) }
        }
        #expect(budget.held == 0)
        #expect(emptied.value == 1, "the memory is given back")
    }

    @Test("Downloads that wait for the disk stop their peers, and all of them arrive")
    func downloads() async throws {
        let folder = try TemporaryFolder()
        let bytes = MockResponse.pattern(from: 0, count: 300_000)
        let chunks = [UInt8](bytes).pieces(of: 16_384).map { Data($0) }
        let session = Session(transport: StubTransport { _ in .response(chunks: chunks) })
        try await withThrowingTaskGroup { group in
            for number in 0..<100 {
                group.addTask {
                    let request = await session.download("http://h/", to: .file(folder["\(number)"]))
                    let file = try await request.serializingFile().value
                    #expect(try Data(contentsOf: file) == bytes)
                }
            }
            try await group.waitForAll()
        }
    }
}
