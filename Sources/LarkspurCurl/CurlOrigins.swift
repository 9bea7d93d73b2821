/// Who may connect: at most so many transfers to an origin at once, the others in the order in which they came.
struct CurlOrigins {
    typealias Index = Int

    private struct Origin {
        let name: String
        var running = 0
        var isMultiplexed = false
        var waiting: [CurlTask] = []
        var nextWaiting = 0
        var sweepAt = 64

        var isIdle: Bool { running == 0 && nextWaiting == waiting.count }

        /// Now and then those that have ended while they waited are let go of.
        mutating func append(_ task: CurlTask) {
            if waiting.count >= sweepAt {
                waiting = waiting[nextWaiting...].filter(\.isUnderWay)
                nextWaiting = 0
                sweepAt = max(64, 2 * waiting.count)
            }
            waiting.append(task)
        }

        /// The first that has not ended while it waited.
        mutating func takeWaiting() -> CurlTask? {
            while nextWaiting < waiting.count {
                let task = waiting[nextWaiting]
                nextWaiting += 1
                if nextWaiting > waiting.count / 2 {
                    waiting.removeFirst(nextWaiting)
                    nextWaiting = 0
                }
                if task.isUnderWay { return task }
            }
            return nil
        }
    }

    /// What libcurl sends over one connection of HTTP/2.
    private static let streams = 100

    private let limit: Int
    private var origins: [Origin] = []
    private var indices: [String: Index] = [:]
    /// Looked up last: most requests go where the one before went.
    private var last: Index = 0
    private var sweepAt = 256

    init(limit: Int) {
        self.limit = limit
    }

    /// Gives the task a place, or has it wait.
    mutating func admit(_ task: CurlTask) -> Index? {
        let index = index(of: task.request.url)
        guard origins[index].running < limit(of: index) else {
            origins[index].append(task)
            return nil
        }
        origins[index].running += 1
        return index
    }

    /// A place is free again: for the task that has waited longest, if there is one.
    mutating func leave(_ index: Index) -> CurlTask? {
        origins[index].running -= 1
        return takeAdmitted(index)
    }

    /// All share one connection from now on, so that more may go.
    mutating func multiplex(_ index: Index) -> [CurlTask] {
        guard !origins[index].isMultiplexed else { return [] }
        origins[index].isMultiplexed = true
        var admitted: [CurlTask] = []
        while let task = takeAdmitted(index) { admitted.append(task) }
        return admitted
    }

    mutating func takeAllWaiting() -> [CurlTask] {
        origins.indices.flatMap { index in
            let waiting = origins[index].waiting.dropFirst(origins[index].nextWaiting)
            (origins[index].waiting, origins[index].nextWaiting) = ([], 0)
            return waiting
        }
    }

    private mutating func takeAdmitted(_ index: Index) -> CurlTask? {
        guard origins[index].running < limit(of: index), let task = origins[index].takeWaiting() else { return nil }
        origins[index].running += 1
        return task
    }

    private func limit(of index: Index) -> Int {
        origins[index].isMultiplexed ? Self.streams : limit
    }

    private mutating func index(of url: RequestURL) -> Index {
        if last < origins.count, url.hasOrigin(origins[last].name) { return last }
        let name = String(url.originText)
        last = indices[name] ?? add(name)
        return last
    }

    private mutating func add(_ name: String) -> Index {
        if indices.count >= sweepAt { sweep() }
        // A place that a sweep has left, or a new one.
        let index = origins.firstIndex { $0.isIdle && indices[$0.name] == nil } ?? origins.count
        if index == origins.count { origins.append(Origin(name: name)) } else { origins[index] = Origin(name: name) }
        indices[name] = index
        return index
    }

    /// Forgets the origins that nobody uses.
    private mutating func sweep() {
        indices = indices.filter { !origins[$0.value].isIdle }
        sweepAt = max(256, 2 * indices.count)
    }
}
