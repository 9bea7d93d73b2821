import CCodings
import Larkspur
import LarkspurTesting
import Measuring

/// The cost of content codings: whole requests with a coded body, compared with the coding library's fastest call.
struct CodingsBenchmark {
    let document: Data

    private static let codings: [(name: String, coding: larkspur_coding)] = [
        ("gzip", larkspur_gzip), ("deflate", larkspur_deflate), ("br", larkspur_br), ("zstd", larkspur_zstd),
    ]

    /// Prints a line for each coding: decoded megabytes a second of CPU time, as medians of seven rounds in which both
    /// alternate, and the median of the rounds' ratios.
    func run() async throws {
        for (name, coding) in Self.codings {
            guard let coded = encoded(coding) else {
                print("scenario=codings coding=\(name) missing=1")
                continue
            }
            var larkspur: [Double] = []
            var library: [Double] = []
            let session = session(answering: coded, name)
            for _ in 0..<7 {
                larkspur.append(
                    try await Rate.megabytesASecond(of: document.count) {
                        let body = try await session.request("http://127.0.0.1/").serializingData().value
                        precondition(body.count == document.count, "every body must be decoded")
                    })
                library.append(await Rate.megabytesASecond(of: document.count) { decode(coded, coding) })
            }
            print(
                "scenario=codings coding=\(name) bytes=\(document.count) coded=\(coded.count)",
                "larkspur_mbps=\(Rate.median(larkspur)) library_mbps=\(Rate.median(library))",
                "vs_library=\(Rate.median(zip(larkspur, library).map { $0 / $1 }))")
        }
    }

    private func session(answering coded: Data, _ coding: String) -> Session {
        let answer = StubAnswer.response(headers: ["Content-Encoding": coding], chunks: [coded])
        return Session(transport: StubTransport { _ in answer })
    }

    private func encoded(_ coding: larkspur_coding) -> Data? {
        var coded = Data(count: document.count + 1_024)
        let count = document.withUnsafeBytes { input in
            coded.withUnsafeMutableBytes { output in
                larkspur_encode(
                    coding, input.bindMemory(to: UInt8.self).baseAddress, input.count,
                    output.bindMemory(to: UInt8.self).baseAddress, output.count)
            }
        }
        return count > 0 ? coded.prefix(count) : nil
    }

    private func decode(_ coded: Data, _ coding: larkspur_coding) {
        var decoded = Data(count: document.count)
        let count = coded.withUnsafeBytes { input in
            decoded.withUnsafeMutableBytes { output in
                larkspur_decode(
                    coding, input.bindMemory(to: UInt8.self).baseAddress, input.count,
                    output.bindMemory(to: UInt8.self).baseAddress, output.count)
            }
        }
        precondition(count == document.count, "every body must be decoded")
    }
}
