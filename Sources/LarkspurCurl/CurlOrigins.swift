/// The limits of concurrent requests to each origin, over all loops of a transport. The limits also decide which loop
/// performs a request. Requests beyond a limit wait: a higher priority starts first, and equal priorities start in the
/// order of their arrival.
///
/// Each loop has connections of its own. So that the connections of all loops together stay within an origin's limit,
/// each loop has a share of that limit.
struct CurlOrigins {
    typealias Index = Int
    typealias Ticket = UInt64

    /// The connection that a request needs.
    enum Need {
        /// A connection that carries one request at a time.
        case exclusive
        /// A connection that may carry other requests too, if the server speaks HTTP/2.
        case shareable
        /// A connection that leaves HTTP and stays open.
        case upgraded
    }

    /// The permission to perform one request to an origin, in one loop.
    struct Place {
        let origin: Index
        let loop: Int
        /// Whether the request's response tells the other loops that the server does not speak HTTP/2.
        var teachesHTTP1 = false
        /// Whether the origin was known to speak HTTP/2 when the request was admitted.
        var isMultiplexed = false
        /// Whether the request has a connection of its own.
        var isExclusive = true
        /// Whether requests to the origin have asked for different versions of HTTP.
        var mixesVersions = false
    }

    /// A task that starts now.
    struct Start {
        let task: CurlTask
        let place: Place
    }

    struct Wait {
        let origin: Index
        let ticket: Ticket
    }

    enum Admission {
        case starts(Place)
        case waits(Wait)
        /// The transport was invalidated.
        case refused
    }

    /// The versions of HTTP that an origin's server speaks, if a request may use all of them. A server that was reached
    /// over HTTP/3 may speak any version over TCP, so its requests keep to the limit of connections.
    private enum Version { case unknown, http1, http2, http3 }

    /// The versions that requests to an origin ask for, with a bit for each.
    private struct Versions: OptionSet {
        let rawValue: UInt8
        static let all = Versions(rawValue: .max)

        init(rawValue: UInt8) { self.rawValue = rawValue }

        init(_ request: TransportRequest) {
            switch request.version {
            case .http1: rawValue = 1
            case .http2: rawValue = 2
            case .negotiated, .http3: rawValue = request.url.isHTTPS ? 4 : 1  // without TLS, this is HTTP/1.1
            }
        }

        var isMixed: Bool { rawValue.nonzeroBitCount > 1 }
    }

    private struct Origin {
        let name: String
        /// The loop that performs the origin's requests as long as other loops have not much less to do. Only this loop
        /// has an HTTP/2 connection.
        var home: Int
        var version = Version.unknown
        /// The versions for which requests have asked.
        var asked: Versions
        var total = 0
        /// The number of running requests that have a connection of their own.
        var exclusiveTotal = 0
        /// The number of running requests in each loop.
        var running: [Int]
        var exclusive = FairQueue<CurlTask>()
        var shareable = FairQueue<CurlTask>()

        var isIdle: Bool { total == 0 && exclusive.isEmpty && shareable.isEmpty }
    }

    /// The maximum number of streams that libcurl opens on one HTTP/2 connection.
    private static let streams = 100
    /// The number of requests by which a loop may have more to do than another loop before it shares an origin's
    /// requests with that loop. Few requests are faster in one loop, which reuses their connections.
    static let unevenness = 8

    private let limit: Int
    private var origins: [Origin] = []
    private var indices: [String: Index] = [:]
    /// The origin of the last lookup: most requests have the same origin as the previous request.
    private var last: Index = 0
    private var sweepAt = 256
    private var nextTicket: Ticket = 0
    private var nextHome = 0
    private var isClosed = false
    /// Whether origins were removed, which may have connections.
    private var hasForgotten = false
    private var loops: [Loop]

    private struct Loop {
        var running = 0
        var upgraded = 0
        /// Whether the loop's thread could not be started.
        var isUnusable = false
    }

    init(limit: Int, loops count: Int = 1) {
        self.limit = limit
        loops = Array(repeating: Loop(), count: count)
    }

    /// The number of running requests in each loop.
    var running: [Int] { loops.map(\.running) }

