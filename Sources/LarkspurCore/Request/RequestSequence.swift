/// A sequence of a request's values, such as its progress: first the values so far, then each new value until the
/// request has finished.
///
/// Iterating the sequence starts the request, as attaching a serializer does. The sequence can be iterated several
/// times, from any task, even after the request has finished. A slow reader delays neither the request nor other
/// readers.
public struct RequestSequence<Element: Sendable>: AsyncSequence, Sendable {
    let follow: @Sendable () -> AsyncStream<Element>

    package init(following follow: @escaping @Sendable () -> AsyncStream<Element>) { self.follow = follow }

    init<Face: Request>(_ request: Face, _ topic: RequestTopic<Element>) {
        self.init(following: {
            let stream = request.handle.core.follow(topic)
            request.handle.core.demand()
            return stream
        })
    }

    public func makeAsyncIterator() -> AsyncStream<Element>.Iterator { follow().makeAsyncIterator() }
}

/// A kind of values that can be observed on a request, such as its heads.
struct RequestTopic<Element: Sendable>: Sendable {
    let followers: WritableKeyPath<RequestFollowers, [Follower<Element>]> & Sendable
    let buffering: AsyncStream<Element>.Continuation.BufferingPolicy
    /// Returns the values that a follower has missed if it has received the values `sent`.
    let missed: @Sendable (borrowing RequestState, _ sent: [Element]) -> [Element]
}

/// The followers of a request, which observe its values. Most requests have no followers.
struct RequestFollowers: Sendable {
    var upload: [Follower<TransferProgress>] = []
    var download: [Follower<TransferProgress>] = []
    var requests: [Follower<OutgoingRequest>] = []
    var heads: [Follower<ResponseHead>] = []
    var information: [Follower<ResponseHead>] = []
    var changes: [Follower<Void>] = []

    /// Whether a follower needs to know of events of the transport.
    var needNews: Bool { !(heads.isEmpty && information.isEmpty && download.isEmpty && changes.isEmpty) }

    func end() {
        for follower in upload { follower.end() }
        for follower in download { follower.end() }
        for follower in requests { follower.end() }
        for follower in heads { follower.end() }
        for follower in information { follower.end() }
        for follower in changes { follower.end() }
    }
}

extension RequestCore {
    /// Returns a stream of the topic's values: first the values so far, then each new value.
    func follow<Element>(_ topic: RequestTopic<Element>) -> AsyncStream<Element> {
        let (follower, stream) = Follower<Element>.make(topic.buffering)
        add(follower, to: topic)
        return stream
    }

    /// Adds a follower of the topic: sends it the values so far, then each new one.
    func add<Element>(_ follower: Follower<Element>, to topic: RequestTopic<Element>) {
        // Send the earlier values before adding the follower. If new values have arrived in the meantime, send those
        // too and check again. The follower therefore gets each value once, in order. If the request has finished, do
        // not add the follower; its release then ends the stream.
        var sent: [Element] = []
        while true {
            let missed = box.withLock { [sent] state -> [Element] in
                let missed = topic.missed(state, sent)
                guard missed.isEmpty, state.phase != .finished else { return missed }
                state.settings.followers[keyPath: topic.followers].append(follower)
                return []
            }
            guard !missed.isEmpty else { return }
            for element in missed { _ = follower.tell(element) }
            sent += missed
        }
    }

    /// Sends the element to the given followers, and removes the followers that no longer have a reader.
    func tell<Element>(_ element: Element, to followers: [Follower<Element>], of topic: RequestTopic<Element>) {
        let gone = followers.filter { !$0.tell(element) }
        guard !gone.isEmpty else { return }
        _ = box.withLock { state in
            state.settings.followers[keyPath: topic.followers].removeAll { one in gone.contains { $0 === one } }
            return gone  // released after unlocking
        }
    }
}
