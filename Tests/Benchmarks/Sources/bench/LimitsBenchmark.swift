import CAllocations
import Larkspur
import Measuring

#if os(Linux)
    /// The cost of `RequestLimits`: many requests at once through a few places. Beside it are as many tasks that send one
    /// request after another, and as many tasks as requests that wait for a semaphore.
    struct LimitsBenchmark: Sendable {
        private let url: String
        private let count: Int
        private let places = 64

        init(url: String, count: Int) { (self.url, self.count) = (url, count) }

        func run() async throws {
            let limited = session { $0.limits = RequestLimits(total: places) }
            let bare = session { _ in }
            _ = try await (inTurn(bare), atOnce(bare, Semaphore(places)), atOnce(limited))  // warm-up
            for _ in 0..<5 {
                let workers = try await rate { try await inTurn(bare) }
                let semaphore = try await rate { try await atOnce(bare, Semaphore(places)) }
                let withLimits = try await rate { try await atOnce(limited) }
                print(
                    "scenario=limits workers_rps=\(Int(workers)) semaphore_rps=\(Int(semaphore))",
                    "limited_rps=\(Int(withLimits)) to_workers=\(ratio(withLimits, workers))",
                    "to_semaphore=\(ratio(withLimits, semaphore))")
            }
        }

        private func ratio(_ value: Double, _ other: Double) -> Double { (value / other * 1_000).rounded() / 1_000 }

        private func session(_ change: (inout SessionConfiguration) -> Void) -> Session {
            let transport = CurlTransport(configuration: .init { $0.maximumConnectionsPerHost = 2 * places })
            return Session(configuration: SessionConfiguration { change(&$0) }, transport: transport)
        }

        private func rate(_ work: () async throws -> Int) async throws -> Double {
            let start = ContinuousClock.now
            let sent = try await work()
            return Double(sent) / ((ContinuousClock.now - start) / .seconds(1))
        }

        /// As many tasks as there are places, each with one request after another.
        private func inTurn(_ session: Session) async throws -> Int {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for worker in 0..<places {
                    group.addTask {
                        let share = count / places + (worker < count % places ? 1 : 0)
                        for _ in 0..<share { _ = try await session.request(url).serializingData().value }
                        return share
                    }
                }
                return try await group.reduce(0, +)
            }
        }

        /// All requests at once; with a semaphore, each waits for it before it is made.
        private func atOnce(_ session: Session, _ semaphore: Semaphore? = nil) async throws -> Int {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<count {
                    group.addTask {
                        await semaphore?.wait()
                        _ = try await session.request(url).serializingData().value
                        await semaphore?.signal()
                        return 1
                    }
                }
                return try await group.reduce(0, +)
            }
        }
    }

    /// A semaphore as programs write it themselves.
    private actor Semaphore {
        private var free: Int
        private var waiting: [CheckedContinuation<Void, Never>] = []
        private var first = 0

        init(_ free: Int) { self.free = free }

        func wait() async {
            if free > 0 { return free -= 1 }
            await withCheckedContinuation { waiting.append($0) }
        }

        func signal() {
            guard first < waiting.count else { return free += 1 }
            waiting[first].resume()
            first += 1
        }
    }

    /// The memory of requests in flight, and of requests that wait for a place.
    struct WaitingBenchmark: Sendable {
        let count: Int

        /// Returns the bytes by which a waiting request is larger than one in flight.
        func run() async -> Int {
            // All requests are kept to the end, so that no memory is used twice.
            var kept: [DataRequest] = []
            let inFlight = await memory(of: Session(transport: SilentTransport()), &kept)
            let limits = SessionConfiguration { $0.limits = RequestLimits(total: 1) }
            let waiting = await memory(of: Session(configuration: limits, transport: SilentTransport()), &kept)
            precondition(kept.count == 2 * count)
            print(
                "scenario=waiting count=\(count) in_flight_bytes=\(inFlight) waiting_bytes=\(waiting)",
                "difference=\(waiting - inFlight)")
            return waiting - inFlight
        }

        /// Returns the resident memory of each request.
        private func memory(of session: Session, _ kept: inout [DataRequest]) async -> Int {
            kept.reserveCapacity(2 * count)
            let before = residentBytes()
            for _ in 0..<count {
                let request = await session.request("http://127.0.0.1/")
                request.resume()
                kept.append(request)
            }
            await settle()
            return (residentBytes() - before) / count
        }

        /// Waits until the process does nothing.
        private func settle() async {
            var before = 0.0
            repeat {
                before = larkspur_cpu_microseconds()
                try? await Task.sleep(for: .milliseconds(300))
            } while larkspur_cpu_microseconds() - before > 5_000
        }

        private func residentBytes() -> Int {
            larkspur_return_free_memory()
            let statm = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
            return (statm?.dropFirst().first.flatMap { Int($0) } ?? 0) * 4_096
        }
    }

    /// A transport that never answers.
    private final class SilentTransport: Transport {
        private final class Hop: TransportTask {
            let id: TransportTaskID
            private let delegate: any TransportDelegate

            init(_ id: TransportTaskID, _ delegate: any TransportDelegate) { (self.id, self.delegate) = (id, delegate) }

            func resume() {}
            func suspend() {}
            func allow(upTo position: UInt64) {}
            func cancel() {}
        }

        func task(
            for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
        ) -> any TransportTask {
            Hop(id, delegate)
        }

        func invalidate() {}
    }
#endif
