internal import CLarkspur
import Dispatch

/// A limit for the memory that the buffers of several channels use together.
///
/// Without this limit, the memory of downloads grows with their number. When a hop ends, its connection starts the next
/// download, while the bytes of the ended download still wait for the disk.
///
/// Channels that hold bytes get equal shares. A channel that holds more than its share gets no more room until its
/// reader has consumed the excess. No channel waits for another channel: each channel may always hold a minimum, and
/// requests the rest of its share when its reader asks for more bytes.
package final class BufferBudget: Sendable {
    /// The budget of all downloads in the process, for bytes that wait to be written.
    package static let downloads = BufferBudget(limit: 32 << 20) {
        // Returning free memory to the system takes milliseconds. The calling thread may belong to a transport, so
        // another thread does this.
        DispatchQueue.global(qos: .utility).async { clarkspur_memory_trim() }
    }

    /// The minimum allowance of each channel in bytes: one chunk of a body as libcurl delivers it.
    static let minimum: UInt64 = 16 << 10

    /// The state of one channel.
    private struct Part {
        /// The position that the transport may deliver up to.
        var allowed: UInt64
        /// The position that the reader has consumed up to.
        var consumed: UInt64 = 0
        var hasBegun = false
        var hasEnded = false

        var held: UInt64 { hasBegun && allowed > consumed ? allowed - consumed : 0 }
    }

    private struct State {
        var parts: [UInt64: Part] = [:]
        var lastNumber: UInt64 = 0
        /// The number of channels that hold bytes or may still receive bytes.
        var active: UInt64 = 0
        var held: UInt64 = 0
        /// The maximum of `held` since `active` was last 0.
        var peak: UInt64 = 0

        mutating func change<Value>(_ number: UInt64, _ body: (inout Part, borrowing State) -> Value) -> Value? {
            guard var part = parts[number] else { return nil }
            held -= part.held
            active -= part.hasBegun ? 1 : 0
            let value = body(&part, self)
            held += part.held
            peak = max(peak, held)
            let isDone = part.hasEnded && part.consumed >= part.allowed
            active += part.hasBegun && !isDone ? 1 : 0
            parts[number] = isDone ? nil : part
            return value
        }
    }

    private let limit: UInt64
    private let whenEmpty: @Sendable () -> Void
    private let box = Protected(State())

    /// Creates a budget.
    ///
    /// - Parameters:
    ///   - limit: The limit in bytes.
    ///   - whenEmpty: A closure that is called when all channels have become empty, if they have held more than half of
    ///     the limit before.
    package init(limit: UInt64, whenEmpty: @escaping @Sendable () -> Void = {}) {
        self.limit = limit
        self.whenEmpty = whenEmpty
    }

    /// The number of bytes that the channels hold now, plus the bytes that the transport may still deliver to them.
    package var held: UInt64 { box.withLock { $0.held } }

    fileprivate func add(allowing position: UInt64) -> UInt64 {
        box.withLock { state in
            state.lastNumber += 1
            state.parts[state.lastNumber] = Part(allowed: position)
            return state.lastNumber
        }
    }

    fileprivate func remove(_ number: UInt64) {
        change(number) { part, _ in (part.hasEnded, part.consumed) = (true, .max) }
    }

    fileprivate func advance(_ number: UInt64, behind consumed: UInt64, capacity: UInt64) -> UInt64 {
        let position = change(number) { [limit] part, others -> UInt64 in
            part.hasBegun = true
            part.consumed = max(part.consumed, consumed)
            guard !part.hasEnded else { return part.allowed }
            let fair = min(capacity, limit / (others.active + 1))
            let free = limit - min(limit, others.held)
            let room = max(part.held, min(fair, free), min(capacity, Self.minimum))
            part.allowed = part.consumed + room
            return part.allowed
        }
        return position ?? consumed + capacity
    }

    fileprivate func consume(_ number: UInt64, upTo consumed: UInt64) {
        change(number) { part, _ in if part.hasEnded { part.consumed = max(part.consumed, consumed) } }
    }

    fileprivate func end(_ number: UInt64, at received: UInt64) {
        change(number) { part, _ in (part.hasEnded, part.allowed) = (true, received) }
    }

    @discardableResult
    private func change<Value: Sendable>(
        _ number: UInt64, _ body: (inout Part, borrowing State) -> Value
    ) -> Value? {
        let (value, isEmpty) = box.withLock { state in
            let value = state.change(number, body)
            let isEmpty = state.active == 0 && state.peak > limit / 2
            if state.active == 0 { state.peak = 0 }
            return (value, isEmpty)
        }
        if isEmpty { whenEmpty() }
        return value
    }
}

/// A channel's share of a budget. When this object is released, the share returns to the budget.
final class BufferShare: Sendable {
    private let budget: BufferBudget
    private let number: UInt64
    private let capacity: UInt64
    let initialAllowance: UInt64

    init(of budget: BufferBudget, capacity: UInt64) {
        self.budget = budget
        self.capacity = capacity
        initialAllowance = min(capacity, BufferBudget.minimum)
        number = budget.add(allowing: initialAllowance)
    }

    deinit { budget.remove(number) }

    /// Notes that the reader has consumed the body up to this position. Returns the position that the transport may
    /// deliver up to.
    func advance(behind consumed: UInt64) -> UInt64 {
        budget.advance(number, behind: consumed, capacity: capacity)
    }

    /// Notes that the reader has consumed the body up to this position. Has an effect only after `end(at:)`.
    func consume(upTo consumed: UInt64) { budget.consume(number, upTo: consumed) }

    /// Notes that the body ends at this position.
    func end(at received: UInt64) { budget.end(number, at: received) }
}
