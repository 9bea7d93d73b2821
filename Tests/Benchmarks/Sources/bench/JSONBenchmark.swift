import CAllocations
import Larkspur

/// How fast one document becomes a value: to `JSON`, and to what Foundation makes of it.
struct JSONBenchmark {
    let document: Data

    /// The document of `.ci/document.py`, as a program would declare it.
    private struct Page: Decodable {
        struct Item: Decodable {
            struct Location: Decodable {
                let latitude: Double
                let longitude: Double
            }

            let id: Int
            let guid, name, email, about: String
            let active: Bool
            let balance: Double
            let location: Location
            let tags: [String]
            let parent: Int?
        }

        let page, total: Int
        let items: [Item]
    }

    /// Prints megabytes a second, the median of several rounds in which all take turns, and the medians of the ratios.
    ///
    /// `JSONDecoder` takes part if the document is that of `.ci/document.py`.
    func run() throws {
        let decoder = JSONDecoder()
        let isPage = (try? decoder.decode(Page.self, from: document)) != nil
        var larkspur: [Double] = []
        var serialization: [Double] = []
        var decoding: [Double] = []
        for _ in 0..<7 {
            larkspur.append(try megabytesASecond { _ = try JSON(data: document) })
            serialization.append(try megabytesASecond { _ = try JSONSerialization.jsonObject(with: document) })
            guard isPage else { continue }
            decoding.append(try megabytesASecond { _ = try decoder.decode(Page.self, from: document) })
        }
        print(
            "scenario=json bytes=\(document.count) larkspur_mbps=\(median(larkspur))",
            "jsonserialization_mbps=\(median(serialization))",
            "vs_jsonserialization=\(median(zip(larkspur, serialization).map { $0 / $1 }))",
            isPage
                ? "jsondecoder_mbps=\(median(decoding)) vs_jsondecoder=\(median(zip(larkspur, decoding).map { $0 / $1 }))"
                : "")
    }

    /// Lasts some 0.3 s, of which the first half is for warming up. Seconds are those on the CPU: what else the machine does
    /// hardly counts.
    private func megabytesASecond(_ parse: () throws -> Void) rethrows -> Double {
        var rate = 0.0
        for _ in 0..<2 {
            var bytes = 0
            let start = larkspur_cpu_microseconds()
            var microseconds = 0.0
            while microseconds < 150_000 {
                for _ in 0..<10 { try parse() }
                bytes += 10 * document.count
                microseconds = larkspur_cpu_microseconds() - start
            }
            rate = Double(bytes) / microseconds
        }
        return rate
    }

    private func median(_ values: [Double]) -> Double {
        (values.sorted()[values.count / 2] * 100).rounded() / 100
    }
}
