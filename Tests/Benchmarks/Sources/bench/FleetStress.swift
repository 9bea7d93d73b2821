import Larkspur
import LarkspurFleet

/// One of several processes with one limit, one cache or one circuit. `.ci/steps/shared-limits.py` is the server, and kills
/// some of the processes.
struct FleetStress {
    enum Subject: String {
        case rates, cache, circuit
    }

    /// The time after which a request goes on without the store. It is long, because a busy machine is no failure.
    private static let timeout = Duration.seconds(30)

    let store: any SharedStore
    let server: String

    /// Sends requests, and prints how many of them ended in each way.
    func run(_ subject: Subject, count: Int) async throws {
        let cache = HTTPCache(shared: SharedResponses(store, patience: Self.timeout, timeout: Self.timeout))
        let session = Session(
            configuration: SessionConfiguration { configuration in
                configuration.options.timeouts.total = .seconds(60)
                switch subject {
                case .rates:
                    configuration.admissions = [
                        SharedRateLimiter(
                            store, name: "rates", count, per: .seconds(3_600), ifStoreFails: .failClosed,
                            timeout: Self.timeout)
                    ]
                case .cache: configuration.cache = cache
                case .circuit:
                    let breaker = CircuitBreaker(minimumCount: 5, pause: .milliseconds(500))
                    configuration.middleware = [
                        SharedCircuitBreaker(store, breaker: breaker, timeout: Self.timeout)
                    ]
                }
            })
        var ends: [String: Int] = [:]
        if subject == .circuit {
            // Until the server is well again.
            repeat { ends[await end(session, "circuit"), default: 0] += 1 } while ends["200"] == nil
        } else {
            await withTaskGroup(of: String.self) { group in
                for number in 0..<count {
                    if number >= 20, let end = await group.next() { ends[end, default: 0] += 1 }
                    group.addTask { await end(session, subject == .cache ? "cache/\(number % 20)" : "rates") }
                }
                for await end in group { ends[end, default: 0] += 1 }
            }
        }
        // Other processes would wait for the response to this process's last request.
        await cache.finishStoring()
        print(ends.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: " "))
    }

    private func end(_ session: Session, _ path: String) async -> String {
        let response = await session.request(server + "/" + path).serializingData().response
        return response.error?.code.rawValue ?? "\(response.head?.status ?? 0)"
    }
}
