import CAllocations
import Larkspur
import Measuring

/// The properties that hold however long a session is used and however often requests are cancelled: nothing hangs,
/// fails or leaks.
struct StressBenchmark: Sendable {
    let plan: Plan
    private let session: Session

    init(_ plan: Plan) {
        self.plan = plan
        session = Session(
            transport: CurlTransport(
                configuration: .init { configuration in
                    if let path = plan.certificateAuthorities {
                        configuration.certificateAuthorities = .file(path: path)
                    }
                }))
    }

    /// Cancels each request at a random moment of its first half millisecond. Returns true if all ended as allowed.
    func cancel() async -> Bool {
        _ = await repeated(plan.count / 10, cancelled)  // warm-up
        let before = Footprint()
        let tally = await repeated(plan.count, cancelled)
        let growth = Footprint().growth(since: before)
        print(
            "scenario=cancel requests=\(tally.values.reduce(0, +)) concurrency=\(plan.concurrency)",
            tally.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " "),
            "memory_kib=\(growth.kib) descriptors=\(growth.descriptors)")
        let others = tally.filter { $0.key != "completed" && $0.key != "cancelled" }
        return others.isEmpty && growth.kib < 4_096 && growth.descriptors < 16 + plan.concurrency
    }

    private func cancelled() async -> String {
        let request = await session.request(plan.url)
        let response = request.serializingData()
        let delay = UInt64.random(in: 0...500_000)
        let canceller = Task {
            try? await Task.sleep(nanoseconds: delay)
            request.cancel()
        }
        let error = await response.response.error
        await canceller.value
        return error.map { $0.code.rawValue } ?? "completed"
    }

    /// Compares memory after many requests with memory after few. Returns true if it does not grow.
    func memory() async -> Bool {
        var sizes: [Int] = []
        var isSound = true
        for count in [20_000, 200_000, 1_000_000] where count <= max(plan.count, 200_000) {
            let tally = await repeated(count) {
                await session.request(plan.url).serializingData().response.error.map { $0.code.rawValue } ?? "completed"
            }
            isSound = isSound && tally == ["completed": count]
            sizes.append(Footprint().kib)
            print("scenario=memory requests=\(count) rss_kib=\(sizes[sizes.count - 1])")
        }
        return isSound && (sizes.max() ?? 0) - (sizes.min() ?? 0) < 4_096
    }

    /// Makes sessions, each with its own transport for one request, and releases them. Returns true if nothing of them
    /// stays.
    func sessions() async -> Bool {
        let url = plan.url
        let before = Footprint()
        var failures = 0
        for _ in 0..<max(1, plan.count) {
            if await Session().request(url).serializingData().response.error != nil { failures += 1 }
        }
        var growth = Footprint().growth(since: before)
        // The threads of the last sessions may still be ending.
        for _ in 0..<100 where growth.descriptors > 8 {
            try? await Task.sleep(nanoseconds: 50_000_000)
            growth = Footprint().growth(since: before)
        }
        print("scenario=sessions sessions=\(plan.count) failures=\(failures) descriptors=\(growth.descriptors)")
        return failures == 0 && growth.descriptors <= 8
    }

    private func repeated(_ count: Int, _ perform: @escaping @Sendable () async -> String) async -> [String: Int] {
        await withTaskGroup(of: [String: Int].self) { group in
            for worker in 0..<plan.concurrency {
                let share = count / plan.concurrency + (worker < count % plan.concurrency ? 1 : 0)
                group.addTask {
                    var tally: [String: Int] = [:]
                    for _ in 0..<share { tally[await perform(), default: 0] += 1 }
                    return tally
                }
            }
            return await group.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
        }
    }
}

/// The memory and descriptors of the process, as Linux reports them.
private struct Footprint {
    let kib: Int
    let descriptors: Int

    init() {
        larkspur_return_free_memory()
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
        kib = (pages?.dropFirst().first.flatMap { Int($0) } ?? 0) * 4
        descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
    }

    func growth(since before: Footprint) -> (kib: Int, descriptors: Int) {
        (kib - before.kib, descriptors - before.descriptors)
    }
}
