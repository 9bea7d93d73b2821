import CAllocations
import Larkspur
import Measuring

#if os(Linux)
    /// The speed and the memory of a server's echo: the response arrives while the request's body is still sent.
    struct DuplexBenchmark: Sendable {
        private static let size = 65_536

        let url: String
        let megabytes: Int
        let authorities: String?
        let isHTTP1: Bool

        /// - Parameter arguments: The URL of an echo, the megabytes to send, and the file of a certificate authority;
        ///   then, perhaps, `--http1`.
        init?(_ arguments: [String]) {
            guard arguments.count >= 2, let megabytes = Int(arguments[1]) else { return nil }
            (url, self.megabytes, isHTTP1) = (arguments[0], megabytes, arguments.contains("--http1"))
            authorities = arguments.dropFirst(2).first.flatMap { $0.hasPrefix("--") ? nil : $0 }
        }

        /// Returns the piece of the body with this number. The pieces differ, so that a lost or repeated one is seen.
        private static func piece(_ number: Int) -> Data {
            Data((0..<size).map { UInt8(truncatingIfNeeded: ($0 &+ number) &* 31 &+ number >> 8) })
        }

        /// Prints the figures, and returns the growth of the memory peak in KiB after the first byte arrived. Throws if
        /// the echo is not the body.
        func run() async throws -> Double {
            let configuration = CurlTransport.Configuration { configuration in
                if let authorities { configuration.certificateAuthorities = .file(path: authorities) }
            }
            let count = megabytes * (1 << 20) / Self.size
            let session = Session(transport: CurlTransport(configuration: configuration))
            let pieces = Pieces(count)
            let body = AsyncStream { await pieces.next() }
            let request = await session.streamRequest(url, method: .post, body: .sequence(body)) { [isHTTP1] in
                if isHTTP1 { $0.options.httpVersion = .http1 }
            }.validate()
            let start = ContinuousClock.now
            var (received, before, expected) = (0, nil as Int?, Data())
            for try await chunk in request.bytes {
                if before == nil { before = larkspur_peak_kib() }
                var rest = chunk[...]
                while !rest.isEmpty {
                    if expected.isEmpty { expected = Self.piece(received / Self.size) }
                    let part = rest.prefix(expected.count)
                    guard expected.starts(with: part) else { throw Failure(offset: received) }
                    expected = expected.dropFirst(part.count)
                    rest = rest.dropFirst(part.count)
                    received += part.count
                }
            }
            guard received == count * Self.size else { throw Failure(offset: received) }
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            let growth = larkspur_peak_kib() - (before ?? 0)
            let version = await request.completion.metrics?.protocolName ?? "unknown"
            print(
                "scenario=duplex version=\(version) bytes=\(received) rss_kib=\(larkspur_peak_kib())",
                "rss_growth_kib=\(growth) mbps=\((Double(received) / seconds / 1e6).rounded())")
            return Double(growth)
        }

        struct Failure: Error {
            let offset: Int
        }

        private actor Pieces {
            private let count: Int
            private var number = 0

            init(_ count: Int) { self.count = count }

            func next() -> Data? {
                guard number < count else { return nil }
                defer { number += 1 }
                return DuplexBenchmark.piece(number)
            }
        }
    }
#endif
