/// The writing end of an `AsyncStream`. Its release ends the stream.
package final class Follower<Element: Sendable>: Sendable {
    private let continuation: AsyncStream<Element>.Continuation

    private init(_ continuation: AsyncStream<Element>.Continuation) { self.continuation = continuation }

    deinit { end() }

    /// Returns a follower and its stream. The follower does not own the stream. After the reader has released the
    /// stream, the follower's next `tell` therefore returns false.
    package static func make(
        _ buffering: AsyncStream<Element>.Continuation.BufferingPolicy
    ) -> (Follower, AsyncStream<Element>) {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: buffering)
        return (Follower(continuation), stream)
    }

    /// Sends an element; returns false if the stream no longer has a reader.
    package func tell(_ element: Element) -> Bool {
        if case .terminated = continuation.yield(element) { false } else { true }
    }

    package func end() { continuation.finish() }
}

/// Values for any number of followers, each of which gets them in the order in which they were sent.
///
/// A broadcast is a part of the state that a lock guards. After each change of the broadcast, its owner unlocks and
/// calls `deliver`, because a follower may run code of the user.
package struct Broadcast<Element: Sendable>: Sendable {
    private var followers: [Follower<Element>] = []
    /// The values that were not delivered yet, and their receivers.
    private var news: [(element: Element, receivers: [Follower<Element>])] = []
    private var isDelivering = false
    private var isOver = false

    package init() {}

    /// Adds a follower, which gets `first` before all values that are sent from now on.
    package mutating func add(_ follower: Follower<Element>, first: Element? = nil) {
        if let first { news.append((first, [follower])) }
        if !isOver { followers.append(follower) }
    }

    package mutating func send(_ element: Element) {
        if !followers.isEmpty { news.append((element, followers)) }
    }

    /// Ends the broadcast. The caller releases the followers after unlocking. Each ends when it has got all values.
    package mutating func end() -> [Follower<Element>] {
        isOver = true
        defer { followers = [] }
        return followers
    }

    fileprivate mutating func begin() -> Bool { !news.isEmpty && isDelivering.setOnce() }

    /// Removes followers without a reader. Returns the next value and its receivers; nil at the end of the delivery.
    fileprivate mutating func next(removing gone: [Follower<Element>]) -> (Element, [Follower<Element>])? {
        if !gone.isEmpty { followers.removeAll { follower in gone.contains { $0 === follower } } }
        guard !news.isEmpty else {
            isDelivering = false
            return nil
        }
        return news.removeFirst()
    }
}

extension Protected {
    /// Delivers the values of a broadcast. One thread at a time does so, to keep their order.
    package func deliver<Element>(_ path: WritableKeyPath<Value, Broadcast<Element>> & Sendable) {
        guard withLock({ $0[keyPath: path].begin() }) else { return }
        var gone: [Follower<Element>] = []
        while let (element, receivers) = withLock({ [gone] in $0[keyPath: path].next(removing: gone) }) {
            gone = receivers.filter { !$0.tell(element) }
        }
    }
}
