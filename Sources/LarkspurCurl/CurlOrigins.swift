/// The limit of concurrent transfers to each origin. Further tasks wait in the order of their arrival.
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

        /// Appends a waiting task. From time to time, removes tasks that have ended while they waited.
        mutating func append(_ task: CurlTask) {
            if waiting.count >= sweepAt {
                waiting = waiting[nextWaiting...].filter(\.isUnderWay)
                nextWaiting = 0
                sweepAt = max(64, 2 * waiting.count)
            }
            waiting.append(task)
        }

        /// Removes and returns the first task that has not ended while it waited.
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

    /// The maximum number of streams that libcurl opens on one HTTP/2 connection.
    private static let streams = 100

    private let limit: Int
    private var origins: [Origin] = []
    private var indices: [String: Index] = [:]
    /// The origin of the last lookup: most requests have the same origin as the previous request.
    private var last: Index = 0
    private var sweepAt = 256

    init(limit: Int) {
        self.limit = limit
    }

    /// Gives the task a connection slot and returns its origin. Returns nil if the task has to wait.
    mutating func admit(_ task: CurlTask) -> Index? {
        let index = index(of: task.request.url)
        guard origins[index].running < limit(of: index) else {
            origins[index].append(task)
            return nil
        }
        origins[index].running += 1
        return index
    }

    /// Frees a connection slot. If tasks wait, gives the slot to the task that has waited longest, and returns that
    /// task.
    mutating func leave(_ index: Index) -> CurlTask? {
        origins[index].running -= 1
        return takeAdmitted(index)
    }

    /// Notes that all requests to the origin share one HTTP/2 connection. Returns the waiting tasks that may start now.
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
        // Reuses the entry of an origin that a sweep has removed, or adds an entry.
        let index = origins.firstIndex { $0.isIdle && indices[$0.name] == nil } ?? origins.count
        if index == origins.count { origins.append(Origin(name: name)) } else { origins[index] = Origin(name: name) }
        indices[name] = index
        return index
    }

    /// Removes the origins without tasks.
    private mutating func sweep() {
        indices = indices.filter { !origins[$0.value].isIdle }
        sweepAt = max(256, 2 * indices.count)
    }
}