    /// Admits a task to a loop, or adds it to the tasks that wait.
    mutating func admit(_ task: CurlTask, _ need: Need) -> Admission {
        guard !isClosed else { return .refused }
        let index = index(of: task.request.url)
        origins[index].asked.formUnion(Versions(task.request))
        if let loop = loop(for: need, to: index, near: nil) { return .starts(occupy(loop, index, need)) }
        nextTicket += 1
        if need == .shareable {
            origins[index].shareable.append(task, task.request.priority, nextTicket)
        } else {
            origins[index].exclusive.append(task, task.request.priority, nextTicket)
        }
        return .waits(Wait(origin: index, ticket: nextTicket))
    }

    /// Frees a place. If tasks wait, returns the task that starts instead, in the same loop if possible.
    mutating func leave(_ place: Place) -> Start? {
        origins[place.origin].total -= 1
        if place.isExclusive { origins[place.origin].exclusiveTotal -= 1 }
        origins[place.origin].running[place.loop] -= 1
        loops[place.loop].running -= 1
        return startWaiting(place.origin, near: place.loop)
    }

    /// Removes a task that has ended while it waited. Returns the task, which the caller releases outside of the lock.
    mutating func withdraw(_ wait: Wait) -> CurlTask? {
        origins[wait.origin].exclusive.remove(wait.ticket) ?? origins[wait.origin].shareable.remove(wait.ticket)
    }

    /// Notes that all requests to the origin share one HTTP/2 connection. Returns the waiting tasks that start now.
    mutating func multiplex(_ index: Index) -> [Start] {
        origins[index].version == .http2 ? [] : setVersion(.http2, of: index)
    }

    /// Notes that the origin was reached over HTTP/3: the requests that may share a connection use that of one loop.
    /// Returns the waiting tasks that start now.
    mutating func gather(_ index: Index) -> [Start] {
        origins[index].version == .unknown ? setVersion(.http3, of: index) : []
    }

    /// Notes that the origin does not speak HTTP/2, so all loops may connect to it. Returns the waiting tasks that now
    /// start.
    mutating func spread(_ index: Index) -> [Start] {
        let version = origins[index].version
        return version == .unknown || version == .http3 ? setVersion(.http1, of: index) : []
    }

    /// Admits nothing from now on. Returns all waiting tasks.
    mutating func close() -> [CurlTask] {
        isClosed = true
        return origins.indices.flatMap { origins[$0].exclusive.removeAll() + origins[$0].shareable.removeAll() }
    }

    /// Notes that a connection has left HTTP, or that such a connection has ended.
    mutating func countUpgraded(_ change: Int, in loop: Int) { loops[loop].upgraded += change }

    /// Gives the work of a loop that could not be started to the first loop. Returns the waiting tasks that start now.
    mutating func giveUp(_ loop: Int) -> [Start] {
        loops[loop].isUnusable = true
        for index in origins.indices where origins[index].home == loop { origins[index].home = 0 }
        return origins.indices.flatMap { startAllWaiting($0, near: 0) }
    }

    // MARK: Choosing a loop

    private mutating func occupy(_ loop: Int, _ index: Index, _ need: Need) -> Place {
        let (version, isExclusive) = (origins[index].version, need != .shareable)
        origins[index].total += 1
        if isExclusive { origins[index].exclusiveTotal += 1 }
        origins[index].running[loop] += 1
        loops[loop].running += 1
        return Place(
            origin: index, loop: loop,
            teachesHTTP1: loops.count > 1 && !isExclusive && (version == .unknown || version == .http3),
            isMultiplexed: version == .http2, isExclusive: isExclusive, mixesVersions: origins[index].asked.isMixed)
    }

    /// Returns the loop that may perform a request now; nil if the request has to wait.
    private func loop(for need: Need, to index: Index, near: Int?) -> Int? {
        guard origins[index].total < limit(of: index), need == .shareable || origins[index].exclusiveTotal < limit
        else { return nil }
        let home = origins[index].home
        guard loops.count > 1 else { return home }
        if need == .shareable, origins[index].version != .http1 {
            // Until the server's version is known, other loops would each make an HTTP/2 connection.
            return origins[index].version != .unknown || hasRoom(home, index) ? home : nil
        }
        if let near, hasRoom(near, index) { return near }
        let free = loops.indices.filter { hasRoom($0, index) }
        if need == .upgraded { return free.min { loops[$0].upgraded < loops[$1].upgraded } }
        guard let idlest = free.min(by: { loops[$0].running < loops[$1].running }) else { return nil }
        let prefersHome = loops[home].running < loops[idlest].running + Self.unevenness
        return prefersHome && hasRoom(home, index) ? home : idlest
    }

