import Larkspur
import LarkspurFleet

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Uses a store that other processes use too. `.ci/steps/killed-store.py` kills and stops some of them.
struct StoreStress {
    let folder: URL
    let seconds: Double

    /// Adds one to a sum, again and again, under a lease. A byte in a file of the process says that an addition was made.
    func run() async throws {
        let store = try FileStore(folder: folder.appendingPathComponent("store"), patience: .seconds(60))
        let log = open(folder.appendingPathComponent("log-\(getpid())").path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        precondition(log >= 0)
        let end = ContinuousClock.now + .seconds(seconds)
        var (added, refused, stale) = (0, 0, 0)
        while ContinuousClock.now < end {
            guard let lease = try await store.takeLease("sum", for: .milliseconds(30)) else {
                refused += 1
                continue
            }
            do {
                let value = try await store.value(for: "sum")
                let sum = value.flatMap { Int(String(decoding: $0.data, as: UTF8.self)) } ?? 0
                let condition = value.map { StoreCondition.isVersion($0.version) } ?? .isAbsent
                let new = Data("\(sum + 1)".utf8)
                if try await store.set(new, for: "sum", if: condition, lifetime: nil, under: lease) != nil {
                    write(log, "+", 1)
                    added += 1
                }
            } catch {
                guard error.code == .staleLease else { throw error }
                stale += 1
            }
            _ = try await store.add(1, to: "turns", window: .seconds(3_600))
            try await store.release(lease)
        }
        print("added=\(added) refused=\(refused) stale=\(stale)")
    }

    /// Prints the time of an operation, alone and with 64 at the same time.
    static func measure(_ store: any SharedStore) async throws {
        let count = 5_000
        for _ in 0..<3 {
            var start = ContinuousClock.now
            for _ in 0..<count {
                guard let lease = try await store.takeLease("l", for: .seconds(1)) else { continue }
                try await store.release(lease)
            }
            let lease = (ContinuousClock.now - start) / .microseconds(count)
            start = ContinuousClock.now
            for _ in 0..<count { _ = try await store.add(1, to: "c", window: .seconds(60)) }
            let add = (ContinuousClock.now - start) / .microseconds(count)
            start = ContinuousClock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<64 {
                    group.addTask {
                        for _ in 0..<count / 64 { _ = try await store.add(1, to: "c", window: .seconds(60)) }
                    }
                }
                try await group.waitForAll()
            }
            let together = (ContinuousClock.now - start) / .microseconds(count / 64 * 64)
            print(
                "scenario=store take_and_release_us=\(lease.rounded()) add_us=\(add.rounded())",
                "add_of_64_us=\(together.rounded())")
        }
    }
}
