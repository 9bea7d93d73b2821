import Larkspur

/// The jobs of a loader: which URLs are loaded, which wait, and which receipts wait for them. It does no I/O.
///
///     join ──► waiting ──(a place is free)──► active ──(no variant left)──► done
///                 └──(last receipt leaves)──► removed ◄──┘
struct LoaderState {
    typealias JobID = Int

    /// The thumbnail's bounds, or nil for the image in its own size.
    typealias Variant = PixelSize?

    private struct Job {
        /// The image in its own size.
        let key: ImageKey
        let source: ImageSource
        var priority: RequestPriority
        var receipts: [Variant: [ImageReceipt]]
        /// The smallest number of insertions into the cache before a receipt of the job looked there in vain.
        var missedAt: Int
        var isActive = false
        /// The position among the waiting jobs. A job whose priority has risen has a new one.
        var ticket = 0
    }

    private let order: ImageLoader.Order
    private let maximumActive: Int
    private var jobs: [JobID: Job] = [:]
    private var ids: [ImageKey: JobID] = [:]
    private var queues: [RequestPriority: TicketQueue] = [:]
    private var nextID = 1
    /// The active jobs that only prefetches wait for.
    private var background: Set<JobID> = []
    private(set) var active = 0

    init(order: ImageLoader.Order, maximumActive: Int) {
        self.order = order
        self.maximumActive = max(1, maximumActive)
    }

    var waiting: Int { jobs.count { !$0.value.isActive } }

    /// Adds a receipt, to the job of the same URL and identifier if there is one.
    ///
    /// - Parameters:
    ///   - source: The source, for a new job.
    ///   - count: The number of images that jobs had put into the cache before the receipt missed its image.
    /// - Returns: The jobs to start.
    mutating func join(_ receipt: ImageReceipt, _ source: ImageSource, missedAt count: Int) -> [JobID] {
        guard let key = receipt.key?.with(nil) else { return [] }
        let variant = receipt.key?.thumbnail
        if let id = ids[key] {
            jobs[id]?.receipts[variant, default: []].append(receipt)
            if let earlier = jobs[id]?.missedAt, count < earlier { jobs[id]?.missedAt = count }
            guard let job = jobs[id], job.priority < receipt.priority else { return [] }
            jobs[id]?.priority = receipt.priority
            if job.isActive { background.remove(id) } else { enqueue(id) }
            return startJobs()
        }
        let id = makeID()
        jobs[id] = Job(
            key: key, source: source, priority: receipt.priority, receipts: [variant: [receipt]], missedAt: count)
        ids[key] = id
        enqueue(id)
        return startJobs()
    }

    /// Removes a receipt.
    ///
    /// - Returns: The job to cancel, if it was active and no other receipt waits for it.
    mutating func leave(_ receipt: ImageReceipt) -> JobID? {
        guard let key = receipt.key, let id = ids[key.with(nil)],
            let index = jobs[id]?.receipts[key.thumbnail]?.firstIndex(where: { $0 === receipt })
        else { return nil }
        jobs[id]?.receipts[key.thumbnail]?.remove(at: index)
        if jobs[id]?.receipts[key.thumbnail]?.isEmpty == true { jobs[id]?.receipts.removeValue(forKey: key.thumbnail) }
        guard let job = jobs[id], job.receipts.isEmpty else { return nil }
        remove(id)
        return job.isActive ? id : nil
    }

    /// Returns a variant of the job that receipts wait for, or nil if there is none. With nil, receipts can
    /// no longer join the job.
    mutating func nextVariant(of id: JobID) -> Variant? {
        guard let variant = jobs[id]?.receipts.keys.first else {
            remove(id)
            return .none
        }
        return .some(variant)
    }

    /// Returns the variants of a job that receipts wait for and that the cache may have, because jobs have put images
    /// there since it was asked.
    func variants(of id: JobID, missedBefore count: Int) -> [Variant] {
        jobs[id].map { $0.missedAt < count ? Array($0.receipts.keys) : [] } ?? []
    }

    /// Removes and returns the receipts that wait for a variant.
    mutating func take(_ variant: Variant, of id: JobID) -> [ImageReceipt] {
        jobs[id]?.receipts.removeValue(forKey: variant) ?? []
    }

    /// Returns the variants of a job of which receipts want previews.
    func previewVariants(of id: JobID) -> [Variant] {
        jobs[id].map { $0.receipts.filter { $0.value.contains(where: \.wantsPreviews) }.map(\.key) } ?? []
    }

    /// Returns the receipts that want previews of a variant.
    func previewReceipts(for variant: Variant, of id: JobID) -> [ImageReceipt] {
        jobs[id]?.receipts[variant]?.filter(\.wantsPreviews) ?? []
    }

    /// Ends an active job.
    ///
    /// - Returns: The receipts that still wait for it, and the jobs to start.
    mutating func end(_ id: JobID) -> (receipts: [ImageReceipt], starts: [JobID]) {
        let receipts = jobs[id].map { $0.receipts.values.flatMap(\.self) } ?? []
        remove(id)
        active -= 1
        background.remove(id)
        return (receipts, startJobs())
    }

    func isKnown(_ id: JobID) -> Bool { jobs[id] != nil }
    func image(of id: JobID) -> (key: ImageKey, source: ImageSource)? { jobs[id].map { ($0.key, $0.source) } }
    func priority(of id: JobID) -> RequestPriority { jobs[id]?.priority ?? .normal }

    private mutating func makeID() -> Int {
        defer { nextID += 1 }
        return nextID
    }

    private mutating func remove(_ id: JobID) {
        guard let job = jobs.removeValue(forKey: id) else { return }
        if ids[job.key] == id { ids[job.key] = nil }
    }

    private mutating func enqueue(_ id: JobID) {
        guard let priority = jobs[id]?.priority else { return }
        let ticket = makeID()
        jobs[id]?.ticket = ticket
        var queue = queues.removeValue(forKey: priority) ?? TicketQueue()
        queue.append(id, ticket) { jobs[$0]?.ticket == $1 && jobs[$0]?.isActive == false }
        queues[priority] = queue
    }

    private mutating func startJobs() -> [JobID] {
        var started: [JobID] = []
        for priority in RequestPriority.allCases.sorted(by: >) {
            while active < maximumActive, priority != .background || background.count < max(1, maximumActive - 1),
                let entry = queues[priority]?.next(order)
            {
                // An entry of a job that was removed or enqueued again is out of date.
                guard let job = jobs[entry.id], job.ticket == entry.ticket, !job.isActive else { continue }
                jobs[entry.id]?.isActive = true
                active += 1
                if priority == .background { background.insert(entry.id) }
                started.append(entry.id)
            }
        }
        return started
    }
}

/// A queue that is read at one of its ends. Entries that are out of date stay until they are read, or until they are
/// the larger part.
private struct TicketQueue {
    private var entries: [(id: Int, ticket: Int)] = []
    private var head = 0
    private var limit = 64

    mutating func append(_ id: Int, _ ticket: Int, isCurrent: (Int, Int) -> Bool) {
        entries.append((id, ticket))
        guard entries.count > limit else { return }
        entries = entries[head...].filter { isCurrent($0.id, $0.ticket) }
        head = 0
        limit = max(64, entries.count * 2)
    }

    mutating func next(_ order: ImageLoader.Order) -> (id: Int, ticket: Int)? {
        guard head < entries.count else { return nil }
        if order == .lastInFirstOut { return entries.removeLast() }
        defer { head += 1 }
        return entries[head]
    }
}
