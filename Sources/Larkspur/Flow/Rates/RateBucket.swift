/// The rate of a bucket.
struct RateRule: Sendable {
    /// The time in which the bucket gains a token.
    let interval: Duration
    /// The maximum number of tokens.
    let burst: Int
}

/// The tokens of one bucket, and the hops that wait for them. A hop is any value, so that tests need no requests. Times
/// count from an arbitrary start.
struct RateBucket<Hop: Hashable & Sendable>: Sendable {
    enum Arrival: Equatable {
        case admitted, queued
        /// The hop could only be sent after this wait, which is longer than the time that it has.
        case late(Duration)
    }

    /// The time at which the bucket would be full if no more tokens were taken (the virtual scheduling of the generic
    /// cell rate algorithm).
    private var fullAt = Duration.zero
    /// The time before which the server wants no hop.
    private var blockedUntil = Duration.zero
    /// The interval that the server's quota allows, and the time until which it applies.
    private var slow: (interval: Duration, until: Duration)?
    private var queue = FairQueue<Hop>()
    private var deadlines: [Hop: Duration] = [:]

    var waitingCount: Int { queue.count }

    func isIdle(at now: Duration, _ rule: RateRule) -> Bool {
        queue.isEmpty && fullAt <= now && blockedUntil <= now && (slow.map { $0.until <= now } ?? true)
    }

    /// The time at which the next token is there; nil if no hop waits.
    func nextTime(at now: Duration, _ rule: RateRule) -> Duration? { queue.isEmpty ? nil : nextToken(at: now, rule) }

    /// Takes a token for the hop, if there is a token and no other hop waits. Otherwise the hop waits, unless its
    /// deadline is earlier than its token.
    mutating func arrive(
        _ hop: Hop, _ priority: RequestPriority, deadline: Duration?, at now: Duration, _ rule: RateRule
    ) -> Arrival {
        let next = nextToken(at: now, rule)
        if queue.isEmpty, next <= now {
            take(at: now, rule)
            return .admitted
        }
        let time = next + interval(at: now, rule) * queue.count(from: priority)
        if let deadline, time > deadline { return .late(time - now) }
        queue.append(hop, priority)
        deadlines[hop] = deadline
        return .queued
    }

    /// Takes a token for the hop that is next, and returns the hop; nil if there is no token or no hop.
    mutating func next(at now: Duration, _ rule: RateRule) -> Hop? {
        guard nextToken(at: now, rule) <= now, let hop = queue.next() else { return nil }
        deadlines[hop] = nil
        take(at: now, rule)
        return hop
    }

    mutating func withdraw(_ hop: Hop) -> Bool {
        deadlines[hop] = nil
        return queue.withdraw(hop)
    }

    /// Returns the token of a hop that has ended before it could be sent.
    mutating func giveBack(_ rule: RateRule) { fullAt -= rule.interval }

    /// Applies the limits that a server has announced. Returns the hops whose deadline is now earlier than their token,
    /// and their waits.
    mutating func learn(_ news: ServerRate, at now: Duration, _ rule: RateRule) -> [(Hop, Duration)] {
        if let delay = news.delay { blockedUntil = max(blockedUntil, now + delay) }
        if let quota = news.quota {
            if quota.count == 0 {
                blockedUntil = max(blockedUntil, now + quota.time)
            } else {
                let pace = quota.time / quota.count
                slow = pace > rule.interval ? (pace, now + quota.time) : nil
                // At most so many tokens are left as the server allows.
                if quota.count < rule.burst {
                    fullAt = max(fullAt, now + rule.interval * (rule.burst - quota.count))
                }
            }
        }
        let next = nextToken(at: now, rule)
        let late = deadlines.filter { $0.value < next }.map { ($0.key, next - now) }
        for (hop, _) in late { _ = withdraw(hop) }
        return late
    }

    private func nextToken(at now: Duration, _ rule: RateRule) -> Duration {
        max(fullAt - rule.interval * (rule.burst - 1), blockedUntil, now)
    }

    private func interval(at now: Duration, _ rule: RateRule) -> Duration {
        slow.flatMap { $0.until > now ? $0.interval : nil } ?? rule.interval
    }

    private mutating func take(at now: Duration, _ rule: RateRule) {
        fullAt = max(fullAt, now) + rule.interval
        if let slow {
            if slow.until > now {
                blockedUntil = max(blockedUntil, min(now + slow.interval, slow.until))
            } else {
                self.slow = nil
            }
        }
    }
}
