import Larkspur
import Measuring

#if os(Linux)
    /// The time that requests to one server take while another server floods the same transport with HTTP/2 frames.
    struct FloodBenchmark: Sendable {
        private let neighbour: String
        private let floods: [String]
        private let seconds: Double
        private let authorities: String?
        private let library: String?

        static let usage =
            "bench flood NEIGHBOUR [--flood URL]... [--seconds S] [--ca FILE] [--library FILE] [--p99-at-most MS]"

        init?(_ arguments: [String]) {
            guard let neighbour = arguments.first else { return nil }
            func values(_ name: String) -> [String] {
                zip(arguments, arguments.dropFirst()).filter { $0.0 == name }.map(\.1)
            }
            self.neighbour = neighbour
            floods = values("--flood")
            seconds = values("--seconds").first.flatMap(Double.init) ?? 3
            authorities = values("--ca").first
            library = values("--library").first
        }

        /// Prints the figures, and returns the time in milliseconds that 99 of 100 requests to the neighbour keep.
        func run() async throws -> Double {
            // One loop serves all requests.
            let transport = CurlTransport(
                configuration: .init { configuration in
                    configuration.loops = 1
                    configuration.libraryPath = library
                    if let authorities { configuration.certificateAuthorities = .file(path: authorities) }
                })
            let session = Session(transport: transport)
            _ = try await session.request(neighbour).validate().serializingData().value
            let tasks = floods.map { url in Task { await repeatUntilCancelled(url, session) } }
            let times = await measure(session)
            for task in tasks { task.cancel() }
            var outcomes: [String: Int] = [:]
            for task in tasks { outcomes.merge(await task.value, uniquingKeysWith: +) }
            func milliseconds(_ share: Double) -> Double {
                guard !times.isEmpty else { return .infinity }
                return (times[min(times.count - 1, Int(share * Double(times.count)))] * 100).rounded() / 100
            }
            let ends = outcomes.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ",")
            print(
                "scenario=flood requests=\(times.count) p50_ms=\(milliseconds(0.5)) p99_ms=\(milliseconds(0.99))",
                "max_ms=\(milliseconds(1)) floods=\(ends.isEmpty ? "none" : ends)")
            return milliseconds(0.99)
        }

        /// Requests a flood again and again. Returns how often each outcome occurred.
        private func repeatUntilCancelled(_ flood: String, _ session: Session) async -> [String: Int] {
            var outcomes: [String: Int] = [:]
            while !Task.isCancelled {
                let request = await session.streamRequest(flood) {
                    if flood.hasPrefix("http:") { $0.options.httpVersion = .http2 }
                }
                do {
                    for try await _ in request.bytes {}
                    outcomes["completed", default: 0] += 1
                } catch {
                    let code = (error as? RequestError)?.code.rawValue ?? "cancelled"
                    outcomes[Task.isCancelled ? "went-on" : code, default: 0] += 1
                }
            }
            return outcomes
        }

        /// Returns the sorted times in milliseconds of requests to the neighbour, one after another.
        private func measure(_ session: Session) async -> [Double] {
            var times: [Double] = []
            let end = ContinuousClock.now + .seconds(seconds)
            while ContinuousClock.now < end {
                let start = ContinuousClock.now
                let response = await session.request(neighbour).validate().serializingData().response
                times.append(response.error == nil ? (ContinuousClock.now - start) / .milliseconds(1) : .infinity)
                try? await Task.sleep(nanoseconds: 500_000)
            }
            return times.sorted()
        }
    }
#endif
