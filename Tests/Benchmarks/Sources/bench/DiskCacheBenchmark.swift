import CAllocations
import Larkspur
import LarkspurTesting

/// The cost of the cache on disk: hits of 100 KB, the first answer from a large folder, and the write behind a response.
struct DiskCacheBenchmark {
    private static let size = 100_000

    func run() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("larkspur-bench-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        try await hits(folder.appendingPathComponent("hits"))
        try await writes(folder.appendingPathComponent("writes"))
        try await opening(folder.appendingPathComponent("opening"))
    }

    private func session(_ cache: HTTPCache?, _ size: Int, isStored: Bool = true) -> Session {
        let body = Data(repeating: 7, count: size)
        let control = isStored ? "max-age=600" : "no-store"
        let transport = StubTransport { _ in
            .response(headers: ["Cache-Control": control, "Transfer-Encoding": "chunked"], chunks: [body])
        }
        return Session(configuration: SessionConfiguration { $0.cache = cache }, transport: transport)
    }

    /// Hits of 100 KB, 64 at once.
    private func hits(_ folder: URL) async throws {
        let session = session(.onDisk(at: folder, limit: 1 << 30), Self.size)
        for number in 0..<64 { _ = try await session.request("http://stub/\(number)").serializingData().value }
        let (rounds, size) = (400, Self.size)
        let (start, cpu) = (ContinuousClock.now, larkspur_cpu_microseconds())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<64 {
                group.addTask {
                    for _ in 0..<rounds {
                        let response = await session.request("http://stub/\(number)").serializingData().response
                        guard case .hit? = response.cache, try response.result.get().count == size else {
                            throw CancellationError()
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let rate = Double(64 * rounds) / ((ContinuousClock.now - start) / .seconds(1))
        let cost = (larkspur_cpu_microseconds() - cpu) / Double(64 * rounds)
        print("scenario=cache-disk-hit metric=requests_per_s value=\(Int(rate))")
        print("scenario=cache-disk-hit metric=cpu_us value=\(Int(cost))")
    }

    /// The CPU time that a response of 13 bytes or of 100 KB costs more because it is looked for on disk in vain, and then
    /// because it is written.
    private func writes(_ folder: URL) async throws {
        for size in [13, Self.size] {
            var figures: [Double] = []
            for (hasCache, isStored) in [(false, false), (true, false), (true, true)] {
                let cache = hasCache ? HTTPCache.onDisk(at: folder, limit: 4 << 30) : nil
                let (session, count) = (session(cache, size, isStored: isStored), 5_000)
                let cpu = larkspur_cpu_microseconds()
                for number in 0..<count {
                    _ = try await session.request("http://stub/\(size)/\(number)").serializingData().value
                }
                figures.append((larkspur_cpu_microseconds() - cpu) / Double(count))
            }
            print("scenario=cache-disk-miss-\(size) metric=cpu_us value=\(Int(figures[1] - figures[0]))")
            print("scenario=cache-disk-write-\(size) metric=cpu_us value=\(Int(figures[2] - figures[1]))")
        }
    }

    /// The time to the first answer from a folder with 100,000 entries.
    private func opening(_ folder: URL) async throws {
        let filling = session(.onDisk(at: folder, limit: 4 << 30), 13)
        for number in 0..<100_000 { _ = try await filling.request("http://stub/\(number)").serializingData().value }
        let start = ContinuousClock.now
        let session = session(.onDisk(at: folder, limit: 4 << 30), 13)
        let response = await session.request("http://stub/77").serializingData().response
        let time = (ContinuousClock.now - start) / .milliseconds(1)
        guard case .hit? = response.cache else { throw CancellationError() }
        print("scenario=cache-disk-opening metric=ms value=\((time * 100).rounded() / 100)")
    }

    /// Stores a response of 1 GiB that arrives as fast as it is taken, and serves it. The memory must not grow with it.
    ///
    /// Returns the growth of the memory peak in KiB.
    func large() async throws -> Double {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("larkspur-bench-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let chunk = Data(repeating: 7, count: 64 << 10)
        let chunks = Array(repeating: chunk, count: 16 << 10)
        let transport = StubTransport { _ in
            .response(headers: ["Cache-Control": "max-age=600", "Transfer-Encoding": "chunked"], chunks: chunks)
        }
        let cache = HTTPCache.onDisk(at: folder, limit: 4 << 30)
        let session = Session(configuration: SessionConfiguration { $0.cache = cache }, transport: transport)
        var most = 0
        for name in ["miss", "hit"] {
            let (start, before) = (ContinuousClock.now, larkspur_peak_kib())
            let stream = await session.streamRequest("http://stub/large")
            var count = 0
            for try await bytes in stream.bytes { count += bytes.count }
            let seconds = ((ContinuousClock.now - start) / .milliseconds(1)).rounded() / 1_000
            let growth = larkspur_peak_kib() - before
            most = max(most, growth)
            print("scenario=cache-disk-large-\(name) bytes=\(count) s=\(seconds) rss_growth_kib=\(growth)")
        }
        guard cache.statistics.misses == 1, cache.statistics.hits == 1 else { throw CancellationError() }
        return Double(most)
    }
}
