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
    /// The numbers of the waiting hops in the queue.
    private var numbers: [Hop: UInt64] = [:]
    private var lastNumber: UInt64 = 0
    /// The waiting hops that have a deadline, the earliest first.
    private var deadlines = TimerHeap<Hop, Duration>()
    private var deadlineIDs: [Hop: TimerHeap<Hop, Duration>.ID] = [:]

    var waitingCount: Int { numbers.count }

    func isIdle(at now: Duration, _ rule: RateRule) -> Bool {
        queue.isEmpty && fullAt <= now && blockedUntil <= now && (slow.map { $0.until <= now } ?? true)
    }

    /// The time at which the next token is there; nil if no hop waits.
    func nextTime(at now: Duration, _ rule: RateRule) -> Duration? { queue.isEmpty ? nil : nextToken(at: now, rule) }

    /// Takes a token for the hop, if there is a token and no other hop waits. Otherwise the hop waits, unless its
    /// deadline is earlier than its token can be while all waiting hops stay.
    mutating func arrive(
        _ hop: Hop, _ priority: RequestPriority, deadline: Duration?, at now: Duration, _ rule: RateRule
    ) -> Arrival {
        let next = nextToken(at: now, rule)
        if queue.isEmpty, next <= now {
            take(at: now, rule)
            return .admitted
        }
        if let deadline {
            let time = timeOfToken(queue.count(before: priority), from: next, rule)
            if time > deadline { return .late(time - now) }
            deadlineIDs[hop] = deadlines.insert(hop, at: deadline)
        }
        lastNumber += 1
        numbers[hop] = lastNumber
        queue.append(hop, priority, lastNumber)
        return .queued
    }

    /// Takes a token for the hop that is next, and returns the hop; nil if there is no token or no hop.
    mutating func next(at now: Duration, _ rule: RateRule) -> Hop? {
        guard nextToken(at: now, rule) <= now, let hop = queue.removeFirst() else { return nil }
        numbers[hop] = nil
        dropDeadline(of: hop)
        take(at: now, rule)
        return hop
    }

    mutating func withdraw(_ hop: Hop) -> Bool {
        dropDeadline(of: hop)
        return numbers.removeValue(forKey: hop).map { queue.remove($0) != nil } ?? false
    }

    private mutating func dropDeadline(of hop: Hop) {
        if let id = deadlineIDs.removeValue(forKey: hop) { _ = deadlines.remove(id) }
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
        var late: [(Hop, Duration)] = []
        while let first = deadlines.firstTime, first < next, let hop = deadlines.removeFirst(until: first) {
            _ = withdraw(hop)
            late.append((hop, next - now))
        }
        return late
    }

    private func nextToken(at now: Duration, _ rule: RateRule) -> Duration {
        max(fullAt - rule.interval * (rule.burst - 1), blockedUntil, now)
    }

    /// Returns the time of the token after `count` other ones, if each is taken as soon as it is there.
    ///
    /// - Parameter first: The time of the next token.
    private func timeOfToken(_ count: Int, from first: Duration, _ rule: RateRule) -> Duration {
        guard let slow, first < slow.until else { return token(count, from: first, fullAt: fullAt, rule) }
        let slowTime = first + slow.interval * count
        guard slowTime >= slow.until else { return slowTime }
        // The tokens that are taken before the end of the slow interval, of which the first one is at `first`.
        var slowCount = min(count, Int(((slow.until - first) / slow.interval).rounded(.up)))
        while first + slow.interval * (slowCount - 1) >= slow.until { slowCount -= 1 }
        while first + slow.interval * slowCount < slow.until { slowCount += 1 }
        let last = first + slow.interval * (slowCount - 1)
        let fullAt = max(fullAt + rule.interval * slowCount, last + rule.interval)
        return token(count - slowCount, from: slow.until, fullAt: fullAt, rule)
    }

    /// Returns the time of the token after `count` other ones at the rate of the rule alone. No token is taken before
    /// `start`.
    private func token(_ count: Int, from start: Duration, fullAt: Duration, _ rule: RateRule) -> Duration {
        max(start, max(fullAt, start) + rule.interval * (count - rule.burst + 1))
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