    private func hasRoom(_ loop: Int, _ index: Index) -> Bool {
        origins[index].running[loop] < share(of: loop, index)
    }

    /// Returns the number of the origin's requests that the loop may perform at once. The shares of all loops add up to
    /// the origin's limit.
    private func share(of loop: Int, _ index: Index) -> Int {
        func part(_ loop: Int) -> Int {
            let distance = (loop - origins[index].home + loops.count) % loops.count
            let limit = limit(of: index)
            return limit / loops.count + (distance < limit % loops.count ? 1 : 0)
        }
        if loops[loop].isUnusable { return 0 }
        guard loop == 0 else { return part(loop) }
        return loops.indices.reduce(part(0)) { $0 + (loops[$1].isUnusable ? part($1) : 0) }
    }

    private func limit(of index: Index) -> Int {
        origins[index].version == .http2 ? Self.streams : limit
    }

    // MARK: Waiting tasks

    private mutating func setVersion(_ version: Version, of index: Index) -> [Start] {
        origins[index].version = version
        return startAllWaiting(index, near: origins[index].home)
    }

    private mutating func startAllWaiting(_ index: Index, near loop: Int) -> [Start] {
        var starts: [Start] = []
        while let start = startWaiting(index, near: loop) { starts.append(start) }
        return starts
    }

    /// Admits the task that has waited longest among those that may start.
    private mutating func startWaiting(_ index: Index, near: Int) -> Start? {
        let (exclusive, shareable) = (origins[index].exclusive.first, origins[index].shareable.first)
        if let exclusive, let shareable, shareable > exclusive {
            return startFirst(.shareable, shareable, index, near: near)
                ?? startFirst(.exclusive, exclusive, index, near: near)
        }
        return startFirst(.exclusive, exclusive, index, near: near)
            ?? startFirst(.shareable, shareable, index, near: near)
    }

    /// Admits the next task of the queue for this need. Returns nil if the queue is empty or the task may not start.
    private mutating func startFirst(
        _ need: Need, _ rank: FairQueue<CurlTask>.Rank?, _ index: Index, near: Int
    ) -> Start? {
        guard let rank, let loop = loop(for: need, to: index, near: near) else { return nil }
        let first: CurlTask?
        if need == .shareable {
            first = origins[index].shareable.removeFirst()
            origins[index].exclusive.passOver(below: rank.level)
        } else {
            first = origins[index].exclusive.removeFirst()
            origins[index].shareable.passOver(below: rank.level)
        }
        return first.map { Start(task: $0, place: occupy(loop, index, need)) }
    }

    // MARK: Origins

    private mutating func index(of url: RequestURL) -> Index {
        if last < origins.count, url.hasOrigin(origins[last].name) { return last }
        let name = String(url.originText)
        last = indices[name] ?? add(name)
        return last
    }

    private mutating func add(_ name: String) -> Index {
        if indices.count >= sweepAt { sweep() }
        let origin = Origin(
            name: name, home: nextHome, asked: hasForgotten ? .all : [],
            running: Array(repeating: 0, count: loops.count))
        repeat { nextHome = (nextHome + 1) % loops.count } while loops[nextHome].isUnusable
        // Reuses the entry of an origin that a sweep has removed, or adds an entry.
        let index = origins.firstIndex { $0.isIdle && indices[$0.name] == nil } ?? origins.count
        if index == origins.count { origins.append(origin) } else { origins[index] = origin }
        indices[name] = index
        return index
    }

    /// Removes the origins without tasks.
    private mutating func sweep() {
        indices = indices.filter { !origins[$0.value].isIdle }
        hasForgotten = true
        sweepAt = max(256, 2 * indices.count)
    }
}
