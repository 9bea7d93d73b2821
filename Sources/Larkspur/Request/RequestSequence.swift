/// Something about a request as a sequence: what has happened so far, then what goes on to happen, until the request ends.
///
/// Iterating it starts the request, as a serializer does. Any number may iterate it, at any time, also after the end; a
/// slow reader delays nobody.
public struct RequestSequence<Element: Sendable>: AsyncSequence, Sendable {
    let follow: @Sendable () -> AsyncStream<Element>

    init(following follow: @escaping @Sendable () -> AsyncStream<Element>) { self.follow = follow }

    init<Face: Request>(_ request: Face, _ topic: RequestTopic<Element>) {
        self.init(following: {
            let stream = request.handle.core.follow(topic)
            request.handle.core.demand()
            return stream
        })
    }

    public func makeAsyncIterator() -> AsyncStream<Element>.Iterator { follow().makeAsyncIterator() }
}

/// What can be followed about a request: where its followers are kept, and what there is to tell one of them.
struct RequestTopic<Element: Sendable>: Sendable {
    let followers: WritableKeyPath<RequestFollowers, [RequestFollower<Element>]> & Sendable
    let buffering: AsyncStream<Element>.Continuation.BufferingPolicy
    /// What somebody who was told so much has missed.
    let news: @Sendable (borrowing RequestState, _ told: [Element]) -> [Element]
}

/// Those who follow a request. Part of its box; few requests have any.
struct RequestFollowers: Sendable {
    var upload: [RequestFollower<TransferProgress>] = []
    var download: [RequestFollower<TransferProgress>] = []
    var requests: [RequestFollower<OutgoingRequest>] = []
    var responses: [RequestFollower<ResponseHead>] = []

    func end() {
        for follower in upload { follower.end() }
        for follower in download { follower.end() }
        for follower in requests { follower.end() }
        for follower in responses { follower.end() }
    }
}

/// Somebody who follows a request. It ends when the request lets go of it.
final class RequestFollower<Element: Sendable>: Sendable {
    private let continuation: AsyncStream<Element>.Continuation

    private init(_ continuation: AsyncStream<Element>.Continuation) { self.continuation = continuation }

    deinit { end() }

    /// A follower, and what it is told. It does not hold the stream, whose reader may go away.
    static func make(
        _ buffering: AsyncStream<Element>.Continuation.BufferingPolicy
    ) -> (RequestFollower, AsyncStream<Element>) {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: buffering)
        return (RequestFollower(continuation), stream)
    }

    /// False if nobody reads any more.
    func tell(_ element: Element) -> Bool {
        if case .terminated = continuation.yield(element) { false } else { true }
    }

    func end() { continuation.finish() }
}

extension RequestCore {
    /// Adds somebody who follows the topic, and is told first what has happened.
    func follow<Element>(_ topic: RequestTopic<Element>) -> AsyncStream<Element> {
        let (follower, stream) = RequestFollower<Element>.make(topic.buffering)
        // Told before it is added, and again if that was overtaken: so it hears everything once, and in order. After the
        // finish there is nothing to wait for, and it is not added.
        var told: [Element] = []
        while true {
            let news = box.withLock { [told] state -> [Element] in
                let missed = topic.news(state, told)
                guard missed.isEmpty, state.phase != .finished else { return missed }
                state.settings.followers[keyPath: topic.followers].append(follower)
                return []
            }
            guard !news.isEmpty else { return stream }
            for element in news { _ = follower.tell(element) }
            told += news
        }
    }

    /// Tells those who followed the topic when it happened, and lets go of those who read no more.
    func tell<Element>(_ element: Element, to followers: [RequestFollower<Element>], of topic: RequestTopic<Element>) {
        let gone = followers.filter { !$0.tell(element) }
        guard !gone.isEmpty else { return }
        _ = box.withLock { state in
            state.settings.followers[keyPath: topic.followers].removeAll { one in gone.contains { $0 === one } }
            return gone  // to be let go of after unlocking
        }
    }
}
